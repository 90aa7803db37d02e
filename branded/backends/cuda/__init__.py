"""Running CUDA kernels from C."""
