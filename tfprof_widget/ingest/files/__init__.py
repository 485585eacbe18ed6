"""Reads profiles, graphs, run metadata and op logs from files, wherever they are and whatever they are called."""
