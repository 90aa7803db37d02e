"""A case: a per-example function, the tinygrad names that it covers, and a description of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, _to_np_dtype

from tests.support.examples import in_memory

Kind = Literal["real", "positive", "unit", "special", "ints", "index", "bools"]
Mode = Literal["zip", "broadcast", "outer", "nested", "deep"]

FAMILIES = (
    "Elementwise",
    "Dtypes",
    "Reductions",
    "Movement",
    "Indexing",
    "Writing",
    "Linear algebra",
    "Convolution and pooling",
    "Networks",
    "Functions",
    "Gradients",
    "Devices",
)
SPECIAL = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.5, -2.5)


@dataclass(frozen=True)
class Arg:
    """One argument of a per-example function."""

    kind: Kind
    shape: tuple[int, ...]
    dtype: DType
    high: int = 4

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Return `n` examples, in a dtype that numpy has."""
        shape = (n, *self.shape)
        match self.kind:
            case "real":
                x = rng.standard_normal(shape)
            case "positive":
                x = np.abs(rng.standard_normal(shape)) + 0.1
            case "unit":
                x = rng.uniform(-0.95, 0.95, shape)
            case "special":
                x = rng.choice(SPECIAL, shape)
            case "ints":
                x = rng.integers(0 if self.dtype in dtypes.uints else -9, 10, shape)
            case "index":
                x = rng.integers(0, self.high, shape)
            case "bools":
                x = rng.random(shape) > 0.5
        return np.asarray(x).astype(_to_np_dtype(self.dtype) or np.float32)

    def tensor(self, x: np.ndarray) -> Tensor:
        if self.dtype is dtypes.bfloat16:  # numpy has no bfloat16
            return in_memory((np.array(x, order="C").view(np.uint32) >> 16).astype(np.uint16), self.dtype)
        return in_memory(x)


def real(*shape: int, dtype: DType = dtypes.float32) -> Arg:
    """Floats of both signs."""
    return Arg("real", shape, dtype)


def positive(*shape: int, dtype: DType = dtypes.float32) -> Arg:
    """Floats above 0.1."""
    return Arg("positive", shape, dtype)


def unit(*shape: int, dtype: DType = dtypes.float32) -> Arg:
    """Floats between -0.95 and 0.95."""
    return Arg("unit", shape, dtype)


def special(*shape: int, dtype: DType = dtypes.float32) -> Arg:
    """NaN, infinities, zeros of both signs, and a few ordinary floats."""
    return Arg("special", shape, dtype)


def ints(*shape: int, dtype: DType = dtypes.int32) -> Arg:
    """Integers from -9 to 9, or 0 to 9."""
    return Arg("ints", shape, dtype)


def index(*shape: int, high: int = 4, dtype: DType = dtypes.int32) -> Arg:
    """Integers from 0 to `high` - 1."""
    return Arg("index", shape, dtype, high)


def bools(*shape: int) -> Arg:
    """Truth values."""
    return Arg("bools", shape, dtypes.bool)


@dataclass(frozen=True)
class Case:
    """A function of one example; vmap must agree with its loop.

    Attributes:
        family: The section of the page.
        name: A description.
        covers: The names of `Tensor` that the function calls itself; names of `tinygrad.nn` begin with `nn.`.
        f: The function; it returns a tensor, or a tuple of tensors.
        args: The arguments, each per example.
        tolerance: Relative and absolute tolerance for floats; None chooses it by dtype.
        writes: The arguments that it writes in place. vmap rejects the write if such an argument is unbatched.
        pool: The number of different examples.
        modes: The ways to map that are tried; None means all.
    """

    family: str
    name: str
    covers: tuple[str, ...]
    f: Callable[..., Any]
    args: tuple[Arg, ...]
    tolerance: float | None = None
    writes: tuple[int, ...] = ()
    pool: int = 3
    modes: tuple[Mode, ...] | None = None

    def __str__(self) -> str:
        return f"{self.family}: {self.name}"


CASES: list[Case] = []


def family(name: str) -> Callable[..., None]:
    """Return a function that adds cases to a family: `case(name, covers, f, *args)`, with names separated by spaces."""

    def case(what: str, covers: str, f: Callable[..., Any], *args: Arg, **options: Any) -> None:
        CASES.append(Case(name, what, tuple(covers.split()), f, args, **options))

    return case
