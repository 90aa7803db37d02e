"""Fuzzers: generators of random programs that are run by hand, for longer than a test suite may take.

`python -m tests.fuzz` checks that vmap equals the loop on random programs. Each other module of this folder checks one
kind of program: `python -m tests.fuzz.NAME --programs 2000 --seed 7` prints the seed, the count, and each program that
is wrong, and exits with 1 if there is any. The test suite runs a small fixed sample of each.
"""
