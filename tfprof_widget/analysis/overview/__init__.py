"""The overview of a profile: what is shown first."""
