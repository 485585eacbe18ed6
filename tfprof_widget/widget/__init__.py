"""What the browser gets."""
