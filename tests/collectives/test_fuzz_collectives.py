"""Random programs of collectives, by the generator that also runs by hand for longer."""

from __future__ import annotations

import pytest

from tests.fuzz import collectives


@pytest.mark.parametrize("start", [0, 8, 16])
def test_collectives_are_those_of_whole_batches(start: int) -> None:
    assert collectives.main(["--programs", "8", "--seed", "31", "--start", str(start)]) == 0


@pytest.mark.parametrize(("seed", "start"), [(3, 781), (4, 409), (4, 559)])
def test_programs_that_were_wrong(seed: int, start: int) -> None:
    assert collectives.main(["--programs", "1", "--seed", str(seed), "--start", str(start)]) == 0
