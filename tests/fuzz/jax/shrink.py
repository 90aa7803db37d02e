"""Shrink a failing program: remove statements one by one, as long as it fails in the same way."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator

from tests.fuzz.jax.form import Function, Let, Program, Type, Var, pruned


def shrunk(program: Program, fails: Callable[[Program], bool], seconds: float = 60) -> Program:
    """Return the smallest failing program found within this time."""
    end = time.monotonic() + seconds
    going = True
    while going and time.monotonic() < end:
        going = False
        for smaller in _smaller(program):
            if time.monotonic() > end:
                break
            if fails(smaller):
                program, going = smaller, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    """Yield programs with one result, or without one of the statements."""
    if len(program.main.outs) > 1:
        for i in range(len(program.main.outs)):
            new = copy.deepcopy(program)
            new.main.outs, new.main.result = [new.main.outs[i]], "$0,"
            pruned(new.main)
            yield new
    n = sum(1 for _ in program.main.lets())
    for i in range(n):
        for how in ("constant", "another"):
            new = copy.deepcopy(program)
            f, let = list(new.main.lets())[i]
            if _replace(new, f, let, how):
                pruned(new.main)
                yield new
    for i in range(n):
        new = copy.deepcopy(program)
        _, let = list(new.main.lets())[i]
        if let.pattern == "$0" and not let.functions and not let.text.startswith("m.full") and let.operands:
            let.text, let.operands = _constant(let.targets[0].type), []
            pruned(new.main)
            yield new


def _constant(t: Type) -> str:
    return f"m.full({t.shape}, {t.dtype!r}, {'True' if t.dtype == 'bool' else 1})"


def _replace(program: Program, f: Function, let: Let, how: str) -> bool:
    """Replace the results of `let` by constants or by other values of the same types."""
    at = f.body.index(let)
    before = [*f.params, *(t for earlier in f.body[:at] for t in earlier.targets)]
    stand_ins: dict[Var, Var] = {}
    new: list[Let] = []
    used = program.main.used()
    for t in let.targets:
        if t not in used:
            continue
        if how == "another":
            same = next((v for v in [*let.operands, *before] if v.type == t.type), None)
            if same is None:
                return False
            stand_ins[t] = same
        else:
            if let.text == _constant(t.type):
                return False
            v = Var(f"{t.name.split('[')[0]}c", t.type)
            new.append(Let([v], "$0", _constant(t.type), []))
            stand_ins[t] = v
    f.body[at : at + 1] = new
    for g in [program.main, *(g for _, other in program.main.lets() for g in other.functions)]:
        g.outs = [stand_ins.get(v, v) for v in g.outs]
        for other in g.body:
            other.operands = [stand_ins.get(v, v) for v in other.operands]
    return True
