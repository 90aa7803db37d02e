"""Matrix multiplications: recognize them in kernels, estimate their cost, and run them by BLAS."""
