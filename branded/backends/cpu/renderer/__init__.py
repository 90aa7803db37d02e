"""Kernels as C source that clang turns into vector code."""
