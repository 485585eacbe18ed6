"""Captures what TensorFlow runs while a cell or a block runs, at a bounded cost, and steps aside when in doubt."""
