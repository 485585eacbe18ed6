"""What a view is written as: text, protos, DataFrames and HTML, one format a module."""
