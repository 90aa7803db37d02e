"""Fixes for the way tinygrad builds kernels."""
