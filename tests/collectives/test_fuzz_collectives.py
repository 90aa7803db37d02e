"""Random programs of collectives, made by the generator of `tests.fuzz.collectives`."""

from __future__ import annotations

import pytest

from tests.fuzz import collectives


@pytest.mark.parametrize("start", [0, 8, 16])
def test_random_collectives_match_whole_batches(start: int) -> None:
    assert collectives.main(["--programs", "8", "--seed", "31", "--start", str(start)]) == 0


@pytest.mark.parametrize(("seed", "start"), [(3, 781), (4, 409), (4, 559)])
def test_past_failures(seed: int, start: int) -> None:
    assert collectives.main(["--programs", "1", "--seed", str(seed), "--start", str(start)]) == 0
