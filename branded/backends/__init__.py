"""Code generation and execution for the CPU and for CUDA."""
