"""Matrix multiplications: find them, estimate their cost, run them by BLAS."""
