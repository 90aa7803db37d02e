"""Autotuning: `jit(tune=...)` times several variants of each kernel and keeps the fastest."""
