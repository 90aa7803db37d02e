"""vmap equals stacking the loop, for every case of the table."""

import pytest

from .cases import CASES
from .law import check, check_kernels
from .table import Case

pytestmark = pytest.mark.enabled("cpu")

FIRST = {name: case for case in reversed(CASES) for name in case.covers}
COMPILED = sorted({str(case): case for name, case in FIRST.items() if name != "keccak"}.values(), key=str)
"""A case for each name: what numpy says of a graph is what its kernels compute.  Of `keccak`, which is hundreds of
shifts and exclusive ors, those of the others say it."""


REALIZES = "Writing: realize"
"""The graph of one example does not say what the others give: its values are in memory."""


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=[pytest.mark.compiled] * (str(c) == REALIZES)) for c in CASES], ids=str
)
def test_vmap_equals_the_loop(case: Case) -> None:
    wrong = check(case)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", COMPILED, ids=str)
def test_kernels_compute_what_the_graph_says(case: Case) -> None:
    wrong = check_kernels(case)
    assert not wrong, "\n".join(wrong)
