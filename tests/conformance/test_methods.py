"""The table over the whole class: every name of `Tensor` is a case, a refusal, or not a matter of examples."""

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
    """What `f` gives for a per-example value, out of the mapped function by a side door."""
    found = []
    vmap(lambda x: found.append(f(x)) or x)(Tensor(BATCH))
    return found[0]


def test_every_name_is_in_a_list() -> None:
    known = COVERED | REFUSED.keys() | NOT_PER_EXAMPLE.keys()
    assert sorted({*names(), *layers()} - known) == []


def test_no_list_has_a_name_that_the_class_has_not() -> None:
    existing = {*names(), *layers(), "function"}
    assert sorted((COVERED | REFUSED.keys() | NOT_PER_EXAMPLE.keys()) - existing) == []


def test_a_name_that_is_not_per_example_is_in_no_other_list() -> None:
    assert sorted(NOT_PER_EXAMPLE.keys() & (COVERED | REFUSED.keys())) == []


def test_a_name_is_refused_always_unless_a_case_covers_it() -> None:
    for name, refusal in REFUSED.items():
        assert (refusal.when == "always") == (name not in COVERED), name


def test_cases_have_different_names_and_known_families() -> None:
    assert len({str(case) for case in CASES}) == len(CASES)
    assert {case.family for case in CASES} == set(FAMILIES)


@pytest.mark.enabled("cpu")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_case_calls_what_it_covers(family: str) -> None:
    cases: list[Case] = [case for case in CASES if case.family == family]
    wrong = {str(case): missing for case in cases if (missing := set(case.covers) - called(case))}
    assert not wrong


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    refusal, shared = REFUSED[name], (SHARED, SHARED_INTS)
    before = [t.uop for t in shared]
    with pytest.raises(BrandedError) as caught:
        vmap(refusal.call)(Tensor(BATCH))
    assert type(caught.value) is refusal.error
    assert all(t.uop is u for t, u in zip(shared, before, strict=True))


@pytest.mark.parametrize("name", PROBES)
def test_a_fact_is_the_same_inside(name: str) -> None:
    assert inside(PROBES[name]) == PROBES[name](Tensor(BATCH[0]))


def test_the_page_is_up_to_date() -> None:
    assert page.PATH.read_text() == page.text(), "run python -m tests.conformance"
