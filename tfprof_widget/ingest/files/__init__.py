"""Reads profiles, graphs, run metadata and op logs from files in any place, whatever their names."""
