"""Random programs that run with JAX and with branded, and must return the same: `make fuzz-jax`.

`form.py` defines a program and writes it as Python; `draw.py` generates one; `ours.py` and `theirs.py` define the
names that its text uses; `judge.py` runs one program in both libraries and compares; `shrink.py` shrinks a failing
one; `__main__.py` runs many.  Numpy evaluates most programs from the graph of branded (`by_numpy.py`); some run by
kernels, as for users.
"""

FINDINGS = ("wrong value", "wrong type", "raw error", "refused", "accepted", "crash", "time-out")
"""The verdicts that are failures: see `judge.Verdict`."""
