"""The lines of a function, each measured separately, from operands that are in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tinygrad import Tensor
from tinygrad.uop.ops import GroupOp, UOp

from branded.backends.cpu.autotune import config
from branded.backends.cpu.autotune.config import Tune
from branded.compile.kernel_times import Timed, kernels
from branded.errors import source
from branded.errors.source import Where
from branded.graph.uops import tensor, with_strong_dtype
from branded.ir import Expr
from branded.ir.evaluate import evaluation
from branded.ir.terms import Eqn, Program, Var

LARGE = 1 << 28
"""The size in bytes above which a value is not stored between lines: the line that uses it computes it."""
_MOVEMENT = {op.name for op in GroupOp.Movement}


class Line(NamedTuple):
    """A source line and its kernels, with its operands in memory and its results kept."""

    file: str
    number: int
    kernels: list[Timed]

    @property
    def seconds(self) -> float:
        return sum(k.seconds for k in self.kernels if not k.depth)

    @property
    def code(self) -> str:
        return source.line(self.file, self.number)


Key = tuple[str, int] | None


def whole_and_lines(expr: Expr, args: Sequence[Tensor], tune: Tune) -> tuple[list[Timed], list[Line]]:
    """Return the kernels of a program, autotuned as `tune` specifies, and its lines in source order."""
    p = expr.at("batched").program
    env = dict(zip((*p.constvars, *p.invars), (*expr.at("batched").consts, *args), strict=True))
    first = dict(env)
    _run_equations(p, p.eqns, env)
    with config.tuning_block(*tune):
        whole = kernels([env[v].uop for v in dict.fromkeys(p.outs) if isinstance(v, Var) and v not in first])
    keys = [None if w is None else (w.file, w.line) for w in _where(expr)]
    _put_into_memory(p, keys, env)
    by_line: dict[Key, list[Eqn]] = {}
    for key, e in zip(keys, p.eqns, strict=True):
        by_line.setdefault(key, []).append(e)
    lines = [
        Line(*key, _kernels_of(p, eqns, env))
        for key, eqns in by_line.items()
        if key is not None and any(e.op not in _MOVEMENT for e in eqns)
    ]
    return whole, sorted(lines, key=lambda line: (line.file, line.number))


def _where(expr: Expr) -> list[Where | None]:
    """Return the source range of each equation of the batched graph."""
    primitives, batched = expr.links(), expr.at("primitives").links()
    out: list[Where | None] = [None] * len(expr.at("batched").program.eqns)
    for e, below in zip(expr.program.eqns, primitives, strict=True):
        for j in below:
            for k in batched[j]:
                out[k] = out[k] or e.where
    return out


def _run_equations(p: Program, eqns: Sequence[Eqn], env: dict[Var, Tensor]) -> None:
    """Evaluate these equations with the values in `env`, and add their results to it."""
    run = evaluation(p)
    with run.reopen_brands():
        for _ in run.steps(Program(p.constvars, p.invars, list(eqns), []), env):
            pass


def _put_into_memory(p: Program, keys: Sequence[Key], env: dict[Var, Tensor]) -> None:
    """Realize the values that one line passes to another."""
    key_of = {v: key for key, e in zip(keys, p.eqns, strict=True) for v in e.results}
    values = {
        v
        for key, e in zip(keys, p.eqns, strict=True)
        for v in e.operands
        if isinstance(v, Var) and key_of.get(v, key) != key
    }
    numbers = {v: with_strong_dtype(env[v]) for v in values if env[v].uop.device is not None and 0 not in env[v].shape}
    held = {v: t for v, t in numbers.items() if t.uop.max_numel() * t.dtype.itemsize <= LARGE}
    if held:
        Tensor.realize(*held.values())
    for v, t in held.items():  # a value of a weak dtype was stored in a strong one
        env[v] = t.cast(env[v].dtype)


def _kernels_of(p: Program, eqns: Sequence[Eqn], env: Mapping[Var, Tensor]) -> list[Timed]:
    results = {v for e in eqns for v in e.results}
    needed: set[Any] = {a for e in p.eqns if e not in eqns for a in e.operands} | {*p.outs}
    there = {v: tensor(t.uop) for v, t in env.items() if v not in results}
    _run_equations(p, eqns, there)
    outs: list[UOp] = [there[v].uop for v in results if v in needed]
    return kernels([u for u in outs if u.device is not None])  # constants have no separate kernel
