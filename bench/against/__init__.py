"""`python -m bench jax`: programs here, under `jax.jit`, in eager torch: once they run, until they first do."""
