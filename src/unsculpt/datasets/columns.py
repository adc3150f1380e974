"""The names of what a jet is described by."""

VARIABLES = ("pt", "tau21", "c2", "d2", "fw", "pf", "ap", "zcutdef", "ktdr", "sqrtd12")
"""The ten inputs of a classifier."""

COLUMNS = ("mass", *VARIABLES)
"""The same with the mass in front, as in the original file."""
