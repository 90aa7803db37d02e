"""C kernels for matrices, searches, and running sums."""
