"""The command line. The work is done in `inbounds.service`."""

import os

# This must be set before NumPy is loaded. Matrices are small here, and on a busy machine the threads of linear algebra
# mostly wait for each other: verifying a record took 2 s with one thread, and 34 s of CPU time with two.
for _threads in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

# A plugin of another package would see every plan, and to look for plugins takes as long as to read a plan.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
