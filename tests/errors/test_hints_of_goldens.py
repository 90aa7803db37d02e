"""Test each `try:` line of the golden messages by a program that follows it, or list it as an exception.

The messages are in test_errors.py and test_transform_errors.py.  Each program is the mistake of the golden test,
corrected as the line says; test_hints.py follows the lines that quote the user's code.
"""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, nn

import branded
from branded import Brand, brand, custom_jvp, custom_vjp, custom_vmap, optim, vmap

HERE = Path(__file__).parent
X = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4)).realize()
V = Tensor([1.0, 2.0, 3.0]).realize()
NETS = [nn.Linear(4, 2), nn.Linear(4, 2)]


class Users(Brand): ...


def ruled(kind: str) -> Any:
    """Return `x * x` with a custom rule."""
    f: Any = {"jvp": custom_jvp, "vjp": custom_vjp, "vmap": custom_vmap}[kind](lambda x: x * x)
    if kind == "jvp":
        f.defjvp(lambda primals, tangents: (primals[0] * primals[0], 2 * primals[0] * tangents[0]))
    elif kind == "vjp":
        f.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * x * ct,))
    else:
        f.def_vmap(lambda size, batched, x: (x * x, batched[0]))
    return f


def power(n: int, x: Tensor) -> Tensor:
    return x**n


def adam() -> Any:
    """Return an optimizer with a step count in its state."""
    return optim.adam(0.1)


def named(kind: str) -> Any:
    """Return a function of an int and a tensor, with a rule for the tensor."""
    f: Any = custom_jvp(power, nondiff_argnums=(0,))
    f.defjvp(lambda n, primals, tangents: (primals[0] ** n, n * primals[0] ** (n - 1) * tangents[0]))
    return f


def entered(size: int, x: Tensor, axis: int) -> Tensor:
    """Enter a brand along an axis, and leave it again."""
    with brand("users", size) as b:
        return b.unvec(b.vec(x, axis))


def kept_outside() -> Tensor:
    """Open a brand, and compute inside of its block."""
    with brand("b", 3) as b:
        return b.unvec(b.vec(V) + 1)


def written_outside() -> Tensor:
    total = Tensor.zeros(3).contiguous().realize()
    total.assign(vmap(lambda x: x * 2)(V))
    return total


FOLLOWED: dict[str, str] = tomllib.loads((HERE / "hints.toml").read_text())
QUOTED = {
    "(x.sum() > 0).where(x, -x)",
    "(a * b).sum() > 0",
    "(Tensor.arange(4) < x[0].int()).where(x, 0)",
    "(Tensor.arange(3) < i).where(X, 0)",
    "Y[x[0].int()]",
    "fori_loop(0, x[0].int(), body, start)",
    "x[0].sqrt()",
    "Tensor(np.ones(3))[i]",
    'debug.print("{x}", x=x)',
}
"""Lines that quote the user's code: test_hints.py follows these and many more."""
LEFT_OUT = {"wrap the call in sequential_vmap, or in a custom_vmap whose rule runs it on the batch"}
"""The hint for kernels that the user has written: tests/core/test_own_kernels.py follows it."""


def golden() -> set[str]:
    found: set[str] = set()
    for name in ("test_errors.py", "test_transform_errors.py"):
        found |= set(re.findall(r'^ +try: +(.+?)(?:""".*)?$', (HERE / name).read_text(), re.MULTILINE))
    return found


def test_every_hint_has_a_program() -> None:
    assert golden() - QUOTED - LEFT_OUT - set(FOLLOWED) == set(), "write the program that follows it"
    assert set(FOLLOWED) - golden() == set(), "no message says this"


@pytest.mark.parametrize("line", FOLLOWED)
def test_program_of_hint_runs(line: str) -> None:
    theirs = {name: getattr(branded, name) for name in branded.__all__}
    got = eval(FOLLOWED[line], {**theirs, **globals(), "functools": functools, "nn": nn})
    for x in branded.tree.leaves(got):
        assert x.shape is not None and (not isinstance(x, Tensor) or not branded.brands(x))
