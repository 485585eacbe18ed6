"""Defines what users hold: Profile, View and Capture, the only classes with methods that print, save and show."""
