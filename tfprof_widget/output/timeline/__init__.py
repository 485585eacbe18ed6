"""Timelines in the Trace Event Format, as chrome://tracing and Perfetto open them."""
