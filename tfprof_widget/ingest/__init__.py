"""Everything that reads recorded data into a Profile."""
