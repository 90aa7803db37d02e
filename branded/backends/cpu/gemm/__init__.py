"""Matrix multiplications: found in kernels, and run by BLAS if faster."""
