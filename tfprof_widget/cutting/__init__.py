"""Makes a profile small enough for the browser: what is too small to be seen is put together, and totals stay exact."""
