"""The hot loops: same names in every implementation, the plain torch one is the truth."""
