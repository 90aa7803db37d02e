"""`einsum` of three or more operands, as products of two operands at a time, on the CPU if CPU codegen is enabled.

tinygrad multiplies all operands and then sums: "abc,bd,ce->ade" for axes of 64 entries takes 64⁵ multiplications. In
pairs it takes 2 · 64⁴, as two matrix multiplications. The cheapest pair is always next. Operands are not
divided into pairs if this saves less than half of the multiplications, because each pair writes an array.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, cast

from tinygrad import Tensor, dtypes

from branded import tinygrad_compat
from branded.hooks.host_sort import is_on_host
from branded.tinygrad_compat.private_api import all_int
from branded.tinygrad_compat.tensor_methods import Method


def _terms(formula: Any, operands: Sequence[Any]) -> tuple[list[str], str, dict[str, int]] | None:
    """Return the letters of each operand and of the result, and their sizes; None to leave the call to tinygrad."""
    if len(operands) < 3 or not isinstance(formula, str) or "." in formula:
        return None
    if not all(isinstance(x, Tensor) and dtypes.is_float(x.dtype) and all_int(x.shape) for x in operands):
        return None
    left, arrow, out = formula.replace(" ", "").partition("->")
    groups = left.split(",")
    if not arrow:
        out = "".join(sorted(c for c in {*left} if c.isalpha() and left.count(c) == 1))
    if len(groups) != len(operands) or not all(len(set(g)) == len(g) for g in (*groups, out)):
        return None
    if any(len(g) != x.ndim for g, x in zip(groups, operands, strict=True)) or not {*out} <= {*left}:
        return None
    pairs = [(c, n) for g, x in zip(groups, operands, strict=True) for c, n in zip(g, x.shape, strict=True)]
    sizes = dict(pairs)
    return (groups, out, sizes) if all(sizes[c] == n for c, n in pairs) and 0 not in sizes.values() else None


def _order(groups: Sequence[str], out: str, sizes: dict[str, int]) -> list[tuple[int, int, str]] | None:
    """Return the operands of each product and the letters of its result, or None if pairs are not faster."""

    def count(letters: set[str]) -> int:
        return math.prod(sizes[c] for c in letters)

    left, steps, total = list(groups), list[tuple[int, int, str]](), 0
    while len(left) > 1:
        options = list[tuple[int, int, int, int, str]]()
        for i, j in itertools.combinations(range(len(left)), 2):
            kept = {*out}.union(*(g for k, g in enumerate(left) if k not in (i, j)))
            both = dict.fromkeys(left[i] + left[j])
            letters = "".join(c for c in both if c in kept) if len(left) > 2 else out
            options.append((count({*both}), count({*letters}), i, j, letters))
        cost, _, i, j, letters = min(options)
        steps.append((i, j, letters))
        left = [g for k, g in enumerate(left) if k not in (i, j)] + [letters]
        total += cost
    return steps if 2 * total <= count({*"".join(groups)}) else None


def _in_pairs(original: Method) -> Method:
    @functools.wraps(original)
    def einsum(cls: type[Tensor], formula: str, *operands: Any, **kwargs: Any) -> Any:
        xs = operands[0] if len(operands) == 1 and isinstance(operands[0], tuple | list) else operands
        found = _terms(formula, xs)
        steps = None if found is None or not all(map(is_on_host, xs)) else _order(*found)
        if found is None or steps is None:
            return original(cls, formula, *operands, **kwargs)
        left = list(zip(found[0], xs, strict=True))
        for i, j, letters in steps:
            (a, x), (b, y) = left[i], left[j]
            product = original(cls, f"{a},{b}->{letters}", x, y, **kwargs)
            left = [term for k, term in enumerate(left) if k not in (i, j)] + [(letters, product)]
        return left[0][1]

    return einsum


def install() -> None:
    """Install the method unless the patches of tinygrad are disabled."""
    if tinygrad_compat.installed:
        setattr(Tensor, "einsum", classmethod(_in_pairs(cast(Any, Tensor.einsum).__func__)))  # noqa: B010
