"""Write `docs/conformance.md` from the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from .cases import CASES
from .law import depth_of, plans
from .methods import NOT_PER_EXAMPLE, REFUSED, layers, names
from .table import FAMILIES, Case

PATH = Path(__file__).parents[2] / "docs" / "conformance.md"

INTRODUCTION = """\
# Conformance

The law: for every function `f` and every batch, `vmap(f)(xs)` equals `stack([f(x) for x in xs])`, in values, dtype and
shape.  This page lists every public name and special method of tinygrad's `Tensor`, and every layer of `tinygrad.nn`,
with its status. `python -m tests.conformance` writes the page from the class and from the cases in
`tests/conformance/cases`.

| checked | by the test |
|---|---|
| the law, for each case and each way to map it | `test_vmap_matches_loop` |
| arguments do not change, and a write into a shared argument raises an error | `test_vmap_matches_loop` |
| a case calls the names that it covers | `test_case_calls_its_covered_names` |
| an unsupported name raises the listed error | `test_rejected_use_raises_its_error` |
| a name that is not per example has the same value in a mapped function | `test_fact_holds_inside_vmap` |
| every name of the class is listed | `test_every_name_is_listed` |
| every listed name exists | `test_listed_names_exist` |
| this page is up to date | `test_page_is_up_to_date` |

Each case is mapped in these ways:

- *zip*: all arguments over one brand
- *broadcast*: one argument over a brand, the others shared
- *outer*: the first argument over one brand, the others over a second brand, nested in either order
- *nested*: all arguments over two brands, with the last axis for the outer one
- *depth*: all arguments over 3 to 6 brands, depending on the case
"""


def text() -> str:
    return "\n".join([INTRODUCTION, *_counts(), *_families(), *_refused(), *_not_per_example()]) + "\n"


def write() -> None:
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(text())


def _counts() -> Iterator[str]:
    covered = {name for case in CASES for name in case.covers}
    methods = names()
    tried = Counter(plan.mode for case in CASES for plan in plans(case))
    yield "| | number |"
    yield "|---|---|"
    yield f"| names of `Tensor` | {len(methods)} |"
    yield f"| covered by cases | {len(covered & set(methods))} |"
    yield f"| rejected in some uses, and covered in others | {sum(n in covered for n in REFUSED if n in methods)} |"
    yield f"| always rejected | {sum(n not in covered for n in REFUSED)} |"
    yield f"| not per example | {len(NOT_PER_EXAMPLE)} |"
    yield f"| layers of `tinygrad.nn`, all covered | {len(layers())} |"
    yield f"| cases | {len(CASES)} |"
    yield f"| checks of the law | {sum(tried.values())}: {', '.join(f'{n} {mode}' for mode, n in tried.items())} |"
    yield ""


def _families() -> Iterator[str]:
    home = {name: _home(name) for name in sorted({name for case in CASES for name in case.covers})}
    for family in FAMILIES:
        mine = [case for case in CASES if case.family == family]
        yield f"## {family}"
        yield ""
        yield f"{len(mine)} cases, {sum(len(plans(case)) for case in mine)} checks."
        yield ""
        yield from _table(("method", "cases", "status"), (_row(name) for name, at in home.items() if at == family))


def _home(name: str) -> str:
    """Return the family with the most cases for a name, preferring any other family to Dtypes."""
    times = Counter(case.family for case in CASES if name in case.covers)
    return max(FAMILIES, key=lambda family: (times[family] > 0, family != "Dtypes", times[family]))


def _row(name: str) -> tuple[str, str, str]:
    cases = [case for case in CASES if name in case.covers]
    status = ", ".join(_ways(cases))
    if (refusal := REFUSED.get(name)) is not None:
        status += f"; rejected {refusal.when}: {refusal.why} (`{refusal.error.__name__}`)"
    return f"`{name}`", str(len(cases)), status


def _ways(cases: list[Case]) -> Iterator[str]:
    tried = {plan.mode for case in cases for plan in plans(case)}
    yield from (mode for mode in ("zip", "broadcast", "outer", "nested") if mode in tried)
    depths = sorted({depth_of(case) for case in cases if any(plan.mode == "deep" for plan in plans(case))})
    if depths:
        yield f"depth {' '.join(map(str, depths))}"


def _refused() -> Iterator[str]:
    covered = {name for case in CASES for name in case.covers}
    yield "## Always rejected"
    yield ""
    rows = ((f"`{n}`", r.why, f"`{r.error.__name__}`") for n, r in sorted(REFUSED.items()) if n not in covered)
    yield from _table(("method", "reason", "error"), rows)


def _not_per_example() -> Iterator[str]:
    yield "## Not per example"
    yield ""
    rows = ((f"`{name}`", fact.why) for name, fact in sorted(NOT_PER_EXAMPLE.items()))
    yield from _table(("name", "reason"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    if rows := list(rows):
        for row in (head, ("---",) * len(head), *rows):
            yield f"| {' | '.join(row)} |"
        yield ""
