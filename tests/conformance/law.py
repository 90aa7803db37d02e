"""The law: vmap equals stacking the loop, in values, dtype and shape, for every way to map the arguments."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tinygrad import Context, Device, Tensor, dtypes
from tinygrad.dtype import strong_dtype

from branded import vmap
from branded.errors import WriteError
from branded.tree import leaves
from tests.support import by_numpy as evaluation
from tests.support.by_numpy import Unknown
from tests.support.by_numpy import values as by_numpy

from .table import Case, Mode

SIZES = (3, 2, 2, 2, 2, 2)
TOLERANCE = {dtypes.float64: 1e-9, dtypes.float16: 4e-3, dtypes.bfloat16: 3e-2}
Row = tuple[int, ...]
Function = Callable[..., Any]
Read = Callable[[list[Tensor]], list[np.ndarray]]


@dataclass(frozen=True)
class Plan:
    """One way to map a case.

    Attributes:
        mode: The kind of mapping.
        name: A longer description of the kind.
        rows: For each argument, the brands that it varies over, numbered by their axis in the result.
        mapped: Maps the function over batches.
        ends: Whether the last brand is the last axis of arguments and results, instead of following the first brand.
    """

    mode: Mode
    name: str
    rows: tuple[Row, ...]
    mapped: Callable[[Function], Function]
    ends: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        return SIZES[: 1 + max(brand for row in self.rows for brand in row)]


def case_hash(case: Case) -> int:
    """Return a number that depends on the case alone."""
    return zlib.crc32(str(case).encode())


def depth_of(case: Case) -> int:
    """Return the nesting depth, from 3 to 6, at which a case is tried."""
    return 3 + case_hash(case) % 4


def nest(depth: int) -> Callable[[Function], Function]:
    return lambda f: functools.reduce(lambda g, _: vmap(g), range(depth), f)


def first_outside(f: Function) -> Function:
    """Map the first argument in an outer vmap, and the others in an inner one."""
    return lambda x, *ys: vmap(lambda x: vmap(lambda *ys: f(x, *ys))(*ys))(x)


def first_inside(f: Function) -> Function:
    """Map the first argument in an inner vmap, and the others in an outer one."""
    return lambda x, *ys: vmap(lambda *ys: vmap(lambda x: f(x, *ys))(x))(*ys)


def crossed(f: Function) -> Function:
    """Map the outer brand over the last axis of arguments and results, and the inner brand over the first."""
    return vmap(vmap(f), in_axes=-1, out_axes=-1)


def plans(case: Case) -> list[Plan]:
    """Return all ways to map a case."""
    n = len(case.args)

    def everything() -> Iterator[Plan]:
        yield Plan("zip", "zip", ((0,),) * n, vmap)
        for i in range(n if n > 1 else 0):
            alone = tuple((0,) if j == i else () for j in range(n))
            axes = tuple(0 if j == i else None for j in range(n))
            yield Plan("broadcast", f"only argument {i + 1}", alone, functools.partial(vmap, in_axes=axes))
        if n > 1 and case_hash(case) // 4 % 2:
            yield Plan("outer", "outer, first argument outside", ((0,), *((1,),) * (n - 1)), first_outside)
        elif n > 1:
            yield Plan("outer", "outer, first argument inside", ((1,), *((0,),) * (n - 1)), first_inside)
        yield Plan("nested", "nested", ((0, 1),) * n, crossed, ends=True)
        depth = depth_of(case)
        yield Plan("deep", f"depth {depth}", (tuple(range(depth)),) * n, nest(depth))

    return [plan for plan in everything() if case.modes is None or plan.mode in case.modes]


def is_refused(case: Case, plan: Plan) -> bool:
    """Tell whether the case writes into an argument that the innermost brand does not map."""
    return any(len(plan.sizes) - 1 not in plan.rows[i] for i in case.writes)


class Loop:
    """The results of the plain function, each computed once."""

    def __init__(self, case: Case, pool: list[np.ndarray]) -> None:
        self.case, self.pool = case, pool
        self.needed: dict[tuple[int, ...], None] = {}  # the argument examples to compute
        self.values: dict[tuple[int, ...], list[np.ndarray]] = {}
        inputs = self.inputs(tuple(0 for _ in pool))
        self.given = [x.uop for x in inputs]  # taken before the function writes into them
        self.first = leaves(case.f(*inputs))

    def inputs(self, ids: tuple[int, ...]) -> list[Tensor]:
        return [arg.tensor(xs[i]) for arg, xs, i in zip(self.case.args, self.pool, ids, strict=True)]

    def compute(self, read: Read) -> None:
        """Evaluate the graph of one example with numpy for each example, or run the kernels of each example."""
        if read is not by_numpy:
            self.values = {ids: read(leaves(self.case.f(*self.inputs(ids)))) for ids in self.needed}
            return
        pool = by_numpy([arg.tensor(xs) for arg, xs in zip(self.case.args, self.pool, strict=True)])
        for ids in self.needed:
            numbers = {u: xs[i] for u, xs, i in zip(self.given, pool, ids, strict=True)}
            self.values[ids] = by_numpy(self.first, numbers)


def by_kernels(tensors: list[Tensor]) -> list[np.ndarray]:
    """Return the values of many tensors, compiled and computed together."""

    def readable(t: Tensor) -> Tensor:
        if t.dtype in dtypes.weaks:
            t = t.cast(strong_dtype(t.dtype))
        if t.dtype is dtypes.bfloat16:
            t = t.float()
        return t.contiguous() if t.uop.device is not None and t.device == Device.DEFAULT else t.clone(Device.DEFAULT)

    ready = [readable(t) for t in tensors]
    if ready:
        Tensor.realize(*ready)
    return [t.numpy() for t in ready]


def check(case: Case) -> list[str]:
    """Try every plan of a case by numpy; use kernels if numpy cannot evaluate the graph or the test is `compiled`.

    Returns:
        One line for each plan that fails; an empty list if the law holds.
    """
    # optimizing tiny kernels, and compiling them in a pool, takes longer than it saves
    with Context(NOOPT=1, PARALLEL=0):
        rng = np.random.default_rng(case_hash(case))
        pool = [arg.sample(rng, case.pool) for arg in case.args]
        loop, trials = Loop(case, pool), [Trial(case, plan, pool, rng) for plan in plans(case)]
        for t in trials:
            if not t.refused:
                loop.needed |= dict.fromkeys(t.examples())
        for t in trials:
            t.trace()
        if not evaluation.is_compiled:
            try:
                return differences(loop, trials, by_numpy)
            except Unknown:
                pass
        return differences(loop, trials, by_kernels)


def differences(loop: Loop, trials: list[Trial], read: Read) -> list[str]:
    loop.compute(read)
    compute([t for t in trials if not t.wrong], read)
    return [f"{t.plan.name}: {wrong}" for t in trials for wrong in (t.wrong or t.compare(loop))]


def check_kernels(case: Case) -> list[str]:
    """Compile one plan of a case and compare its kernels with numpy's evaluation of its graph."""
    with Context(NOOPT=1, PARALLEL=0):
        rng = np.random.default_rng(case_hash(case))
        pool = [arg.sample(rng, case.pool) for arg in case.args]
        t = next(t for plan in plans(case) if not (t := Trial(case, plan, pool, rng)).refused)
        t.trace()
        if t.wrong:
            return t.wrong
        try:
            want = by_numpy(t.outs)
        except Unknown:
            return []  # `check` then runs the law with kernels
        found = by_kernels(t.outs)
    # a float16 kernel may keep more digits than its graph has
    coarse = max(TOLERANCE.get(dtype, 2e-5) for dtype in (*(y.dtype for y in t.outs), *(a.dtype for a in case.args)))
    pairs = enumerate(zip(found, want, strict=True))
    return [w for i, (a, b) in pairs for w in t.unequal(f"result {i + 1}: ", a, b, coarse)]


