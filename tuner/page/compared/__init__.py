"""Two sweeps on one page: what `tuner compare` says, with both curves over each other."""
