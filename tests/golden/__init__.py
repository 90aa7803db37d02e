"""Programs that run with JAX and with branded, and what JAX says that they give.

`python -m tests.golden.make`, with a Python that has JAX, writes `jax.json` anew.
"""
