"""The programs of bench/axesbugs: the right versions run, and mypy finds what the table says."""

from __future__ import annotations

import ast
import re
import sys
from typing import Any

import pytest
from tinygrad import Context, Tensor

from bench.axesbugs import __main__ as axesbugs
from tests.support.warm import MYPY, STRICT, warm

OURS = axesbugs.sections("ours")
NAMES = list(OURS)
UNSEEN = {
    "softmax_over_the_other_axis": "both axes stay what they are",
    "joined_along_the_other_axis": "what is joined has no name, and goes for any",
}
"""The mistakes that names of axes do not show."""


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    cache = tmp_path_factory.mktemp("cache")
    warm(cache, MYPY, STRICT)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MYPY_CACHE_DIR", str(cache))
        return axesbugs.typed(NAMES, OURS)


def test_mypy_finds_every_mistake_that_names_show(typed: dict[str, str]) -> None:
    assert len(NAMES) >= 20 and list(axesbugs.sections("jax")) == NAMES
    assert {n: said for n, said in typed.items() if said != "found"} == dict.fromkeys(UNSEEN, "missed")


def test_the_table_is_of_these_programs(typed: dict[str, str]) -> None:
    text = (axesbugs.HERE / "RESULTS.md").read_text().partition("| mistake |")[2]
    rows = dict(re.findall(r"^\| ([^|]+) \| (found|missed) \|", text, re.MULTILINE))
    assert rows == {n.replace("_", " "): said for n, said in typed.items()}, "python -m bench.axesbugs --markdown ..."


@pytest.fixture(scope="module")
def arrays() -> tuple[str, dict[str, Any]]:
    """The head of each program, and its names, drawn once."""
    head, names = (axesbugs.HERE / "ours.py").read_text().partition("\n# --- ")[0], {"__name__": "program"}
    exec(compile(head, "ours.py", "exec", dont_inherit=True), names)
    with Context(NOOPT=1):
        Tensor.realize(*(x for x in names.values() if isinstance(x, Tensor)))
    return head, names


@pytest.mark.by_numpy
@pytest.mark.parametrize("name", NAMES)
def test_the_right_version_runs(name: str, arrays: tuple[str, dict[str, Any]]) -> None:
    head, names = arrays
    right, _ = axesbugs.versions(OURS[name])
    assert right.startswith(head)
    program = ast.parse(right.removeprefix(head))
    last, names = ast.Expression(program.body.pop().value), dict(names)  # type: ignore[attr-defined]
    with Context(NOOPT=1):
        exec(compile(program, name, "exec", dont_inherit=True), names)
        result = eval(compile(last, name, "eval", dont_inherit=True), names)
        getattr(result, "numpy", lambda: None)()  # tinygrad looks at shapes when a result is read


def test_a_program_stops_or_gives_a_result() -> None:
    """As the table has it: where lengths differ, the one mistake stops the program, and the other does not."""
    two = ["inner_axes_that_differ", "softmax_over_the_other_axis"]
    assert axesbugs.run(sys.executable, two, OURS, "lengths differ") == dict(zip(two, ["found", "missed"], strict=True))
