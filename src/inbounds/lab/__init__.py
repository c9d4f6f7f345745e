"""The laboratory: the paper's theory, simulations with known truth, and findings that are judged from them.

`theory` has sensitivities, losses and scales in floating point, and the paper's statements as functions; `studies` runs
simulations; `synthesis` combines several releases of one share; `two_laws` and `paper_figures` are what the page shows.
It imports what lies below it, and nothing but the public names and the commands imports it.
"""
