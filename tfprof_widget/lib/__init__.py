"""Serves all rooms and knows nothing of profiles: arrays, errors, messages, text, safe writing and interrupts."""
