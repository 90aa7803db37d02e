"""C functions for matrix factorizations, sorts, searches, Fourier transforms, and running sums."""
