"""`python -m bench columns`: compare a vmap over the last axis with the same program batched by hand.

The programs come from the conformance table, with many examples. With the examples on the last axis, the batched form
of an operation is the operation on one example with one more axis at the end. `batched` derives this form from the
graph of one example without moving an axis. Programs with other operations are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from tinygrad import Tensor
from tinygrad.uop.ops import GroupOp, Ops, UOp

from bench.measure import Report, check, interleave, kernels, machine, ratio_of_best, shared
from branded import jit, vmap
from branded.graph.primitive import params, primitive_of
from branded.graph.uops import with_strong_dtype
from branded.tree import leaves
from tests.conformance.cases import CASES
from tests.conformance.table import Case

NUMBERS, LEAST, MOST = 1 << 18, 64, 4096
"""The size of the largest argument of a program, and the least and largest number of examples."""
GOAL = 1.1


class NotCoveredError(Exception):
    """Raised for an operation that has no form by hand."""


def batched(outs: Sequence[UOp], inputs: dict[UOp, UOp], n: int) -> list[UOp]:
    """The results for `n` examples, whose axis is the last one of the inputs and of the results."""
    new: dict[UOp, UOp] = dict(inputs)
    for u in list(UOp.sink(*outs).toposort())[:-1]:
        if u not in new and any(s in new for s in u.src):
            new[u] = _written(u, [new.get(s, s) for s in u.src], [s in new for s in u.src], n)
    return [new[u] if u in new else _repeated(u, n) for u in outs]


def _repeated(u: UOp, n: int) -> UOp:
    return u.reshape((*u.shape, 1)).expand((*u.shape, n))


def _written(u: UOp, xs: list[UOp], carries: list[bool], n: int) -> UOp:
    x = xs[0]
    if any(carries[1:]) and u.op not in GroupOp.Broadcastable | {Ops.STACK, Ops.STORE, Ops.AFTER, Ops.FUNCTION}:
        raise NotCoveredError(u.op.name)
    match u.op:
        case Ops.STORE if u.src[0].op is Ops.BUFFER or u.src[0].has_buffer_identity():  # the value of all of a buffer
            value = xs[1] if carries[1] else _repeated(xs[1], n)
            return value.expand((*u.shape, n)) if value.shape != (*u.shape, n) else value
        case Ops.AFTER if len(xs) == 2 and u.src[1].op is Ops.STORE and u.src[1].src[0] is u.src[0]:
            return xs[1].contiguous()
        case Ops.FUNCTION if (p := primitive_of(u)) is None or not p.is_opaque:
            inside = {v: xs[v.arg.slot + 1].param_like(v.arg.slot) for v in params(x) if carries[v.arg.slot + 1]}
            return u.replace(src=(UOp.maketuple(*batched(x.src, inside, n)), *xs[1:]))
        case Ops.GETTUPLE:
            return x.gettuple(u.arg)
        case Ops.RESHAPE:
            return x.reshape((*u.shape, n))
        case Ops.EXPAND:
            return x.expand((*u.shape, n))
        case Ops.PERMUTE:
            return x.permute((*u.arg, len(u.arg)))
        case Ops.FLIP:
            return UOp(Ops.FLIP, u.dtype, (x,), (*u.arg, False))
        case Ops.PAD:
            return x.pad((*[(a, size - a - s) for (a, size), s in zip(u.marg, u.src[0].shape, strict=True)], (0, 0)))
        case Ops.SHRINK:
            return x.shrink((*[(a, a + size) for a, size in u.marg], (0, n)))
        case Ops.BITCAST if u.dtype.itemsize == u.src[0].dtype.itemsize:
            return u.replace(src=(x,))
        case Ops.REDUCE:
            return u.replace(src=(x, *xs[1:]))
        case Ops.STACK:
            return u.replace(src=tuple(x if c else _repeated(x, n) for x, c in zip(xs, carries, strict=True)))
    if u.op in GroupOp.Broadcastable:
        operands = [x if c or not x.shape else x.reshape((*x.shape, 1)) for x, c in zip(xs, carries, strict=True)]
        return u.replace(src=tuple(operands))
    if u.op in GroupOp.Unary or u.op in (Ops.CAST, Ops.CONTIGUOUS, Ops.DETACH, Ops.CONTIGUOUS_BACKWARD, Ops.COPY):
        return u.replace(src=(x, *xs[1:]))
    raise NotCoveredError(u.op.name)


Program = Callable[..., list[Tensor]]


def pair(case: Case, n: int) -> tuple[Program, Program]:
    """The program as a vmap, and by hand."""
    one = [arg.tensor(arg.sample(np.random.default_rng(0), 1)[0]) for arg in case.args]
    outs = [y.uop for y in leaves(case.f(*one))]

    def by_hand(*xs: Tensor) -> list[Tensor]:
        inputs = {x.uop: y.uop for x, y in zip(one, xs, strict=True)}
        return [with_strong_dtype(Tensor(y)) for y in batched(outs, inputs, n)]

    def mapped(*xs: Tensor) -> list[Tensor]:
        return [with_strong_dtype(y) for y in leaves(vmap(case.f, in_axes=-1, out_axes=-1)(*xs))]

    return mapped, by_hand


def examples(case: Case) -> int:
    """How many examples a program gets."""
    largest = max([int(np.prod(arg.shape)) for arg in case.args] or [1])
    return max(LEAST, min(MOST, NUMBERS // max(1, largest) // 64 * 64))


def _called(f: Callable[..., Any], xs: Sequence[Tensor]) -> Callable[[], Any]:
    return lambda: f(*xs)


def compared(case: Case, seconds: float) -> list[Any]:
    """The kernels of both, how many are the same, the ratio of the best times, and the time by hand."""
    n, rng = examples(case), np.random.default_rng(0)
    xs = [arg.tensor(np.ascontiguousarray(np.moveaxis(arg.sample(rng, n), 0, -1))).realize() for arg in case.args]
    ours, hand = pair(case, n)
    check(str(case), [y for y in ours(*xs) if y.numel()], [y for y in hand(*xs) if y.numel()])
    a, b = kernels(ours(*xs)), kernels(hand(*xs))
    times = interleave({name: _called(jit(f), xs) for name, f in (("vmap", ours), ("hand", hand))}, seconds)
    return [len(a), len(b), shared(a, b), ratio_of_best(times, "vmap", "hand"), min(times["hand"]) * 1e6]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench columns", description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="TEXT", default="", help="the programs with this in their name")
    parser.add_argument("--seconds", type=float, default=0.3, help="how long each program is measured (default 0.3)")
    parser.add_argument("--all", action="store_true", help=f"show those too that take less than {GOAL} of the time")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="also write the output to a file")
    options = parser.parse_args(argv)
    report = Report()
    report.write("# Columns", "", *machine())
    row = report.table(
        "vmap over the last axis, both under jit",
        "program",
        "kernels",
        "by hand",
        "same",
        "ratio",
        "hand µs",
        wide=44,
    )
    ratios, same, left = list[float](), 0, list[str]()
    for case in [c for c in CASES if options.only in str(c) and c.args and not c.writes]:
        try:
            cells = compared(case, options.seconds)
        except Exception as error:
            left.append(f"{case} ({type(error).__name__}: {' '.join(str(error).split())[:80]})")
            continue
        ratios.append(cells[3])
        if is_same := cells[0] == cells[1] == cells[2]:
            same += 1
        if options.all or (not is_same and cells[3] > GOAL):
            row(str(case), *cells)
    report.write(
        "",
        f"{len(ratios)} programs: {same} have the same kernels as by hand, {sum(r <= GOAL for r in ratios)} take "
        f"at most {GOAL} of its time, median {median(ratios or [float('nan')]):.3f}.",
        "`ratio`: the best time of vmap over the best by hand.",
        f"Left out, {len(left)}: {'; '.join(left)}.",
    )
    if options.markdown is not None:
        options.markdown.write_text("\n".join(report.lines) + "\n")


if __name__ == "__main__":
    main()
