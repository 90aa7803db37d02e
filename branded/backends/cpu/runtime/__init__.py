"""Running compiled kernels: C calls, threads, host functions."""
