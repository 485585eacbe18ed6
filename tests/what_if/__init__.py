"""Edits real models, and compares what was predicted of each edit with what it did: `make what-if`."""
