"""Values that the tables share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor

from branded import Brand, random, vmap

V = Tensor([1.0, 2.0, 3.0])
N = Tensor([1, 2, 3])
X = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
W = Tensor([1.0, 2.0])
NUMBER = Tensor(2.0)
EMPTY = Tensor.zeros(0, 2)
KEY = random.key(0)
KEYS = random.split(KEY, 3)
NP = np.array([1.0, 2.0, 3.0], dtype=np.float32)
LONG = np.array([1.0, 2.0, 3.0], dtype=np.longdouble)
BIG_ENDIAN = np.array([1.0, 2.0, 3.0], dtype=">f4")
OBJECTS = np.array([None, "a", 1], dtype=object)
WORDS = np.array(["a", "b", "c"])
COMPLEX = np.array([1j, 2j, 3j])
DATES = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[D]")
MASKED = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
HUGE = 10**30
NASTY = "two\nlines 'single' \"double\" <b>bold</b> &amp; nul\0 {brace} %s"


def cyclic_list() -> list[Any]:
    inside: list[Any] = [V]
    inside.append(inside)
    return inside


def cyclic_dict() -> dict[str, Any]:
    inside: dict[str, Any] = {"v": V}
    inside["self"] = inside
    return inside


def deep(leaf: Any, levels: int = 10_000) -> Any:
    """Nest a leaf in this number of lists."""
    for _ in range(levels):
        leaf = [leaf]
    return leaf


def bottom(x: Any) -> Any:
    """Return the innermost value of nested lists."""
    while isinstance(x, list):
        x = x[0]
    return x


class Users(Brand):
    pass


class Odd:
    """An object of an unknown class."""


class Hostile:
    """An object whose repr and comparison raise."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


class Pair(NamedTuple):
    a: Any
    b: Any


def one(x: Any) -> Any:
    return x


def two(x: Any, y: Any) -> Any:
    return x + y


def total(x: Tensor) -> Tensor:
    return x.sum()


def escaped() -> Tensor:
    """Return a tensor whose brand is already closed."""
    out: list[Tensor] = []
    vmap(lambda x: out.append(x) or x)(V)  # type: ignore[func-returns-value]
    return out[0]
