"""Makes profiles of whatever was recorded: graphs, runs, traces, files, and TensorFlow's objects in this process."""
