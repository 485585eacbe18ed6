"""The views as pure functions of a profile's columns and the options; docs/engine.md holds the algorithm."""
