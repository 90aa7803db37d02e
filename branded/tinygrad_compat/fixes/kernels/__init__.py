"""Fixes of how tinygrad builds kernels."""
