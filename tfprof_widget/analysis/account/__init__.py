"""Explains where the time of a captured cell and of its steps went: parts that add up, with their lines and layers."""
