"""Describes each chart once: its rows, how it is drawn on a page and where it stands alone, and pictures of it."""
