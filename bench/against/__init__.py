"""`python -m bench jax`: programs here, under `jax.jit` and in eager torch: once they run, and until they first do."""
