"""`python -m tests.fuzz.products_fuzz [COUNT] [SEED]`: matrix multiplications of all forms by BLAS, against numpy.

Each program has two or three operands whose axes are rows, columns, batch or summed axes, in any order.  Operands are
buffers, parts of buffers, transposed, flipped, strided, expanded, or computed.  The result is used in more operations,
or written into a buffer.  Sizes are 0, 1 and odd, and elements include NaN and infinities.  BLAS also computes small
products, so that few of them are left to kernels; every second program uses threads.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded import jit, vmap
from branded.backends.cpu.gemm import blas, cost, match
from branded.tinygrad_compat import private_api
from tests.support.examples import in_memory

SIZES = (1, 2, 3, 5, 8, 17, 33)
KINDS = {"m": (True, False, True), "n": (False, True, True), "k": (True, True, False), "b": (True, True, True)}


@contextmanager
def always(parted: bool = False) -> Iterator[None]:
    """Compute each possible product by BLAS, however small it is; with `parted`, use threads."""
    costs = ("IN_KERNEL", "IN_KERNEL_OF_VECTOR", "IN_LOOPS", "IN_LOOPS_OF_VECTOR")
    before = {name: getattr(cost, name) for name in costs}
    worth = blas._WORTH
    blas._WORTH = 50 if parted else worth
    vars(cost).update(dict.fromkeys(costs, 1e9))
    match.recipe.cache_clear()
    try:
        yield
    finally:
        vars(cost).update(before)
        blas._WORTH = worth
        match.recipe.cache_clear()


def found(linear: UOp) -> list[blas.Product]:
    """Return the BLAS products among the scheduled calls."""
    return [call.src[0].arg.product for call in linear.src if isinstance(call.src[0].arg, blas.ProductName)]


class Program:
    """One program, and the operands for numpy."""

    def __init__(self, seed: int) -> None:
        self.r, self.np = random.Random(seed), np.random.default_rng(seed)
        self.dtype = self.r.choice((np.float32, np.float32, np.float64))
        self.axes = self._axes()
        self.said: list[str] = [np.dtype(self.dtype).name, str(self.axes)]
        letters = [self._ordered([x for x in self.axes if KINDS[x[0]][i]]) for i in range(3)]
        (self.a, self.x), (self.b, self.y) = (self._operand(letters[i]) for i in range(2))
        self.spec = ",".join(map(self._letters, letters[:2])) + "->" + self._letters(letters[2])
        self.shape = tuple(self.axes[x] for x in letters[2])

    def _axes(self) -> dict[str, int]:
        counts = {"m": self.r.choice((0, 1, 1, 1, 2)), "n": self.r.choice((0, 1, 1, 2)), "k": self.r.choice((1, 1, 2))}
        counts["b"] = self.r.choice((0, 0, 1, 2))
        names = [f"{kind}{i}" for kind, n in counts.items() for i in range(n)]
        found = {name: self.r.choice(SIZES) for name in names}
        if self.r.random() < 0.03:
            found[self.r.choice(names)] = 0
        while np.prod([float(n) for n in found.values()]) > 200_000:
            found[max(found, key=lambda x: found[x])] = 3
        return found

    def _ordered(self, names: list[str]) -> list[str]:
        return self.r.sample(names, len(names)) if self.r.random() < 0.6 else names

    def _letters(self, names: list[str]) -> str:
        return "".join(chr(97 + list(self.axes).index(x)) for x in names)

    def _values(self, shape: tuple[int, ...], finite: bool = False) -> np.ndarray[Any, Any]:
        x = self.np.standard_normal(shape).astype(self.dtype)
        if self.r.random() < 0.1 and x.size and not finite:
            x.flat[self.r.randrange(x.size)] = self.r.choice((np.nan, np.inf, -np.inf))
        return x

    def _operand(self, names: list[str]) -> tuple[Tensor, np.ndarray[Any, Any]]:
        """Return a tensor with these axes, derived from a buffer in a random way, and its elements."""
        shape = tuple(self.axes[x] for x in names)
        how = self.r.choice(("buffer", "buffer", "part", "steps", "turned", "spread", "exp", "masked", "permuted"))
        self.said.append(how)
        if how == "permuted":
            order = self.r.sample(range(len(shape)), len(shape))
            t, x = self._buffer(tuple(shape[i] for i in order))
            back = tuple(order.index(i) for i in range(len(shape)))
            return t.permute(back), x.transpose(back)
        if how == "spread" and shape:
            i = self.r.randrange(len(shape))
            # finite: tinygrad factors equal terms out of a sum, which changes results for infinities and NaN
            t, x = self._buffer((*shape[:i], 1, *shape[i + 1 :]), finite=True)
            return t.expand(shape), np.broadcast_to(x, shape)
        if how in ("part", "steps"):
            step = 2 if how == "steps" else 1
            more = [(self.r.randrange(3), n) for n in shape]
            t, x = self._buffer(tuple(at + n * step + self.r.randrange(2) for at, n in more))
            index = tuple(slice(at, at + n * step, step) for at, n in more)
            return t[index], x[index]
        t, x = self._buffer(shape)
        if how == "turned" and shape:
            i = self.r.randrange(len(shape))
            return t.flip(i), np.flip(x, i)
        if how == "exp":
            return (t * 0.5).exp(), np.exp(x * self.dtype(0.5))
        if how == "masked":
            return (t > 0).where(t, 0), np.where(x > 0, x, 0).astype(self.dtype)
        return t, x

    def _buffer(self, shape: tuple[int, ...], finite: bool = False) -> tuple[Tensor, np.ndarray[Any, Any]]:
        x = self._values(shape, finite)
        return in_memory(x), x

    def run(self) -> tuple[int, str | None]:
        """Return the number of BLAS products, and a description of the difference or None."""
        with np.errstate(all="ignore"):
            want = np.einsum(self.spec, self.x.astype(np.float64), self.y.astype(np.float64))
            scale = np.einsum(self.spec, *(np.abs(np.nan_to_num(v, posinf=0, neginf=0)) for v in (self.x, self.y)))
        after = self.r.choice(("none", "none", "bias", "relu", "twice", "added", "jit", "vmap"))
        self.said.append(after)
        f = lambda a, b: Tensor.einsum(self.spec, a, b)  # noqa: E731
        n = 0
        if after == "jit":
            got = jit(f)(self.a, self.b)
        else:
            got = self._vmapped() if after == "vmap" else f(self.a, self.b)
            if after == "bias":
                t, x = self._buffer(self.shape[-1:])
                got, want, scale = got + t, want + x, scale + np.abs(np.nan_to_num(x, posinf=0, neginf=0))
            elif after == "relu":
                got, want = got.relu(), np.where(np.isnan(want), np.nan, np.maximum(want, 0))
            elif after == "twice":
                got, want, scale = got + f(self.a, self.b) * 2, want * 3, scale * 3
            elif after == "added":
                t, x = self._buffer(self.shape)
                t.assign(t + got)
                got, want, scale = t, want + x, scale + np.abs(np.nan_to_num(x, posinf=0, neginf=0))
            linear, values = got.linear_with_vars() if 0 not in self.axes.values() else (UOp.sink(), {})
            n = len(found(linear))
            if linear.src:
                private_api.run_linear(linear, values)
        return n, _wrong(got.numpy(), want, scale, 2e-6 if self.dtype is np.float32 else 1e-14, after == "relu")

    def _vmapped(self) -> Tensor:
        """Map over the first axis of the first operand; the second operand is shared, or mapped over the same axis."""
        ins, out = self.spec.split("->")
        left, right = ins.split(",")
        if not left or left[0] not in out:
            return Tensor.einsum(self.spec, self.a, self.b)
        over, at = left[0], right.find(left[0])
        inner = f"{left[1:]},{right.replace(over, '')}->{out.replace(over, '')}"
        axes = (0, None if at < 0 else at)
        mapped = vmap(lambda a, b: Tensor.einsum(inner, a, b), in_axes=axes, out_axes=out.index(over))
        return mapped(self.a, self.b)


def _wrong(got: Any, want: Any, scale: Any, tolerance: float, is_relu: bool) -> str | None:
    if got.shape != want.shape:
        return f"shape {got.shape} is not {want.shape}"
    if is_relu:  # tinygrad's relu of NaN is 0
        want = np.nan_to_num(want, nan=0.0, posinf=np.inf, neginf=-np.inf)
        got = np.nan_to_num(got, nan=0.0, posinf=np.inf, neginf=-np.inf)
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return "NaN or infinities are elsewhere"
    with np.errstate(all="ignore"):
        apart = np.where(finite, np.abs(got - want), 0)
    far = apart > tolerance * (1 + scale) * 8
    return f"{far.sum()} of {far.size} are wrong" if far.any() else None


def main(count: int = 1000, seed: int = 0) -> int:
    """Return the number of incorrect programs."""
    bad = with_products = 0
    for i in range(seed, seed + count):
        program = Program(i)
        with always(parted=i % 2 == 1):
            n, wrong = program.run()
        with_products += n > 0
        if wrong:
            bad += 1
            print(f"seed {i}: {wrong}: {program.spec} {' '.join(program.said)}", flush=True)
    print(f"{count} programs, {with_products} with products that were counted, {bad} wrong")
    return bad


if __name__ == "__main__":
    sys.exit(min(main(*map(int, sys.argv[1:])), 1))
