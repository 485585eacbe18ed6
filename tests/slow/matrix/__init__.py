"""Runs the tests with the oldest and the newest TensorFlow there is, without TensorFlow, and on later Pythons."""
