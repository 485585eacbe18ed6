"""Watches what TensorFlow runs while a cell or a block runs, at a bounded cost and without changing what it does."""
