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
shape.  This page lists every public name of tinygrad's `Tensor` and every special method that it or its mixins define,
and every layer of `tinygrad.nn`, with what is known about each.  It is made by `python -m tests.conformance`, from the
class and from the table of cases in `tests/conformance/cases`.

| what is proved | by |
|---|---|
| the law, for each case and each way to map it | `test_vmap_matches_loop` |
| arguments are left as they were, and a write into a shared one raises an error | `test_vmap_matches_loop` |
| a case calls the names that it is counted for | `test_case_calls_its_covered_names` |
| a name that is not supported raises the error that is named here | `test_rejected_use_raises_its_error` |
| what is not per example is the same inside a mapped function as outside | `test_fact_holds_inside_vmap` |
| no name of the class is missing here | `test_every_name_is_listed` |
| no name is here that the class has not | `test_listed_names_exist` |
| this page is what the table says | `test_page_is_up_to_date` |

The ways to map a case: *zip*, all arguments over one brand; *broadcast*, each argument alone with the others shared;
*outer*, the first argument over one brand and the others over a second one, inside or outside of it; *nested*, all over
two brands, the outer one the last axis of arguments and results; and one depth from *3 to 6*, another for each case.
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
    yield f"| refused in some use, and covered in others | {sum(n in covered for n in REFUSED if n in methods)} |"
    yield f"| always refused | {sum(n not in covered for n in REFUSED)} |"
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
        status += f"; refused {refusal.when}: {refusal.why} (`{refusal.error.__name__}`)"
    return f"`{name}`", str(len(cases)), status


def _ways(cases: list[Case]) -> Iterator[str]:
    tried = {plan.mode for case in cases for plan in plans(case)}
    yield from (mode for mode in ("zip", "broadcast", "outer", "nested") if mode in tried)
    depths = sorted({depth_of(case) for case in cases if any(plan.mode == "deep" for plan in plans(case))})
    if depths:
        yield f"depth {' '.join(map(str, depths))}"


def _refused() -> Iterator[str]:
    covered = {name for case in CASES for name in case.covers}
    yield "## Always refused"
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
