"""What a profile means."""
