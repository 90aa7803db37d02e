"""The C source of CPU kernels, and the values that they store."""
