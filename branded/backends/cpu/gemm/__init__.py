"""Matrix multiplications: find them in kernels, and run them by BLAS."""
