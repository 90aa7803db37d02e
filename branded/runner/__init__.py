"""What runs compiled kernels, for loops and for jit: their order, their buffers, and the C that calls them."""
