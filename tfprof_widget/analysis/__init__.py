"""Says what a profile means: steady steps, advice, clusters, comparison and FLOP coverage."""
