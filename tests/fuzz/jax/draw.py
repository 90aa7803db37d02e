"""Generate the program with a given number."""

from __future__ import annotations

import random

from tests.fuzz.jax import calls, operations, wrong
from tests.fuzz.jax.drawing import Draw
from tests.fuzz.jax.form import Program
from tests.fuzz.jax.more import MORE

KINDS = [*operations.OPERATIONS, *calls.CALLS]
"""The kinds of statements in a program."""


def draw(seed: int, number: int, more: bool = False) -> Program:
    """Return the program with this number; it depends only on the seed, the number and `more`.

    `more` adds the statements of `more.py`.
    """
    choice = random.Random(f"{seed}:{number}:size")
    d = Draw(f"{seed}:{number}", number % 2 == 1, choice.choice([4, 8, 12, 18, 25, 35]), MORE if more else None)
    return d.program(wrong.put_wrong if choice.random() < 0.06 else None)
