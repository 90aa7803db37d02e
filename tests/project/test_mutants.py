"""Check `make mutants`: its changes, and that every excluded mutant exists and has a reason."""

from __future__ import annotations

import ast

import pytest

from tests.fuzz import mutants, mutations

CHANGES = {
    "return a < b and c": [
        "return None", "return a < b or c", "return c", "return a < b", "return a <= b and c",
    ],
    "f(x, y, flag=True)": ["pass", "f(y, x, flag=True)", "f(x, y)", "f(x, y, flag=False)"],
    "zip(x, 1, strict=True)": ["pass", "zip(x, 2, strict=True)"],
    "if not any(x): pass": ["if any(x):", "if not all(x):"],
    "x.y = a | b": ["pass", "x.y = a", "x.y = b"],
    "for i in range(1): continue": ["for i in range(2):", "pass"],
    "raise E(sorted(x))": ["pass", "raise E(x)"],
    "x: A | B = 3 if y else -z": [f"x: A | B = {e}" for e in ("3 if not y else -z", "4 if y else -z", "3 if y else z")],
    "'a docstring'": [],
}  # fmt: skip


@pytest.mark.parametrize("source", CHANGES)
def test_mutants_of_a_source(source: str) -> None:
    found = mutations.mutants("f.py", source)
    assert [m.now for m in found] == CHANGES[source]
    for m in found:
        assert ast.unparse(ast.parse(source)) != mutations.mutated(m, source)


def test_type_checking_code_is_not_mutated() -> None:
    source = """
from x import y
if TYPE_CHECKING:
    a = 1
A = int | None
T = TypeVar("T", bound=1)
@overload
def f(x: int = 1) -> int: return 1
"""
    assert mutations.mutants("f.py", source) == []


def test_sample_depends_only_on_the_seed() -> None:
    all_of = {name: mutations.mutants(name, f"def f(): return {list(range(n))}") for name, n in (("a", 9), ("b", 299))}
    chosen = mutants.sample(all_of, 20, 1)
    assert chosen == mutants.sample(all_of, 20, 1) != mutants.sample(all_of, 20, 2)
    assert [m.file for m in chosen] == ["a"] + ["b"] * 19


def test_functions_are_called_as_in_the_code() -> None:
    class Outer:
        def method(self) -> list[str]:
            def inner() -> list[str]:
                import sys

                return [mutations.name_of(sys._getframe().f_code.co_qualname) for _ in range(1)]

            return inner()

    name = "test_functions_are_called_as_in_the_code.Outer.method.inner"
    assert Outer().method() == [name]
    assert mutations.name_of("f.<locals>.<lambda>") == mutations.name_of("f.<locals>.<genexpr>") == "f"


def test_excluded_mutants_exist_and_have_a_reason() -> None:
    left_out = mutants.equal()
    files = {key[0] for key in left_out}
    there = {m.key for f, text in mutants.files().items() if f in files for m in mutations.mutants(f, text)}
    assert [key for key in left_out if key not in there] == []
    assert all(left_out.values())
