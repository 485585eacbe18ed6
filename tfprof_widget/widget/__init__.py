"""Makes what the browser gets: the widget and its charts, saved pages, and a profile cut to fit."""
