"""What names of steps tell of them."""

# Follows the name of a kind in the steps of its first run, which traces, compiles and tunes.
WARM_UP = " (warm-up)"
