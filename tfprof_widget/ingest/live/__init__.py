"""Reads TensorFlow's objects in this process."""
