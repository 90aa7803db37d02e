"""Proof that `import branded` changes nothing for programs of plain tinygrad.

`programs` generates programs, `process` runs them and records what they did, `state` records what tinygrad, Python and
the process look like, and `compare` runs all of this with and without the import. `python -m tests.fuzz.plain` prints
the differences. `suite` does the same with tinygrad's own tests (`make plain`).

`programs`, `process` and `state` import nothing of `branded`, so that a process without it is plain.
"""
