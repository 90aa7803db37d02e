"""Run the programs of bench/axesbugs: correct versions run, and mypy finds the mistakes that its table lists."""

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
MISSED = {
    "softmax_over_the_other_axis": "both axes stay what they are",
    "joined_along_the_other_axis": "what is joined has no name, and goes for any",
}
"""The mistakes that named axes do not reveal."""


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    cache = tmp_path_factory.mktemp("cache")
    warm(cache, MYPY, STRICT)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MYPY_CACHE_DIR", str(cache))
        return axesbugs.typed(NAMES, OURS)


def test_mypy_finds_mistakes_of_named_axes(typed: dict[str, str]) -> None:
    assert len(NAMES) >= 20 and list(axesbugs.sections("jax")) == NAMES
    assert {n: said for n, said in typed.items() if said != "found"} == dict.fromkeys(MISSED, "missed")


def test_table_is_current(typed: dict[str, str]) -> None:
    text = (axesbugs.HERE / "RESULTS.md").read_text().partition("| mistake |")[2]
    rows = dict(re.findall(r"^\| ([^|]+) \| (found|missed) \|", text, re.MULTILINE))
    assert rows == {n.replace("_", " "): said for n, said in typed.items()}, "python -m bench.axesbugs --markdown ..."


@pytest.fixture(scope="module")
def arrays() -> tuple[str, dict[str, Any]]:
    """Return the shared head of the programs and its names, with its tensors realized once."""
    head, names = (axesbugs.HERE / "ours.py").read_text().partition("\n# --- ")[0], {"__name__": "program"}
    exec(compile(head, "ours.py", "exec", dont_inherit=True), names)
    with Context(NOOPT=1):
        Tensor.realize(*(x for x in names.values() if isinstance(x, Tensor)))
    return head, names


@pytest.mark.by_numpy
@pytest.mark.parametrize("name", NAMES)
def test_correct_version_runs(name: str, arrays: tuple[str, dict[str, Any]]) -> None:
    head, names = arrays
    right, _ = axesbugs.versions(OURS[name])
    assert right.startswith(head)
    program = ast.parse(right.removeprefix(head))
    last, names = ast.Expression(program.body.pop().value), dict(names)  # type: ignore[attr-defined]
    with Context(NOOPT=1):
        exec(compile(program, name, "exec", dont_inherit=True), names)
        result = eval(compile(last, name, "eval", dont_inherit=True), names)
        getattr(result, "numpy", lambda: None)()  # tinygrad checks some shapes only when a result is read


def test_mistakes_found_at_run_time() -> None:
    """Incompatible lengths stop one program; the other one returns a result, so its mistake is missed."""
    two = ["inner_axes_that_differ", "softmax_over_the_other_axis"]
    assert axesbugs.run(sys.executable, two, OURS, "lengths differ") == dict(zip(two, ["found", "missed"], strict=True))
