"""Runs the tests with the oldest and the newest TensorFlow there is for this Python, and without TensorFlow."""
