"""The command line: arguments in, text out. What it does is in `inbounds.service`."""

import os

# Before NumPy is loaded. Matrices here are small, and where the machine has other work, threads of linear algebra do
# little but wait for one another: a record that is verified in 2 s on one thread took 34 s of the processor on two.
for _threads in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")
