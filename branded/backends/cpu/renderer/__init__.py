"""CPU kernels as C source, and the values that kernels share."""
