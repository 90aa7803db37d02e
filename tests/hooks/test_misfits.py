"""Test shape errors in transformed functions: one message, for one example, with the line of the operation."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
import pytest
from tinygrad import Tensor, nn

from branded import BrandedError, brand, cond, errors, fori_loop, grad, jacfwd, jit, make_expr, scan, vmap
from branded.hooks.error_translation.failed_call import Refused
from branded.tinygrad_compat import tensor_methods
from tests.support.examples import of_ones

pytestmark = pytest.mark.places

X = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4)).realize()
IMAGES = Tensor(np.ones((2, 1, 5, 5), np.float32)).realize()
W = Tensor(np.ones((3, 4), np.float32)).realize()
V = Tensor(np.ones(3, np.float32)).realize()
U = Tensor(np.ones(5, np.float32)).realize()
LINEAR, LAYER = of_ones(nn.Linear(5, 2)), of_ones(nn.Linear(4, 2))
KERNEL = Tensor(np.ones((2, 1, 3, 3), np.float32)).realize()


def message_of(error: BrandedError) -> str:
    return re.sub(r"\w+\.py:\d+", "app.py:12", str(error))


class Misfit(NamedTuple):
    """A call with a shape error, its error class and message, and the call that its hint suggests."""

    mistake: Callable[[], Any]
    cls: type[BrandedError]
    text: str
    followed: Callable[[], Any] | None = None


MISFITS = {
    "add, an unmapped operand": Misfit(
        lambda: vmap(lambda x: x + V)(X),
        errors.ShapeError,
        """
        add: axis -1 has 4 entries in one operand and 3 in another
          left:  Vec[x:3, f32[4]]
          right: f32[3]
          x:     opened by vmap at app.py:12
          at:    app.py:12
          try:   pass `V` as an argument of vmap: it has one entry for each of the 3 examples
        """,
        lambda: vmap(lambda x, v: x + v)(X, V),
    ),
    "sub, batched on the right": Misfit(
        lambda: vmap(lambda x: U - x)(X),
        errors.ShapeError,
        """
        sub: axis -1 has 5 entries in one operand and 4 in another
          left:  f32[5]
          right: Vec[x:3, f32[4]]
          x:     opened by vmap at app.py:12
          at:    app.py:12
          try:   U - x.unsqueeze(-1) for every pair of entries, or as many entries in both
        """,
        lambda: vmap(lambda x: U - x.unsqueeze(-1))(X),
    ),
    "a comparison": Misfit(
        lambda: vmap(lambda x: x < U)(X),
        errors.ShapeError,
        """
        lt: axis -1 has 4 entries in one operand and 5 in another
          left:  Vec[x:3, f32[4]]
          right: f32[5]
          x:     opened by vmap at app.py:12
          at:    app.py:12
          try:   x < U.unsqueeze(-1) for every pair of entries, or as many entries in both
        """,
        lambda: vmap(lambda x: x < U.unsqueeze(-1))(X),
    ),
    "where": Misfit(
        lambda: vmap(lambda x: (x > 1).where(x, U))(X),
        errors.ShapeError,
        """
        where: axis -1 has 4 entries in one operand and 5 in another
          condition:   Vec[x:3, bool[4]]
          where true:  Vec[x:3, f32[4]]
          where false: f32[5]
          x:           opened by vmap at app.py:12
          at:          app.py:12
          try:         use equal sizes, or 1
        """,
    ),
    "matmul": Misfit(
        lambda: vmap(lambda x: x @ W)(X),
        errors.ShapeError,
        """
        matmul: axis -1 of the first has 4 entries, and axis -2 of the second 3
          left:  Vec[x:3, f32[4]]
          right: f32[3, 4]
          x:     opened by vmap at app.py:12
          at:    app.py:12
          try:   x @ W.transpose(-1, -2)
        """,
        lambda: vmap(lambda x: x @ W.transpose(-1, -2))(X),
    ),
    "a layer": Misfit(
        lambda: vmap(lambda x: LINEAR(x))(X),
        errors.ShapeError,
        """
        linear: axis -1 of the first has 4 entries, and axis -2 of the second 5
          tensor: Vec[x:3, f32[4]]
          weight: f32[5, 2]
          bias:   f32[2]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    Linear(4, 2), or pass examples of 5 entries
        """,
        lambda: vmap(lambda x: LAYER(x))(X),
    ),
    "reshape, with the examples": Misfit(
        lambda: vmap(lambda x: x.reshape(3, 2, 2))(X),
        errors.ShapeError,
        """
        reshape: one example has 4 entries, and (3, 2, 2) has 12
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    reshape(2, 2): inside vmap there is no batch axis
        """,
        lambda: vmap(lambda x: x.reshape(2, 2))(X),
    ),
    "reshape": Misfit(
        lambda: vmap(lambda x: x.reshape(2, 3))(X),
        errors.ShapeError,
        """
        reshape: one example has 4 entries, and (2, 3) has 6
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    reshape(2, -1)
        """,
        lambda: vmap(lambda x: x.reshape(2, -1))(X),
    ),
    "cat": Misfit(
        lambda: vmap(lambda x: x.reshape(2, 2).cat(W[:, :1].reshape(1, 3)))(X),
        errors.ShapeError,
        """
        cat: axis 1 has 2 entries in one operand and 3 in another
          left:  Vec[x:3, f32[2, 2]]
          right: f32[1, 3]
          x:     opened by vmap at app.py:12
          at:    app.py:12
          try:   use equal sizes in all operands
        """,
    ),
    "cat, along another axis": Misfit(
        lambda: vmap(lambda x: x.reshape(2, 2).cat(W[:2, :3]))(X),
        errors.ShapeError,
        """
        cat: axis 1 has 2 entries in one operand and 3 in another
          left:  Vec[x:3, f32[2, 2]]
          right: f32[2, 3]
          x:     opened by vmap at app.py:12
          at:    app.py:12
          try:   dim=1, along which they fit
        """,
        lambda: vmap(lambda x: x.reshape(2, 2).cat(W[:2, :3], dim=1))(X),
    ),
    "stack": Misfit(
        lambda: vmap(lambda x: Tensor.stack(x, U))(X),
        errors.ShapeError,
        """
        stack: axis 0 has 4 entries in one operand and 5 in another
          left:  Vec[x:3, f32[4]]
          right: f32[5]
          x:     opened by vmap at app.py:12
          at:    app.py:12
          try:   use equal sizes in all operands
        """,
    ),
    "tril of a scalar": Misfit(
        lambda: vmap(lambda x: x.tril())(V),
        errors.ShapeError,
        """
        tril: it takes 2 or more axes, and one example has 0
          tensor: Vec[x:3, f32[]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    x.reshape(1, 1), or map fewer axes: vmap has removed one from each example
        """,
        lambda: vmap(lambda x: x.reshape(1, 1).tril())(V),
    ),
    "pool of a vector": Misfit(
        lambda: vmap(lambda x: x.max_pool2d())(X),
        errors.ShapeError,
        """
        max_pool2d: it takes 2 or more axes, and one example has 1
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    map fewer axes: vmap has removed one from each example
        """,
    ),
    "pool of a vector by a row": Misfit(
        lambda: vmap(lambda x: x.max_pool2d(kernel_size=(1, 2)))(X),
        errors.ShapeError,
        """
        max_pool2d: it takes 2 or more axes, and one example has 1
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    x.reshape(1, 4), or map fewer axes: vmap has removed one from each example
        """,
        lambda: vmap(lambda x: x.reshape(1, 4).max_pool2d(kernel_size=(1, 2)))(X),
    ),
    "svd of a vector": Misfit(
        lambda: vmap(lambda x: x.svd())(X),
        errors.ShapeError,
        """
        svd: it takes 2 or more axes, and one example has 1
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    map fewer axes: vmap has removed one from each example
        """,
    ),
    "attention of vectors": Misfit(
        lambda: vmap(lambda x: x.scaled_dot_product_attention(x, x))(X),
        errors.ShapeError,
        """
        scaled_dot_product_attention: it takes 2 or more axes, and one example has 1
          tensor: Vec[x:3, f32[4]]
          key:    Vec[x:3, f32[4]]
          value:  Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    x.reshape(1, 4), or map fewer axes: vmap has removed one from each example
        """,
        lambda: vmap(lambda x: x.reshape(1, 4).scaled_dot_product_attention(*[x.reshape(1, 4)] * 2))(X),
    ),
    "conv2d of one image": Misfit(
        lambda: vmap(lambda image: image.conv2d(KERNEL))(IMAGES),
        errors.ShapeError,
        """
        conv2d: it takes axes for a batch and for channels, and one example has 3 of 4 axes
          left:  Vec[image:2, f32[1, 5, 5]]
          right: f32[2, 1, 3, 3]
          image: opened by vmap at app.py:12
          at:    app.py:12
          try:   image.reshape(1, 1, 5, 5).conv2d(KERNEL).squeeze(0)
        """,
        lambda: vmap(lambda image: image.reshape(1, 1, 5, 5).conv2d(KERNEL).squeeze(0))(IMAGES),
    ),
    "index, with the examples": Misfit(
        lambda: vmap(lambda x: x[:, 1])(X),
        errors.ShapeError,
        """
        index: 2 indices for one example, which has 1 axis
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    x[1]: inside vmap there is no batch axis
        """,
        lambda: vmap(lambda x: x[1])(X),
    ),
    "index, too far": Misfit(
        lambda: vmap(lambda x: x[4])(X),
        errors.ShapeError,
        """
        index: 4 is out of bounds for an axis of 4 entries
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    use an index from -4 to 3
        """,
        lambda: vmap(lambda x: x[3])(X),
    ),
    "index, with floats": Misfit(
        lambda: vmap(lambda x: x[x.abs() / 9])(X),
        errors.ArgumentError,
        """
        index: a tensor of floats is not an index
          left:  Vec[x:3, f32[4]]
          right: Vec[x:3, f32[4]]
          x:     opened by vmap at app.py:12
          at:    app.py:12
          try:   (x.abs() / 9).int()
        """,
        lambda: vmap(lambda x: x[(x.abs() / 9).int()])(X),
    ),
    "index, with floats among others": Misfit(
        lambda: vmap(lambda x: x[None, x.max()])(X),
        errors.ArgumentError,
        """
        index: a tensor of floats is not an index
          tensor:  Vec[x:3, f32[4]]
          indices: Vec[x:3, f32[]]
          x:       opened by vmap at app.py:12
          at:      app.py:12
          try:     x.max().int()
        """,
        lambda: vmap(lambda x: x[None, x.max().int()])(X),
    ),
    "sum, with the examples": Misfit(
        lambda: vmap(lambda x: x.sum(1))(X),
        errors.AxisRangeError,
        """
        sum: axis 1 is out of range for one example
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    axis 0: inside vmap there is no batch axis
        """,
        lambda: vmap(lambda x: x.sum(0))(X),
    ),
    "pad, with the examples": Misfit(
        lambda: vmap(lambda x: x.pad(((0, 0), (1, 1))))(X),
        errors.ShapeError,
        """
        pad: padding length is improper, padding=((0, 0), (1, 1)) ndim=1
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    pad(((1, 1),)): inside vmap there is no batch axis
        """,
        lambda: vmap(lambda x: x.pad(((1, 1),)))(X),
    ),
    "einsum, with the examples": Misfit(
        lambda: vmap(lambda x: Tensor.einsum("ij,j->i", x, U))(X),
        errors.ShapeError,
        """
        einsum: `ij` has 2 letters, and one example 1 axis
          `ij`: Vec[x:3, f32[4]]
          `j`:  f32[5]
          x:    opened by vmap at app.py:12
          at:   app.py:12
          try:  give a letter for each axis of one example
        """,
    ),
    "einsum": Misfit(
        lambda: vmap(lambda x: Tensor.einsum("ij,j->i", W.T, x))(X),
        errors.ShapeError,
        """
        einsum: `j` is an axis of 3 entries, and one of 4
          `ij`: f32[4, 3]
          `j`:  Vec[x:3, f32[4]]
          x:    opened by vmap at app.py:12
          at:   app.py:12
          try:  use a letter for each size
        """,
    ),
    "einsum, a missing operand": Misfit(
        lambda: vmap(lambda x: Tensor.einsum("i,j->ij", x))(X),
        errors.ShapeError,
        """
        einsum: `i,j->ij` is of 2 operands, and 1 came
          1:   Vec[x:3, f32[4]]
          x:   opened by vmap at app.py:12
          at:  app.py:12
          try: give letters for each operand
        """,
    ),
    "a transpose of one axis": Misfit(
        lambda: vmap(lambda x: x.T)(X),
        errors.AxisRangeError,
        """
        transpose: axis 1 is out of range for one example
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    x.unsqueeze(1) for a column, or x itself
        """,
    ),
    "an argument of the wrong type": Misfit(
        lambda: vmap(lambda x: x.mean("rows"))(X),  # type: ignore[arg-type]
        errors.CallError,
        """
        mean: it does not take the str 'rows'
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
        """,
    ),
    "an argument that crashes tinygrad": Misfit(
        lambda: vmap(lambda x: x.gather(0, [1]))(X),  # type: ignore[arg-type]
        errors.CallError,
        """
        gather: it does not take the int 0 and the list [1]
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
        """,
    ),
    "a weight that is a number": Misfit(
        lambda: vmap(lambda x: x.conv2d(3))(X),  # type: ignore[arg-type]
        errors.CallError,
        """
        conv2d: it does not take the int 3
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
        """,
    ),
    "a product with a number": Misfit(
        lambda: vmap(lambda x: x @ 3)(X),  # type: ignore[operator]
        errors.CallError,
        """
        matmul: it does not take the int 3
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
          try:    x * 3
        """,
        lambda: vmap(lambda x: x * 3)(X),
    ),
    "a dtype": Misfit(
        lambda: vmap(lambda x: x.one_hot(3))(X),
        errors.ArgumentError,
        """
        one_hot: expect integer dtype, getting dtype=dtypes.float, given 3
          tensor: Vec[x:3, f32[4]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
        """,
    ),
    "bitcast": Misfit(
        lambda: vmap(lambda x: x[:3].bitcast("float64"))(X),
        errors.ArgumentError,
        """
        bitcast: unsupported size in bitcast, given 'float64'
          tensor: Vec[x:3, f32[3]]
          x:      opened by vmap at app.py:12
          at:     app.py:12
        """,
    ),
}


@pytest.mark.parametrize("m", MISFITS.values(), ids=MISFITS.keys())
def test_messages(m: Misfit) -> None:
    with pytest.raises(m.cls) as info:
        m.mistake()
    assert message_of(info.value) == textwrap.dedent(m.text).strip()
    if m.followed is not None:
        assert m.followed().numpy().size > 0


def test_message_names_line_of_operation() -> None:
    """tinygrad computes the shape only at the next line, or when the result is read."""

    def body(x: Tensor) -> Tensor:
        y = x + V
        return y.sum()

    line = body.__code__.co_firstlineno + 1
    with pytest.raises(errors.ShapeError, match=rf"at: +test_misfits\.py:{line}\n"):
        vmap(body)(X)


def inside() -> dict[str, Callable[[], Any]]:
    """Return the same shape error in each place where code is traced or batched."""

    def block() -> None:
        with brand("rows", 3) as rows:
            rows.vec(X) + U

    return {
        "vmap": lambda: vmap(lambda x: x + U)(X),
        "nested": lambda: vmap(lambda x: vmap(lambda y: x + U)(X))(X),
        "brand": block,
        "scan": lambda: scan(lambda c, x: (c, x + U), 0.0, X),
        "fori_loop": lambda: fori_loop(0, 3, lambda i, c: c + U, X[0]),
        "cond": lambda: vmap(lambda x: cond(x.sum() > 0, lambda: x + U, lambda: x))(X),
        "grad": lambda: grad(lambda x: (x + U).sum())(X[0]),
        "jacfwd": lambda: jacfwd(lambda x: x + U)(X[0]),
        "make_expr": lambda: make_expr(vmap(lambda x: x + U))(X),
        "unbatched values": lambda: vmap(lambda x: V + U)(X),
        "in place": lambda: vmap(lambda x: x.add(U))(X),
        "unread": lambda: vmap(lambda x: (x + U, x)[1])(X),
    }


@pytest.mark.parametrize("where", inside())
def test_message_in_every_transform(where: str) -> None:
    with pytest.raises(
        errors.ShapeError, match=r"^add: axis -1 has \d entries in one operand and 5 in another\n"
    ) as info:
        inside()[where]()
    assert info.value.__context__ is None or info.value.__suppress_context__, "nothing of tinygrad's is printed with it"
    assert tensor_methods.running()() is None


def test_error_has_class_of_tinygrad() -> None:
    """The error also has tinygrad's class, so a function that catches it outside of vmap catches it inside."""

    def body(x: Tensor) -> Tensor:
        try:
            return x[4]
        except IndexError:
            return x[3]

    def reshaped(x: Tensor) -> Tensor:
        try:
            return x.reshape(3)
        except ValueError:
            return x.reshape(2, 2)

    assert vmap(body)(X).tolist() == [3.0, 7.0, 11.0]
    assert vmap(reshaped)(X).shape == (3, 2, 2)


def test_errors_outside_vmap_are_unchanged() -> None:
    vmap(lambda x: x)(X)
    wrong = X[0] + U
    with pytest.raises(IndexError) as info:
        wrong.sum()
    assert type(info.value) is IndexError
    with pytest.raises(AssertionError):
        X.cat(U)
    with pytest.raises(ValueError) as wrong_formula:
        Tensor.einsum("i,j->ij", U)
    assert type(wrong_formula.value) is ValueError


def test_suggested_calls_get_no_suggestions() -> None:
    """A suggested call that fails gets no suggestion itself, or transposing the operand would repeat forever."""
    calls: list[CodeType] = []
    matrix = Tensor.ones(5, 4)
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code) if event == "call" else None)
    try:
        with pytest.raises(errors.ShapeError, match=r"\n  try: +use equal sizes, or 1\n"):
            vmap(lambda x: x + matrix)(Tensor.ones(2, 3, 4))
    finally:
        sys.setprofile(None)
    assert calls.count(Refused.works.__code__) == 1 and tensor_methods.running()() is None


