"""The two nodes of the package: parameters, conversion, one call."""
