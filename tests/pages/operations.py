"""Write the page `docs/reference/operations.md` from the table of rules: `python -m tests.pages.operations`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from tinygrad.uop.ops import Ops

from branded import dispatch
from branded.autodiff import forward
from branded.core.batching import elementwise, function, index, kernel, movement, reduce, store
from branded.dispatch import LEAVES, TABLE, Resolution, Rule, resolve
from tests.conformance.cases import CASES
from tests.conformance.law import Plan, plans
from tests.conformance.methods import REFUSED
from tests.conformance.table import Case

PATH = Path(__file__).parents[2] / "docs" / "reference" / "operations.md"
FAMILIES = {
    "Elementwise": elementwise, "Movement": movement, "Reductions": reduce, "Entering, leaving, stacking": index,
    "Writing": store, "Functions": function,
}  # fmt: skip
MANY = {
    elementwise.broadcastable, elementwise.mstack, index.stack, store.store, store.after, function.function,
    function.tuple_,
}  # fmt: skip
"""The rules with several operands that hold data; the other operands of rules are sizes, offsets or brands."""
REFUSES = {kernel.call, kernel.inside_kernels, movement.data_dependent}
"""The rules that only raise."""

INTRODUCTION = """\
# Supported operations

Every method of tinygrad's `Tensor` is made of a few primitives, and `vmap` needs a rule for each primitive, not for
each method. This page lists the rules. `python -m tests.pages.operations` writes it from the table in
[`branded/dispatch.py`](../../branded/dispatch.py), and a test compares the two. [Conformance](../conformance.md) lists
the methods.

## How a rule is chosen

For each brand, `resolve` finds out which operands vary over it.

```python
>>> from branded import brand
>>> from branded.dispatch import resolve
>>> from tinygrad.uop.ops import Ops
>>> with brand("users", 3) as users, brand("items", 2) as items:
...     print(resolve(Ops.MUL, [(users,), (users, items)]))
mul
  users:3: zip, all operands vary over it
  items:2: broadcast, only operand 2 varies over it

```

A primitive with one operand runs per example. A primitive with several operands zips or broadcasts, for each brand.
*Forward mode* is the rule of `jvp`. A dash means that there is no rule, because the operation is on integers, or no
method of `Tensor` uses it. Reverse mode uses tinygrad's own rules. *Used by* names a few methods whose graphs contain
the primitive, as found by the conformance tests.
"""
NOTHING = """\
## Nothing to do

These have no operands that could vary over a brand: {}. A `RANGE` may be a brand itself.
"""
REFUSED_METHODS = """\
## Rejected methods

Some methods always raise an error, some only in one use. Each row is one reason.
"""
SIMPLIFIES = """\
## Simplifications

A rule may still reject a single use, such as a `bitcast` of a 0-d value to another item size, or a write through an
unsupported view. A loop is a `FUNCTION` with its own rules ([Control flow](../control.md)), and so is a function with
[custom rules](../rules.md).
"""


def text() -> str:
    seen = methods_of_primitives()
    parts = [INTRODUCTION, *(line for title in FAMILIES for line in _family(title, seen)), *_refused_primitives()]
    leaves = NOTHING.format(", ".join(f"`{op.name}`" for op in _sorted(LEAVES)))
    return "\n".join([*parts, leaves, REFUSED_METHODS, *_refused_methods(), SIMPLIFIES])


def write() -> None:
    PATH.write_text(text())


# ---- the entries of the table ----


def rules_of(op: Ops) -> list[Rule]:
    return [f for _, f in TABLE.get(op, ())]


def _sorted(ops: Iterable[Ops]) -> list[Ops]:
    return sorted(ops, key=lambda op: op.name)


def _law(f: Any) -> str:
    """Return the first line of a docstring; in a law, the left side is formatted as code."""
    line = (f.__doc__ or "").split("\n")[0].rstrip(".")
    left, equals, right = line.partition(" = ")
    return f"`{left}`{equals}{right}" if equals else line


def _tangent(op: Ops) -> str:
    if op in forward._FLAT:
        return "zero"
    f = forward._table.get(op)
    if op in {Ops.FUNCTION, Ops.GETTUPLE}:
        return "the body's"
    return "-" if f is None else "linear" if f is forward.linear else "yes"


def _family(title: str, seen: dict[Ops, list[str]]) -> Iterator[str]:
    of: dict[Rule, list[Ops]] = defaultdict(list)
    for op in _sorted({*TABLE} - LEAVES):
        for f in rules_of(op):
            if f.__module__ == FAMILIES[title].__name__ and f not in REFUSES:
                of[f].append(op)
    yield f"## {title}\n"
    for f, ops in sorted(of.items(), key=lambda item: item[0].__code__.co_firstlineno):
        yield f"{_law(f)}.\n"
        ways = "zip, broadcast" if f in MANY else "zip"
        rows = ((f"`{op.name}`", ways, _tangent(op), _names(op, seen.get(op, []))) for op in ops)
        yield from _table(("primitive", "ways", "forward mode", "used by"), rows)


def _names(op: Ops, names: list[str]) -> str:
    if op in {Ops.INDEX, Ops.STAGE}:
        return "every `vmap`"
    return ", ".join(f"`{name}`" for name in names[:5]) or "no method of the cases"


def _refused_primitives() -> Iterator[str]:
    yield "## Rejected primitives\n"
    of: dict[Rule, list[Ops]] = defaultdict(list)
    for op in _sorted({*TABLE, *LEAVES}):
        for f in rules_of(op):
            if f in REFUSES:
                of[f].append(op)
    for f, ops in of.items():
        yield f"- {', '.join(f'`{op.name}`' for op in ops)}. {_law(f)}."
    yield ""


def _refused_methods() -> Iterator[str]:
    of: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, r in sorted(REFUSED.items()):
        of[r.why, r.when, r.error.__name__].append(f"`{name}`")
    rows = ((why, when, f"`{error}`", ", ".join(names)) for (why, when, error), names in sorted(of.items()))
    yield from _table(("reason", "when", "error", "methods"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for row in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(row)} |"
    yield ""


# ---- the primitives of each method ----


def methods_of_primitives() -> dict[Ops, list[str]]:
    """Return the methods whose graphs contain each primitive, methods with small graphs first."""
    found: dict[Ops, dict[str, int]] = defaultdict(dict)
    for case in CASES:
        for plan in plans(case):
            if plan.mode == "zip":  # the other modes use the same primitives
                met = primitives_of(case, plan)
                for op in met:
                    for name in case.covers:
                        found[op][name] = min(len(met), found[op].get(name, len(met)))
    return {op: sorted(of, key=lambda name: (of[name], name.startswith("_"), name)) for op, of in found.items()}


def primitives_of(case: Case, plan: Plan) -> set[Ops]:
    """Return the primitives that are dispatched when a case is mapped."""
    met: set[Ops] = set()

    def watched(op: Ops, *args: Any) -> Resolution:
        met.add(op)
        return resolve(op, *args)

    rng = np.random.default_rng(0)
    batches = []
    for arg, row in zip(case.args, plan.rows, strict=True):
        sizes = [plan.sizes[b] for b in row]
        x = arg.sample(rng, int(np.prod(sizes)))
        x = x.reshape(*sizes, *x.shape[1:])
        batches.append(arg.tensor(np.moveaxis(x, 1, -1) if plan.ends else x))
    with patch.object(dispatch, "resolve", watched):
        plan.mapped(case.f)(*batches)
    return met


if __name__ == "__main__":
    write()
    print(f"wrote {PATH}")
