"""The oracle: native tfprof from the TensorFlow wheel, in a child process, and profiles to ask it about."""
