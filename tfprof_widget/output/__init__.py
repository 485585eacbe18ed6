"""Writes views and profiles as text, messages, tables and files: one format in each module."""
