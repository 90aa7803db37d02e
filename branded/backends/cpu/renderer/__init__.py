"""The C source of CPU kernels, and the choice of values that are stored between kernels."""
