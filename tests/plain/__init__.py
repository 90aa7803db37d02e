"""Prove that `import branded` changes nothing for programs of plain tinygrad.

`programs` generates programs, `process` runs them and records their outcomes, `state` records the state of tinygrad,
Python and the process, and `compare` runs all of this with and without the import. `python -m tests.fuzz.plain` prints
the differences. `suite` does the same with tinygrad's own tests (`make plain`).

`programs`, `process` and `state` import nothing of `branded`, so that a process without it is plain.
"""
