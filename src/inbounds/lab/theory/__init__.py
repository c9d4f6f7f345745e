"""Theory in floating point: what moves a statistic, what a mechanism loses, and the scale for an ε."""
