"""The version: the build, the command line and the package take it from here."""

__version__ = "0.1.0"
