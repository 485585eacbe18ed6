"""Float operations: formulas by op type, what they count in a profile, and how much of it they cover."""
