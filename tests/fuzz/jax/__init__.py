"""Random programs that run with JAX and with branded, and must give the same: `make fuzz-jax`.

`form.py` is what a program is and how it is written as Python; `draw.py` draws one; `ours.py` and `theirs.py` are the
names that its text uses; `judge.py` runs one program in both and says what came of it; `shrink.py` makes a failing one
small; `__main__.py` runs many.  Most programs are computed by numpy from our graph (`by_numpy.py`), some by the
kernels that users run.
"""

FINDINGS = ("wrong value", "wrong type", "raw error", "refused", "accepted", "crash", "time-out")
"""What a program must not end in: see `judge.Verdict`."""
