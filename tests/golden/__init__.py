"""Programs that run with JAX and with branded, and their results in JAX.

`python -m tests.golden.make`, with a Python that has JAX, regenerates `jax.json`.
"""
