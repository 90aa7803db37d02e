"""Test that the programs of `tests/golden` return with branded the results recorded with JAX."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tinygrad import Context

from tests.golden import make, registry, with_branded

PROGRAMS = registry.load()
LOOPS = """
    while_mapped_stops_each_in_its_time while_whose_predicate_becomes_mapped while_with_a_mapped_bound
    vmap_of_jvp_of_while while_in_while_closes_over_both jvp_of_while_in_a_cond
    fori_of_an_array_bound_that_is_not_mapped fori_in_fori fori_in_while vmap_in_fori grad_of_fori
    derivatives_of_a_number_that_a_fori_closes_over fori_in_fori_closes_over_both scan_backwards scan_of_no_steps
    scan_of_one_step scan_of_trees scan_with_mapped_inputs vmap_in_scan scan_of_logistic_maps grad_of_scan
    grad_of_vmap_of_scan jvp_of_the_inputs_of_a_scan_alone grad_inside_a_scan grad_through_a_grad_inside_a_scan
    scan_whose_carry_picks_from_a_mapped_table map_of_grad
"""
NESTING = """
    grad_of_vmap_of_scan_of_cond vmap_of_grad_of_scan_of_cond vmap_of_jvp_of_vmap_of_scan_of_cond
    grad_of_scan_of_vmap_of_grad grad_through_two_vmaps_and_a_switch ppermute_in_a_scan_with_jvp
    vmap_of_map_of_grad_of_fori custom_vmap_under_vmap_of_cond reinforce_with_a_baseline_of_all
"""
COMPILED = {*(f"loops.{x}" for x in LOOPS.split()), *(f"nesting.{x}" for x in NESTING.split())}
"""These programs run as they do for users; numpy executes the other loops."""
GOLDEN: dict[str, Any] = json.loads(make.PATH.read_text())


def test_golden_file_matches_programs() -> None:
    assert GOLDEN.keys() - {"jax"} == PROGRAMS.keys(), "run python -m tests.golden.make, with a Python that has JAX"
    assert len(PROGRAMS) >= 200
    assert PROGRAMS.keys() >= COMPILED
    words = {word for name in COMPILED for word in name.replace(".", "_").split("_")}
    assert {"scan", "fori", "while", "map", "grad", "jvp", "vmap", "nesting", "backwards"} <= words
    for name, p in PROGRAMS.items():
        for _, _, values in GOLDEN[name].values():
            assert not p.finite or not any(isinstance(x, str) for x in values), name


@pytest.mark.parametrize("name", [pytest.param(x, marks=[pytest.mark.compiled] * (x in COMPILED)) for x in PROGRAMS])
def test_golden(name: str) -> None:
    with Context(DEV="PYTHON", NOOPT=1, PARALLEL=0):
        got = with_branded.results(PROGRAMS[name].run(with_branded))
    wanted = GOLDEN[name]
    assert got.keys() == wanted.keys()
    for path, (kind, shape, values) in wanted.items():
        assert (got[path].dtype.kind, list(got[path].shape)) == (kind, shape), path
        numbers = np.array([float(x) for x in values]).reshape(shape)
        np.testing.assert_allclose(got[path], numbers, rtol=2e-4, atol=1e-5, err_msg=path)
