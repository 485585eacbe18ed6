"""The data of a profile, and the table of options."""
