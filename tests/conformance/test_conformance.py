"""vmap equals stacking the loop, for every case of the table."""

import pytest

from .cases import CASES
from .law import check, check_kernels
from .table import Case

pytestmark = pytest.mark.enabled("cpu")

FIRST = {name: case for case in reversed(CASES) for name in case.covers}
COMPILED = sorted({str(case): case for name, case in FIRST.items() if name != "keccak"}.values(), key=str)
"""One case per name, whose kernels are compared with numpy's evaluation of the graph. `keccak` is left out: it is
hundreds of shifts and exclusive ors, and other cases cover these.
"""


REALIZES = "Writing: realize"
"""The values of this case are realized, so the graph of one example says nothing about the others."""


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=[pytest.mark.compiled] * (str(c) == REALIZES)) for c in CASES], ids=str
)
def test_vmap_matches_loop(case: Case) -> None:
    wrong = check(case)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", COMPILED, ids=str)
def test_kernels_match_numpy(case: Case) -> None:
    wrong = check_kernels(case)
    assert not wrong, "\n".join(wrong)
