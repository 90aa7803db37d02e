"""The fixes for conditions that vary, followed: `vmap` of the fix equals Python's value for each example."""

from pathlib import Path

import pytest
from mypy.nodes import Context, NameExpr
from tinygrad import Tensor

from branded import vmap
from branded.mypy.analysis.source.conditions import GENERAL, call_fix, truth_fix

FIXES = {
    "x if ?x > 1 else -x": "(x > 1).where(x, -x)",
    "x if ?x else 2.0": "(x != 0).where(x, 2.0)",
    "-x if not ?x else x": "x.logical_not().where(-x, x)",
    "x * 2 if ?x > 0 and x < 2 else x": "((x > 0) & (x < 2)).where(x * 2, x)",
    "?0 < x < 2": "(0 < x) & (x < 2)",
    "?x < 1 or x > 2": "(x < 1) | (x > 2)",
    "?x and x * 2": "(x != 0).where(x * 2, x)",
    "?x or 3.0": "(x != 0).where(x, 3.0)",
    "?x > 1 and x": "(x > 1).where(x, 0)",
    "not ?x": "x.logical_not()",
    "not ?x > 1": "(x > 1).logical_not()",
    "not (?x > 1 or x)": "((x > 1) | (x != 0)).logical_not()",
}
CALLS = {
    "?bool(x > 1)": "x > 1",
    "?any([x > 1, x < 0])": "Tensor.stack(x > 1, x < 0).any()",
    "?all([x > 1, x < 3])": "Tensor.stack(x > 1, x < 3).all()",
    "?any(x > i for i in range(3))": "Tensor.stack(*[x > i for i in range(3)]).any()",
    "?x in [1.0, 3.0]": "(x == 1.0) | (x == 3.0)",
    "?x not in (1.0, 3.0)": "((x == 1.0) | (x == 3.0)).logical_not()",
    "?float(x)": "x.float()",
    "?int(x + 0.5)": "(x + 0.5).int()",
}
STATEMENTS = {
    "if ?x > 1: pass": "(x > 1).where(a, b) instead of `if x > 1`",
    "if ?x: pass": "(x != 0).where(a, b) instead of `if x`",
    "if x is not None and ?x > 1: pass": "(x > 1).where(a, b) instead of `if x > 1`",
    "while ?x > 1: x = x / 2": "while_loop(lambda x: x > 1, body, x)",
    "assert ?x > 1": "return x > 1 too, and assert it of the result",
    "y = [v for v in xs if ?v > 1]": "(v > 1).where(a, b) instead of `if v > 1`",
    f"if ?x > {'1 + ' * 40}1: pass": GENERAL,
    "if ?x > 1 and 'é': pass": GENERAL,
}
OPTIONAL = {
    "if ?x: pass": "x is not None",
    "y = not ?x": "x is None",
    "y = ?x or z": "z if x is None else x",
    "y = ?x and x + 1": "None if x is None else x + 1",
}


def _at(path: Path, code: str) -> tuple[str, Context]:
    """Write the code, and return its file and the position of the expression after `?`."""
    path.write_text(text := code.replace("?", ""))
    start = code.index("?")
    ends = [n for n in range(len(text), start, -1) if _is_expression(text[start:n])]
    at: Context = NameExpr("x")
    tests = [n for n in ends if not any(word in text[start:n] for word in (" if ", " and ", " or ", " for "))]
    at.set_line(1, start, 1, (ends if code.startswith(("?any", "?all")) else tests)[0])
    return str(path), at


def _is_expression(text: str) -> bool:
    try:
        compile(text, "", "eval")
    except SyntaxError:
        return False
    return not text.endswith(" ")


@pytest.mark.by_numpy
@pytest.mark.parametrize("code", [*FIXES, *CALLS])
def test_vmap_of_the_fix_is_the_value_of_each_example(code: str, tmp_path: Path) -> None:
    path, at = _at(tmp_path / "app.py", code)
    fix = call_fix(path, at) if code in CALLS else truth_fix(path, at)
    assert fix is not None and fix.partition(" instead of ")[0] == (FIXES | CALLS)[code]
    values = [0.0, 1.0, 1.5, 3.0]
    mapped = vmap(eval(f"lambda x: {fix.partition(' instead of ')[0]}", {"Tensor": Tensor}))(Tensor(values))
    assert mapped.tolist() == [eval(code.replace("?", ""), {"x": v}) for v in values]


@pytest.mark.parametrize("code", STATEMENTS)
def test_a_statement_has_a_fix_with_its_code(code: str, tmp_path: Path) -> None:
    assert truth_fix(*_at(tmp_path / "app.py", code)) == STATEMENTS[code]


@pytest.mark.parametrize("code", OPTIONAL)
def test_a_value_or_none_is_compared_with_none(code: str, tmp_path: Path) -> None:
    assert truth_fix(*_at(tmp_path / "app.py", code), is_optional=True) == OPTIONAL[code]


def test_range_becomes_a_loop(tmp_path: Path) -> None:
    assert call_fix(*_at(tmp_path / "app.py", "?range(2, x)")) == "fori_loop(2, x, body, start)"
    assert call_fix(*_at(tmp_path / "app.py", "?print(x)")) is None
