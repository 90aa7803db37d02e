"""vmap equals stacking the loop, for every case of the table."""

import pytest

from .cases import CASES
from .law import check
from .table import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_vmap_equals_the_loop(case: Case) -> None:
    wrong = check(case)
    assert not wrong, "\n".join(wrong)