@pytest.mark.parametrize("transform", [grad, jit])
def test_axis_hint_outside_vmap(transform: Any) -> None:
    with pytest.raises(errors.AxisRangeError, match=r"\n  try: +use an axis from -1 to 0\n"):
        transform(lambda x: x.sum(1))(X[0])


def test_user_errors_stay_unchanged() -> None:
    def body(x: Tensor) -> Tensor:
        if x.shape != (3,):
            raise ValueError("three, please")
        return x

    with pytest.raises(ValueError, match="three, please") as info:
        vmap(body)(X)
    assert type(info.value) is ValueError


def test_unsupported_statements_keep_error() -> None:
    def f(x: Tensor) -> Tensor:
        del x[0]
        return x

    with pytest.raises(TypeError, match=r"^Tensor does not support deleting items$") as told:
        vmap(f)(Tensor.ones(2, 3))
    assert not isinstance(told.value, BrandedError)


def test_symbolic_sizes() -> None:
    """Symbolic sizes are compared as in tinygrad."""
    from tinygrad import Variable

    n = Variable("n", 1, 4).bind(2)
    x = Tensor(np.arange(8, dtype=np.float32).reshape(2, 4)).realize()
    out = vmap(lambda row: (row[:n] + row[:n] * 2).sum())(x)
    assert out.tolist() == [3.0, 27.0]
