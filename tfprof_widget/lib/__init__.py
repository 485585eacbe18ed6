"""What knows nothing of profiles: arrays, errors, messages, text, and safety around the work."""
