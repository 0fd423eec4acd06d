"""Replay benchmark of searches. Its matrices are tiny: threads of BLAS would only hinder the processes beside them."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
