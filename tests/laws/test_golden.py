"""What JAX gives: the programs of `tests/golden` with branded, against what JAX said that they give."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
import pytest
from tinygrad import Context

from tests.golden import make, registry, with_branded

PROGRAMS = registry.load()
RUN = ("loops.", "nesting.")
"""How loops run is a part of what these are about; the loops of the others are in functions of ours, with tests."""
COMPILED = [name for name in PROGRAMS if name.startswith(RUN) and zlib.crc32(name.encode()) % 4 == 0]
"""One in four of them runs as it does for users; numpy takes the steps of the others."""
GOLDEN: dict[str, Any] = json.loads(make.PATH.read_text())


def test_the_golden_numbers_are_those_of_the_programs() -> None:
    assert GOLDEN.keys() - {"jax"} == PROGRAMS.keys(), "run python -m tests.golden.make, with a Python that has JAX"
    assert len(PROGRAMS) >= 200
    words = {word for name in COMPILED for word in name.replace(".", "_").split("_")}
    assert {"scan", "fori", "while", "map", "grad", "jvp", "vmap", "nesting", "backwards"} <= words
    for name, p in PROGRAMS.items():
        for _, _, values in GOLDEN[name].values():
            assert not p.finite or not any(isinstance(x, str) for x in values), name


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden(name: str) -> None:
    with Context(DEV="PYTHON", NOOPT=1, PARALLEL=0):
        got = with_branded.results(PROGRAMS[name].run(with_branded), name in COMPILED)
    wanted = GOLDEN[name]
    assert got.keys() == wanted.keys()
    for path, (kind, shape, values) in wanted.items():
        assert (got[path].dtype.kind, list(got[path].shape)) == (kind, shape), path
        numbers = np.array([float(x) for x in values]).reshape(shape)
        np.testing.assert_allclose(got[path], numbers, rtol=2e-4, atol=1e-5, err_msg=path)
