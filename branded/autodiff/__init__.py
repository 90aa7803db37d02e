"""Derivatives: forward and reverse mode, Jacobians, checkpoints, custom rules.

A call of `grad(f)(x)` passes through these files in this order. `python -m tests.pages.walk --path grad` prints the
functions.

- `api`              the public functions
- `ad_call`          replaces the arguments by leaves, and calls `f` with them
- `tags`             leaves, and the transforms that are active
- `captured_writes`  writes of `f` into tensors that it captures
- `reverse`          the reverse pass from the result down to the leaves; `forward` for `jvp`
- `results`          removes the leaves from the results
"""
