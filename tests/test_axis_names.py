"""`as_axes` and `axes` at run time, their messages, and the page that shows what mypy says of axes."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from branded import Axes, Brand, BrandedError, Vec, as_axes, axes, axis_names, brand, errors, vmap
from branded.mypy.axes_advice import advice
from branded.mypy.check import check
from tests.warm import MYPY, STRICT, warm

PAGE = Path(__file__).parent.parent / "docs" / "axes.md"
SHOWN = re.compile(r"^```py\n(.*?)^```\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Users(Brand): ...


class Features(Brand): ...


class Others(Brand): ...


def test_axes_is_a_tensor_at_run_time() -> None:
    assert Axes[Users, Features] is Axes[()] is Tensor
    assert Vec[Users, Axes[Features]] == Vec[Users, Tensor]
    assert isinstance(Tensor([1.0]), Axes) and not isinstance(1.0, Axes)
    with pytest.raises(TypeError, match="Axes is a type for annotations"):
        Axes()


def test_as_axes_is_the_identity_and_axes_remembers() -> None:
    x = Tensor.ones(4, 3)
    assert as_axes(x, Users, Features) is x and axes(x) == (Users, Features)
    assert as_axes(x, Users, 3) is x and axes(x) == (Users, 3)
    assert axes(as_axes(x, None, Features)) == (4, Features)
    assert axes(x + 1) == (4, 3) and axes(as_axes(Tensor(1.0))) == ()


def test_nothing_is_kept_of_tensors_that_are_gone() -> None:
    gc.collect()
    before = len(axis_names._given)
    tensors = [as_axes(Tensor.ones(2), Users) for _ in range(5)]
    assert len(axis_names._given) == before + 5
    del tensors
    gc.collect()
    assert len(axis_names._given) == before


def test_the_axes_of_an_example() -> None:
    seen: list[tuple[Any, ...]] = []

    def norm(x: Tensor) -> Tensor:
        seen.append((axes(x), axes(as_axes(x, Features))))
        return (x * x).sum()

    assert vmap(norm)(Tensor([[3.0, 4.0], [1.0, 2.0]])).tolist() == [25.0, 5.0]
    assert seen == [((2,), (Features,))]
    with brand(Users, 4):
        assert axes(as_axes(Tensor.ones(4), Users)) == (Users,)


WRONG: dict[str, tuple[Callable[[], Any], type[BrandedError], str]] = {
    "too few names": (
        lambda: as_axes(Tensor.ones(4, 3), Users),
        errors.AxesError,
        "as_axes: 1 name for a tensor with 2 axes\n"
        "  value: f32[4, 3]\n"
        "  axes:  Users\n"
        "  try:   one name for each axis; None for an axis without one",
    ),
    "another length": (
        lambda: as_axes(Tensor.ones(4, 3), Users, 2),
        errors.SizeError,
        "as_axes: axis 1 has 3 entries, and `2` has 2\n  value: f32[4, 3]\n  axes:  Users, 2",
    ),
    "one name of two lengths": (
        lambda: as_axes(Tensor.ones(4, 3), Users, Users),
        errors.SizeError,
        "as_axes: axis 1 has 3 entries, and `Users` has 4 on an axis before it\n"
        "  value: f32[4, 3]\n"
        "  axes:  Users, Users",
    ),
    "a brand that is open": (
        lambda: _within_users(lambda: as_axes(Tensor.ones(4), Users)),
        errors.SizeError,
        "as_axes: axis 0 has 4 entries, and `Users` has 3 examples here\n  value: f32[4]\n  axes:  Users",
    ),
    "a string": (
        lambda: as_axes(Tensor.ones(4), "users"),  # type: ignore[call-overload]
        errors.AxisTypeError,
        "as_axes: 'users' is no axis\n  try: a subclass of Brand, a length, or None for any axis",
    ),
    "Brand itself": (
        lambda: as_axes(Tensor.ones(4), Brand),
        errors.AxisTypeError,
        "as_axes: Brand is no axis\n  try: a subclass of Brand, a length, or None for any axis",
    ),
    "an array": (
        lambda: as_axes(np.ones(3), Users),  # type: ignore[call-overload]
        errors.AxisTypeError,
        "as_axes: takes a tensor, not numpy float64[3]\n  try: Tensor(x)",
    ),
    "the axes of a list": (
        lambda: axes([1.0]),  # type: ignore[arg-type]
        errors.AxisTypeError,
        "axes: takes a tensor, not a list\n  try: Tensor(x)",
    ),
}


def test_sizes_that_disagree_are_told_with_their_axes() -> None:
    x, y = as_axes(Tensor.ones(3, 4), Users, Features), as_axes(Tensor.ones(5, 4), Others, Features)
    with pytest.raises(errors.SizeError) as info:
        vmap(lambda x, y: x + y)(x, y)
    _, left, right, _ = str(info.value).splitlines()
    assert left.startswith("  left:  f32[3, 4] as Axes[Users, Features], axis 0 ")
    assert right.startswith("  right: f32[5, 4] as Axes[Others, Features], axis 0 ")


def _within_users(f: Callable[[], Any]) -> Any:
    with brand(Users, 3):
        return f()


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_gets_one_message(name: str) -> None:
    mistake, cls, text = WRONG[name]
    with pytest.raises(cls) as info:
        mistake()
    assert str(info.value) == text


def test_branded_check_says_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [(program, shown)] = SHOWN.findall(PAGE.read_text())
    (tmp_path / "app.py").write_text(program)
    (tmp_path / "mypy.ini").write_text(STRICT)
    warm(tmp_path / ".mypy_cache", MYPY, STRICT)
    monkeypatch.chdir(tmp_path)
    said, status = check(["app.py"])
    assert status == 1
    assert said.rpartition("\n\n")[0] + "\n" == shown


@pytest.mark.parametrize(
    ("got", "wanted", "says"),
    [
        ("Axes[A, B, C]", "Axes[C, A, B]", ["the axes are in another order", "try:   permute(2, 0, 1), or the names"]),
        ("Axes[A, A, B]", "Axes[A, B, A]", ["the axes are in another order"]),
        ("Vec[x, Axes[A]]", "Axes[A, B]", ["1 axis in place of 2 axes"]),
        ("Axes[()]", "Vec[x, Axes[A]]", ["no axes in place of 1 axis"]),
        ("Axes[A, Literal[3]]", "Axes[A, Literal[4]]", ["axis 1 is `Literal[3]`, and not `Literal[4]`"]),
        ("Tensor", "Axes[A]", []),
    ],
)
def test_advice(got: str, wanted: str, says: list[str]) -> None:
    lines = advice(f'Argument 1 has incompatible type "{got}"; expected "{wanted}"')
    assert len(lines) == len(says) and all(s in line for s, line in zip(says, lines, strict=True))
