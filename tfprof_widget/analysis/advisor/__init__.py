"""What looks at a profile and says what may be wrong: one checker a module, and the runner."""
