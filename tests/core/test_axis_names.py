"""`as_axes` and `axes`: their values, error messages, and the page of mypy's messages about axes."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from branded import Axes, Brand, BrandedError, Vec, as_axes, axes, brand, cond, errors, grad, linalg, scan, vmap
from branded.graph import known_axes
from branded.graph.uops import tensor
from branded.mypy.axes.hints import advice

pytestmark = pytest.mark.by_numpy


class Users(Brand): ...


class Features(Brand): ...


class Others(Brand): ...


def test_axes_is_a_tensor_at_run_time() -> None:
    assert Axes[Users, Features] is Axes[()] is Tensor
    assert Vec[Users, Axes[Features]] == Vec[Users, Tensor]
    assert isinstance(Tensor([1.0]), Axes) and not isinstance(1.0, Axes)
    with pytest.raises(TypeError, match="Axes is a type for annotations"):
        Axes()


def test_as_axes_returns_its_tensor() -> None:
    x = Tensor.ones(4, 3)
    assert as_axes(x, Users, Features) is x and axes(x) == (Users, Features)
    assert as_axes(x, Users, 3) is x and axes(x) == (Users, 3)
    assert axes(as_axes(x, None, Features)) == (4, Features)
    assert axes(x + 1) == (4, Features) and axes(as_axes(Tensor(1.0))) == ()


def test_axes_of_deleted_tensors_are_forgotten() -> None:
    gc.collect()
    before = len(known_axes.axes_by_id)
    tensors = [as_axes(Tensor.ones(2), Users) for _ in range(5)]
    assert len(known_axes.axes_by_id) == before + 5
    del tensors
    gc.collect()
    assert len(known_axes.axes_by_id) == before


def test_axes_inside_vmap() -> None:
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
        "  try:   give one name per axis, and None for an unnamed axis",
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
        "as_axes: 'users' is not an axis\n  try: use a subclass of Brand, a length, or None for any axis",
    ),
    "Brand itself": (
        lambda: as_axes(Tensor.ones(4), Brand),
        errors.AxisTypeError,
        "as_axes: Brand is not an axis\n  try: use a subclass of Brand, a length, or None for any axis",
    ),
    "an array": (
        lambda: as_axes(np.ones(3), Users),  # type: ignore[call-overload]
        errors.AxisTypeError,
        "as_axes: the argument is numpy float64[3], not a tensor\n  try: Tensor(x)",
    ),
    "the axes of a list": (
        lambda: axes([1.0]),  # type: ignore[arg-type]
        errors.AxisTypeError,
        "axes: the argument is a list, not a tensor\n  try: Tensor(x)",
    ),
}


X: Any = as_axes(Tensor(np.ones((3, 4), np.float32)), Users, Features)
Y: Any = as_axes(Tensor(np.ones((5, 4), np.float32)), Others, Features)
PLAIN: Any = Tensor(np.ones((3, 4), np.float32))

KNOWN: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
    "elementwise": (lambda: (X * 2 - PLAIN).exp(), (Users, Features)),
    "a comparison": (lambda: (X > 0).where(X, 0.0), (Users, Features)),
    "two names": (lambda: X + Y[:3], (3, Features)),
    "broadcast": (lambda: X.unsqueeze(1) - Y, (Users, Others, Features)),
    "product": (lambda: X @ Y.T, (Users, Others)),
    "matrix and vector": (lambda: X @ Y[0], (Users,)),
    "einsum": (lambda: Tensor.einsum("uf,of->ou", X, Y), (Others, Users)),
    "transpose": (lambda: X.T.reshape(1, 4, 3).squeeze(0), (Features, Users)),
    "split": (lambda: X.reshape(3, 2, 2), (Users, 2, 2)),
    "joined": (lambda: X.reshape(12), (12,)),
    "joined after expand": (lambda: X.unsqueeze(0).expand(2, 3, 4).reshape(6, 4), (6, Features)),
    "repeated": (lambda: X.expand(2, 3, 4), (2, Users, Features)),
    "empty": (lambda: as_axes(Tensor(np.ones((0, 4), np.float32)), Users, Features).reshape(4, 0), (4, 0)),
    "reduced": (lambda: X.mean(0), (Features,)),
    "reduced, kept": (lambda: X.sum(1, keepdim=True), (Users, 1)),
    "softmax": (lambda: X.softmax(1), (Users, Features)),
    "slice": (lambda: X[1:, 0], (Users,)),
    "gather": (lambda: X[Tensor([2, 0, 2, 1])], (4, Features)),
    "cat": (lambda: X.cat(Y), (8, Features)),
    "stacked": (lambda: X.stack(X), (2, Users, Features)),
    "cast": (lambda: X.half().contiguous(), (Users, Features)),
    "mapped": (lambda: vmap(lambda x: x.sum())(X), (Users,)),
    "mapped, over the other axis": (lambda: vmap(lambda x: x * 2, in_axes=1)(X), (Features, Users)),
    "every pair": (lambda: vmap(lambda x: vmap(lambda y: (x * y).sum())(Y))(X), (Users, Others)),
    "a derivative": (lambda: grad(lambda x: (x * x).sum())(X), (Users, Features)),
    "another function": (lambda: linalg.inv(X @ X.T), (3, 3)),
}
"""The axes known of each result; an unknown axis is better than a wrong one."""


@pytest.mark.parametrize("name", KNOWN)
def test_axes_are_known_after_operations(name: str) -> None:
    made, known = KNOWN[name]
    assert axes(made()) == known


def test_constants_share_no_axes() -> None:
    named = as_axes(Tensor(1.0).expand(4, 3), Users, Features)
    assert axes(named) == (Users, Features) and axes(Tensor(1.0).expand(4, 3)) == (4, 3)
    shared = Tensor(np.ones(4, np.float32))
    one, other = as_axes(tensor(shared.uop), Users), as_axes(tensor(shared.uop), Features)
    assert one.uop is other.uop and axes(shared + 1) == (4,)


MET: dict[str, tuple[Callable[[], Any], type[BrandedError], str]] = {
    "zip": (
        lambda: vmap(lambda x, y: x + y)(X, Y),
        errors.SizeError,
        "vmap: mapped sizes differ: argument 1 has 3 examples, argument 2 has 5\n"
        "  left:  f32[Users:3, Features:4], axis 0   (argument 1 of vmap at app.py:12)\n"
        "  right: f32[Others:5, Features:4], axis 0   (argument 2)\n"
        "  try:   in_axes=(None, 0) for 5 examples, or in_axes=(0, None) for 3 examples"
        ", or nest two vmaps for all pairs",
    ),
    "product": (
        lambda: X @ Y,
        errors.ShapeError,
        "matmul: axis -1 of the first has 4 entries, and axis -2 of the second 5\n"
        "  left:  f32[Users:3, Features:4]\n"
        "  right: f32[Others:5, Features:4]\n"
        "  at:    app.py:12\n"
        "  try:   X @ Y.transpose(-1, -2)",
    ),
    "a product, of each example": (
        lambda: vmap(lambda x: x @ Y)(X),
        errors.ShapeError,
        "matmul: axis -1 of the first has 4 entries, and axis -2 of the second 5\n"
        "  left:  Vec[x:3, f32[Features:4]]\n"
        "  right: f32[Others:5, Features:4]\n"
        "  x:     opened by vmap at app.py:12\n"
        "  at:    app.py:12\n"
        "  try:   x @ Y.transpose(-1, -2)",
    ),
    "elementwise, of what was made of them": (
        lambda: (X * 2) + Y.exp(),
        errors.ShapeError,
        "add: axis -2 has 3 entries in one operand and 5 in another\n"
        "  left:  f32[Users:3, Features:4]\n"
        "  right: f32[Others:5, Features:4]\n"
        "  at:    app.py:12\n"
        "  try:   use equal sizes, or 1",
    ),
    "reshape": (
        lambda: X.reshape(5, 5),
        errors.ShapeError,
        "reshape: the tensor has 12 entries, and (5, 5) has 25\n"
        "  tensor: f32[Users:3, Features:4]\n"
        "  at:     app.py:12\n"
        "  try:    reshape(-1)",
    ),
    "cat": (
        lambda: X.T.cat(Y.T),
        errors.ShapeError,
        "cat: axis 1 has 3 entries in one operand and 5 in another\n"
        "  left:  f32[Features:4, Users:3]\n"
        "  right: f32[Features:4, Others:5]\n"
        "  at:    app.py:12\n"
        "  try:   dim=1, along which they fit",
    ),
    "an axis": (
        lambda: X.sum(2),
        errors.AxisRangeError,
        "sum: axis 2 is out of range for the tensor\n"
        "  tensor: f32[Users:3, Features:4]\n"
        "  at:     app.py:12\n"
        "  try:    use an axis from -2 to 1",
    ),
    "indices": (
        lambda: X[0, 0, 0],
        errors.ShapeError,
        "index: 3 indices for the tensor, which has 2 axes\n"
        "  tensor: f32[Users:3, Features:4]\n"
        "  at:     app.py:12\n"
        "  try:    use at most 2",
    ),
    "einsum": (
        lambda: Tensor.einsum("ij,jk->ik", X, Y),
        errors.ShapeError,
        "einsum: `j` is an axis of 4 entries, and one of 5\n"
        "  `ij`: f32[Users:3, Features:4]\n"
        "  `jk`: f32[Others:5, Features:4]\n"
        "  at:   app.py:12\n"
        "  try:  use a letter for each size",
    ),
    "a carry": (
        lambda: scan(lambda c, y: (y, c), X, Y),
        errors.CarryError,
        "scan: carry changes its type from step to step\n"
        "  before: f32[Users:3, Features:4]\n"
        "  after:  f32[4]\n"
        "  at:     app.py:12\n"
        "  try:    cast or reshape it, before the loop or in the body, so that the two agree",
    ),
    "branches": (
        lambda: vmap(lambda x: cond(x.sum() > 0, lambda: x, lambda: x[:2]))(X),
        errors.CarryError,
        "cond: the branches return different types for the result\n"
        "  true_fun:  Vec[x:3, f32[Features:4]]\n"
        "  false_fun: Vec[x:3, f32[Features:2]]\n"
        "  at:        app.py:12\n"
        "  try:       cast or reshape one of them, so that the shapes and dtypes agree",
    ),
    "a matrix": (
        lambda: linalg.det(X),
        errors.MatrixError,
        "det: a has 3 rows and 4 columns\n"
        "  a:   f32[Users:3, Features:4]\n"
        "  at:  app.py:12\n"
        "  try: pass a square matrix",
    ),
}


@pytest.mark.places
@pytest.mark.parametrize("name", MET)
def test_shape_errors_show_axes(name: str) -> None:
    mistake, cls, text = MET[name]
    with pytest.raises(cls) as info:
        mistake()
    assert re.sub(r"\w+\.py:\d+", "app.py:12", str(info.value)) == text


def test_unnamed_tensors_keep_errors_of_tinygrad() -> None:
    with pytest.raises(RuntimeError, match="cannot dot") as info:
        PLAIN @ PLAIN
    assert not isinstance(info.value, BrandedError)
    late = PLAIN + PLAIN.T
    with pytest.raises(IndexError, match="cannot be broadcast"):
        late.shape  # noqa: B018


def _within_users(f: Callable[[], Any]) -> Any:
    with brand(Users, 3):
        return f()


@pytest.mark.parametrize("name", WRONG)
def test_as_axes_error_messages(name: str) -> None:
    mistake, cls, text = WRONG[name]
    with pytest.raises(cls) as info:
        mistake()
    assert str(info.value) == text


@pytest.mark.parametrize(
    ("got", "wanted", "says"),
    [
        (
            "Axes[A, B, C]",
            "Axes[C, A, B]",
            ["the axes are in another order", "try:   use permute(2, 0, 1), or declare"],
        ),
        ("Axes[A, A, B]", "Axes[A, B, A]", ["the axes are in another order"]),
        ("Vec[x, Axes[A]]", "Axes[A, B]", ["1 axis instead of 2 axes"]),
        ("Axes[()]", "Vec[x, Axes[A]]", ["no axes instead of 1 axis"]),
        ("Axes[A, Literal[3]]", "Axes[A, Literal[4]]", ["axis 1 is `Literal[3]`, not `Literal[4]`"]),
        ("Tensor", "Axes[A]", []),
    ],
)
def test_mypy_advice(got: str, wanted: str, says: list[str]) -> None:
    lines = advice(f'Argument 1 has incompatible type "{got}"; expected "{wanted}"')
    assert len(lines) == len(says) and all(s in line for s, line in zip(says, lines, strict=True))
