"""Reads traces of TensorFlow's profiler."""
