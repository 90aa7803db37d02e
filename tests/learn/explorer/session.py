"""The calls to Python that a page makes while a user tries the first page of the course.

test_running.py answers them by Python in this process; test_edit.py checks that Pyodide gives the same answers.
"""

from __future__ import annotations

import importlib
import re

from branded.learn.puzzles import PUZZLES, Write
from branded.learn.puzzles.expected import cases_to_text

Call = tuple[str, str, list[str | int]]
"""A module, a function in it, and its arguments."""


def block(number: int, text: str) -> Call:
    return "branded.learn.explorer.blocks", "run", [text, number]


def puzzle(number: int, answer: str) -> Call:
    right = next(cases_to_text(p) for p in PUZZLES if isinstance(p, Write) and p.number == number)
    return "branded.learn.explorer.puzzles", "judge", [number, answer, right]


FIRST = """\
from tinygrad import Tensor
from branded import vmap

def smooth(day):
    return (day[:-2] + day[1:-1] + day[2:]) / 3

days = Tensor([[12.0, 15.0, 21.0, 18.0], [9.0, 12.0, 15.0, 12.0], [6.0, 6.0, 9.0, 9.0]])
smooth(days[0]).tolist()"""
SECOND = "smooth(days).tolist()"
PICTURES = 'print("days")\ndays[:2, 1:]\nsmooth'
MISUSE = "from branded import vmap\nvmap(lambda x: x if x.sum() > 5 else -x)(days)"
MISSPELT = "days.nothing"
SESSION = [block(1, FIRST), block(2, SECOND), block(2, PICTURES), block(2, MISUSE), block(3, MISSPELT)]


def answer(call: Call) -> str:
    """Answer a call by Python in this process."""
    module, name, words = call
    said: str = getattr(importlib.import_module(module), name)(*words)
    return said


def without_addresses(said: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", said)
