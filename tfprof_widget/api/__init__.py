"""What users hold: the only classes with methods that print, save and show."""
