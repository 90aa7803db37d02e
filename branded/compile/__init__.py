"""`jit` and compiled programs: arguments, donation, kernels, buffers, and loops."""