def compute(trials: list[Trial], read: Read) -> None:
    """Compute the values of all results together, or one by one if that fails, to find the trial at fault."""
    try:
        values = iter(read([out for t in trials for out in t.outs]))
        for t in trials:
            t.values = [next(values) for _ in t.outs]
    except Unknown:
        raise
    except Exception:
        for t in trials:
            try:
                t.values = read(t.outs)
            except Exception as error:
                t.wrong = [describe(error)]


class Trial:
    """One plan applied to the data of one case."""

    def __init__(self, case: Case, plan: Plan, pool: list[np.ndarray], rng: np.random.Generator) -> None:
        self.case, self.plan, self.refused = case, plan, is_refused(case, plan)
        lanes = {row: self._lanes(row, rng) for row in sorted(set(plan.rows))}
        self.lanes = [lanes[row] for row in plan.rows]
        self.arrays = [xs[lane] for xs, lane in zip(pool, self.lanes, strict=True)]
        if plan.ends:
            self.arrays = [np.moveaxis(x, 1, -1) for x in self.arrays]
        self.batches = [arg.tensor(x) for arg, x in zip(case.args, self.arrays, strict=True)]
        self.outs: list[Tensor] = []
        self.values: list[np.ndarray] = []
        self.wrong: list[str] = []

    def _lanes(self, row: Row, rng: np.random.Generator) -> np.ndarray:
        """Return the pool index of each example, for arguments that vary over `row`."""
        sizes, pool = tuple(self.plan.sizes[b] for b in row), self.case.pool
        n = int(np.prod(sizes))
        return (np.arange(n) if n <= pool else rng.integers(0, pool, n)).reshape(sizes)

    def examples(self) -> list[tuple[int, ...]]:
        """Return, for each entry of the batch, the pool index of every argument."""
        at = np.indices(self.plan.sizes)
        each = [lane[tuple(at[b] for b in row)] for lane, row in zip(self.lanes, self.plan.rows, strict=True)]
        return [
            tuple(map(int, ids)) for ids in zip(*(np.broadcast_to(x, self.plan.sizes).flat for x in each), strict=True)
        ]

    def trace(self) -> None:
        before = [b.uop for b in self.batches]
        try:
            self.outs = leaves(self.plan.mapped(self.case.f)(*self.batches))
        except WriteError as error:
            self.wrong = [] if self.refused else [describe(error)]
        except Exception as error:
            self.wrong = [describe(error)]
        else:
            self.wrong = ["a write into a shared argument was not refused"] if self.refused else []
        if any(b.uop is not u for b, u in zip(self.batches, before, strict=True)):
            self.wrong.append("an argument was changed")

    def compare(self, loop: Loop) -> Iterator[str]:
        if self.refused:
            return
        examples = self.examples()
        for i, (out, value) in enumerate(zip(self.outs, self.values, strict=True)):
            which = f"result {i + 1}: " if len(self.outs) > 1 else ""
            one = loop.first[i]
            stacked = np.stack([loop.values[ids][i] for ids in examples])
            want = stacked.reshape(self.plan.sizes + stacked.shape[1:])
            if self.plan.ends:
                want = np.moveaxis(want, 1, -1)
            if out.shape != want.shape:
                yield f"{which}shape {out.shape}, and the loop has {want.shape}"
            elif out.dtype != one.dtype:
                yield f"{which}{out.dtype}, and the loop has {one.dtype}"
            else:
                yield from self.unequal(which, value, want, TOLERANCE.get(one.dtype, 2e-5))
        for i, (b, array) in enumerate(zip(self.batches, self.arrays, strict=True)):
            is_float = array.dtype.kind == "f"
            if b.dtype is not dtypes.bfloat16 and not np.array_equal(by_numpy([b])[0], array, equal_nan=is_float):
                yield f"argument {i + 1} was overwritten"

    def unequal(self, which: str, value: np.ndarray, want: np.ndarray, tolerance: float) -> Iterator[str]:
        tolerance = self.case.tolerance or tolerance
        exact = want.dtype.kind in "biu"
        same = np.array_equal(value, want) if exact else np.allclose(value, want, tolerance, tolerance, equal_nan=True)
        if not same:
            yield f"{which}values differ\nfound: {value.tolist()}\nwanted: {want.tolist()}"


def describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
