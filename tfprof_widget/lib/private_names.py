"""Lists every private name of other packages that is used, and tells which are gone."""
