"""Every name of `Tensor` has a case or an error, or is not per example."""

from collections.abc import Callable
from typing import Any

import pytest
from tinygrad import Tensor

from branded import BrandedError, vmap

from . import page
from .called import called
from .cases import CASES
from .methods import NOT_PER_EXAMPLE, REFUSED, SHARED, SHARED_INTS, layers, names
from .table import FAMILIES, Case

COVERED = {name for case in CASES for name in case.covers}
PROBES = {name: fact.probe for name, fact in NOT_PER_EXAMPLE.items() if fact.probe}
BATCH = ((1.0, 2.0, 3.0, 4.0), (4.0, 3.0, 2.0, 1.0), (0.5, 0.1, 0.2, 0.3))


def inside(f: Callable[[Tensor], Any]) -> Any:
    """Return `f` of a per-example value, smuggled out of the mapped function."""
    found = []
    vmap(lambda x: found.append(f(x)) or x)(Tensor(BATCH))
    return found[0]


def test_every_name_is_listed() -> None:
    known = COVERED | REFUSED.keys() | NOT_PER_EXAMPLE.keys()
    assert sorted({*names(), *layers()} - known) == []


def test_listed_names_exist() -> None:
    existing = {*names(), *layers(), "function"}
    assert sorted((COVERED | REFUSED.keys() | NOT_PER_EXAMPLE.keys()) - existing) == []


def test_facts_have_no_case_and_no_error() -> None:
    assert sorted(NOT_PER_EXAMPLE.keys() & (COVERED | REFUSED.keys())) == []


def test_covered_names_are_rejected_in_some_uses() -> None:
    for name, refusal in REFUSED.items():
        assert (refusal.when == "always") == (name not in COVERED), name


def test_cases_have_unique_names() -> None:
    assert len({str(case) for case in CASES}) == len(CASES)
    assert {case.family for case in CASES} == set(FAMILIES)


@pytest.mark.enabled("cpu")
@pytest.mark.parametrize("family", FAMILIES)
def test_case_calls_its_covered_names(family: str) -> None:
    cases: list[Case] = [case for case in CASES if case.family == family]
    wrong = {str(case): missing for case in cases if (missing := set(case.covers) - called(case))}
    assert not wrong


@pytest.mark.parametrize("name", REFUSED)
def test_rejected_use_raises_its_error(name: str) -> None:
    refusal, shared = REFUSED[name], (SHARED, SHARED_INTS)
    before = [t.uop for t in shared]
    with pytest.raises(BrandedError) as caught:
        vmap(refusal.call)(Tensor(BATCH))
    assert type(caught.value) is refusal.error
    assert all(t.uop is u for t, u in zip(shared, before, strict=True))


@pytest.mark.parametrize("name", PROBES)
def test_fact_holds_inside_vmap(name: str) -> None:
    assert inside(PROBES[name]) == PROBES[name](Tensor(BATCH[0]))


def test_page_is_up_to_date() -> None:
    assert page.PATH.read_text() == page.text(), "run python -m tests.conformance"
