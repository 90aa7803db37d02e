"""Autotuning: `jit(tune=...)` tries kernels in several forms and keeps the fastest."""
