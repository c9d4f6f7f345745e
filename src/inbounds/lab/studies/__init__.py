"""Simulations with known truth: the paper's two studies, and a laboratory for studies of one's own.

`engine` runs any list of settings into a tidy table; `proportions` and `covariance` are designs that make such lists;
`paper` has the paper's two; `claims` judges its findings from the tables alone.
"""
