"""What the tasks of a cluster did for and because of each other: pure functions of a Profile."""
