"""Golden tests: the full text of each error message, and the state after an error."""

from __future__ import annotations

import ast
import json
import math
import re
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from tinygrad import Context, Tensor, TinyJit, Variable, nn

from branded import Brand, BrandedError, brand, errors, jit, lift, make_expr, optim, random, unvec, vec_type, vmap
from branded.collectives import named_axes
from branded.errors import source
from branded.explain import data, explain
from branded.hooks import reads
from branded.hooks.error_translation import suggestions
from branded.mypy.analysis import reads as reading
from branded.mypy.rows.algebra import VEC
from branded.mypy.transforms import collectives as typed
from branded.tools.profile import profile

X = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4)).realize()
Y = Tensor(np.arange(16, dtype=np.float32).reshape(4, 4)).realize()


class Golden(NamedTuple):
    """A call with a mistake, and its error class and message."""

    mistake: Callable[[], Any]
    cls: type[BrandedError]
    text: str


def message_of(error: BrandedError) -> str:
    return re.sub(r"at \w+\.py:\d+", "at app.py:12", str(error))


def check(g: Golden) -> None:
    with pytest.raises(g.cls) as info:
        g.mistake()
    assert message_of(info.value) == textwrap.dedent(g.text).strip()


def params(goldens: dict[str, Golden]) -> Any:
    return pytest.mark.parametrize("g", goldens.values(), ids=goldens.keys())


def closed_value() -> Tensor:
    kept: list[Tensor] = []
    vmap(lambda x: kept.append(x) or x)(X)
    return kept[0]


READS = {
    "numpy": (lambda x: x.numpy(), "numpy", "f32[4]"),
    "tolist": (lambda x: x.tolist(), "tolist", "f32[4]"),
    "data": (lambda x: x.data(), "data", "f32[4]"),
    "schedule": (lambda x: x.schedule_linear(), "schedule_linear", "f32[4]"),
    "callify": (lambda x: x.callify(), "callify", "f32[4]"),
    "empty numpy": (lambda x: x[:0].numpy(), "numpy", "f32[0]"),
    "numpy of a constant": (lambda x: vmap(lambda i: i.numpy())(Tensor.arange(3)), None, None),
}


def test_plugin_lists_match_package() -> None:
    """The plugin does not import the package, so it has its own copy of these names."""
    assert tuple(f"{VEC}.{name}" for name in reads.READS) == reading.READS
    names = {name.rpartition(".")[2] for name in typed.COLLECTIVES}
    assert names == {*named_axes.COLLECTIVES, "axis_size"}  # returns an int, not a tensor


@pytest.mark.parametrize("name", READS)
def test_reads(name: str) -> None:
    read, what, per_example = READS[name]
    with pytest.raises(errors.ReadError) as info:
        vmap(read)(X)
    if what is not None:
        assert message_of(info.value) == textwrap.dedent(
            f"""\
            {what}: a value that varies over `x` has no single value to read
              value: Vec[x:3, {per_example}]
              x:     opened by vmap at app.py:12
              try:   return it from the mapped function and read the result"""
        )


NUMBERS = {
    "item": Golden(
        lambda: vmap(lambda x: x / x.max().item())(X),
        errors.ReadError,
        """
        item: a value that varies over `x` has no single value to read
          value: Vec[x:3, f32[]]
          x:     opened by vmap at app.py:12
          try:   leave out .item(), or return it from the mapped function and read the result
        """,
    ),
    "bits": Golden(
        lambda: vmap(lambda x: x > 0 & x)(X),
        errors.OperandError,
        """
        and: bitwise operations need bools or ints, not a float
          value: Vec[x:3, f32[4]]
          try:   (a > 0) & (b > 0), with parentheses around comparisons, or .int() for ints
        """,
    ),
    "if": Golden(
        lambda: vmap(lambda x: x if x.sum() > 0 else -x)(X),
        errors.ReadError,
        """
        bool: a value that varies over `x` has no single truth value
          value: Vec[x:3, bool[]]
          x:     opened by vmap at app.py:12
          try:   (x.sum() > 0).where(x, -x)
        """,
    ),
    "if outside": Golden(
        lambda: 1 if vmap(lambda x: x.sum() > 0)(X) else 0,
        errors.ReadError,
        """
        bool: a tensor has no truth value
          value: bool[3]
          try:   x.item() for one element, x.all().item() or x.any().item() for several
        """,
    ),
    "int": Golden(
        lambda: vmap(lambda x: Y[int(x[0])])(X),
        errors.ReadError,
        """
        int: a value that varies over `x` has no single int
          value: Vec[x:3, f32[]]
          x:     opened by vmap at app.py:12
          try:   Y[x[0].int()]
        """,
    ),
    "range": Golden(
        lambda: vmap(lambda x: [x for _ in range(x[0].int())])(X),
        errors.ReadError,
        """
        int: a value that varies over `x` has no single int
          value: Vec[x:3, i32[]]
          x:     opened by vmap at app.py:12
          try:   fori_loop(0, x[0].int(), body, start)
        """,
    ),
    "float": Golden(
        lambda: vmap(lambda x: math.sqrt(x[0]))(X),
        errors.ReadError,
        """
        float: a value that varies over `x` has no single float
          value: Vec[x:3, f32[]]
          x:     opened by vmap at app.py:12
          try:   x[0].sqrt()
        """,
    ),
    "iteration": Golden(
        lambda: vmap(lambda x: list(x.sum()))(X),
        errors.ReadError,
        """
        iter: a value that varies over `x` is 0-d per example: there is nothing to iterate over
          value: Vec[x:3, f32[]]
          x:     opened by vmap at app.py:12
          try:   iterate over a tensor with at least one axis
        """,
    ),
    "backward": Golden(
        lambda: vmap(lambda x: (x * x).sum().backward())(X),
        errors.ReadError,
        """
        backward: a value that varies over `x` has a gradient for each example, and .grad holds one
          value: Vec[x:3, f32[]]
          x:     opened by vmap at app.py:12
          try:   loss.gradient(w), which is per example
        """,
    ),
    "two brands": Golden(
        lambda: vmap(lambda a: vmap(lambda b: bool((a * b).sum() > 0))(Y))(X),
        errors.ReadError,
        """
        bool: a value that varies over `a` and `b` has no single truth value
          value: Vec[a:3 | b:4, bool[]]
          a:     opened by vmap at app.py:12
          b:     opened by vmap at app.py:12
          try:   (a * b).sum() > 0
        """,
    ),
}


@params(NUMBERS)
def test_numbers(g: Golden) -> None:
    check(g)


SHAPES = {
    "nonzero": Golden(
        lambda: vmap(lambda x: x.nonzero())(X),
        errors.ShapeError,
        """
        nonzero: the shape of the result would differ from example to example
          value: Vec[x:3, f32[4]]
          try:   nonzero(..., size=n), with the same n for all
        """,
    ),
    "mask": Golden(
        lambda: vmap(lambda x: x[np.array([True, False])])(X),
        errors.ShapeError,
        """
        index: the mask has another shape than the entries that it selects from
          tensor: Vec[x:3, f32[4]]
          mask:   numpy bool[2]
          try:    use a mask with one entry for each entry of the tensor, or of its leading axes
        """,
    ),
    "masked_select": Golden(
        lambda: vmap(lambda x: x.masked_select(x > 1))(X),
        errors.ShapeError,
        """
        masked_select: the shape of the result would differ from example to example
          value: Vec[x:3, f32[4]]
          try:   masked_select(..., size=n), with the same n for all
        """,
    ),
    "slice": Golden(
        lambda: vmap(lambda x: x[: x[0].int()])(X),
        errors.ShapeError,
        """
        slice: a shape or an offset differs from example to example
          tensor: Vec[x:3, f32[4]]
          shape:  depends on Vec[x:3, i32[]]
          try:    (Tensor.arange(4) < x[0].int()).where(x, 0)
        """,
    ),
    "setitem slice": Golden(
        lambda: vmap(lambda x: x.__setitem__(slice(x[0].int()), 0.0))(X),
        errors.ShapeError,
        """
        slice: a shape or an offset differs from example to example
          tensor: Vec[x:3, f32[4]]
          shape:  depends on Vec[x:3, i32[]]
          try:    x[start + Tensor.arange(n)] for n entries, or a mask and where
        """,
    ),
    "reshape": Golden(
        lambda: vmap(lambda x: x.reshape(x[0].int(), 2))(X),
        errors.ShapeError,
        """
        reshape: a shape or an offset differs from example to example
          tensor: Vec[x:3, f32[4]]
          shape:  depends on Vec[x:3, i32[]]
          try:    use the same sizes for all, and mask with where
        """,
    ),
    "uop shape": Golden(
        lambda: vmap(lambda x: x.shrink(((0, x[0].int().uop),)))(X),
        errors.ShapeError,
        """
        shrink: a shape or an offset differs from example to example
          value: Vec[x:3, f32[4]]
          try:   index with a tensor, or mask with where
        """,
    ),
}


@params(SHAPES)
def test_shapes(g: Golden) -> None:
    check(g)


SIZES = {
    "two arguments": Golden(
        lambda: vmap(lambda a, b: a + b)(X, Y),
        errors.SizeError,
        """
        vmap: mapped sizes differ: argument 1 has 3 examples, argument 2 has 4
          left:  f32[3, 4], axis 0   (argument 1 of vmap at app.py:12)
          right: f32[4, 4], axis 0   (argument 2)
          try:   in_axes=(None, 0) for 4 examples, or in_axes=(0, None) for 3 examples, or nest two vmaps for all pairs
        """,
    ),
    "named, in a tree, another axis": Golden(
        lambda: vmap(lambda a, b: a, in_axes=(0, {"w": 1}), axis_name="users")(X, {"w": Y}),
        errors.SizeError,
        """
        vmap: mapped sizes differ: argument 1 has 3 examples, argument 2['w'] has 4
          left:  f32[3, 4], axis 0   (argument 1 of vmap at app.py:12)
          right: f32[4, 4], axis 1   (argument 2['w'])
          try:   in_axes=(None, 1) for 4 examples, or in_axes=(0, None) for 3 examples, or nest two vmaps for all pairs
        """,
    ),
    "keyword": Golden(
        lambda: vmap(lambda a, *, b: a)(X, b=Y),
        errors.SizeError,
        """
        vmap: mapped sizes differ: argument 1 has 3 examples, argument `b` has 4
          left:  f32[3, 4], axis 0   (argument 1 of vmap at app.py:12)
          right: f32[4, 4], axis 0   (argument `b`)
          try:   functools.partial(f, ...) if argument `b` is shared, or slice it to 3
        """,
    ),
    "axis_size": Golden(
        lambda: vmap(lambda a: a, axis_size=1)(X),
        errors.SizeError,
        """
        vmap: mapped sizes differ: axis_size is 1, argument 1 has 3
          left:  axis_size=1   (vmap at app.py:12)
          right: f32[3, 4], axis 0   (argument 1)
          try:   in_axes=(None,) if argument 1 is shared, or slice it to 1
        """,
    ),
    "leaves of one argument": Golden(
        lambda: vmap(lambda p, x: p["a"] * x)({"a": Y, "b": Y[0, :2]}, X),
        errors.SizeError,
        """
        vmap: mapped sizes differ: argument 1['a'] has 4 examples, argument 1['b'] has 2
          left:  f32[4, 4], axis 0   (argument 1['a'] of vmap at app.py:12)
          right: f32[2], axis 0   (argument 1['b'])
          try:   in_axes=(None, 0) for 3 examples
        """,
    ),
    "one leaf of a batch": Golden(
        lambda: vmap(lambda p, x: p["a"] * x)({"a": X, "b": X, "c": Y[0, :2]}, X),
        errors.SizeError,
        """
        vmap: mapped sizes differ: argument 1['a'] has 3 examples, argument 1['c'] has 2
          left:  f32[3, 4], axis 0   (argument 1['a'] of vmap at app.py:12)
          right: f32[2], axis 0   (argument 1['c'])
          try:   in_axes=({'a': 0, 'b': 0, 'c': None}, 0) for 3 examples
        """,
    ),
    "two leaves": Golden(
        lambda: vmap(lambda p: p["g"] + p["n"])({"g": X, "n": Y}),
        errors.SizeError,
        """
        vmap: mapped sizes differ: argument 1['g'] has 3 examples, argument 1['n'] has 4
          left:  f32[3, 4], axis 0   (argument 1['g'] of vmap at app.py:12)
          right: f32[4, 4], axis 0   (argument 1['n'])
          try:   in_axes=({'g': None, 'n': 0},) for 4 examples, or in_axes=({'g': 0, 'n': None},) for 3 examples
        """,
    ),
    "a leaf next to a keyword": Golden(
        lambda: vmap(lambda p, *, b: p)({"g": X, "n": [Y]}, b=X),
        errors.SizeError,
        """
        vmap: mapped sizes differ: argument 1['g'] has 3 examples, argument 1['n'][0] has 4
          left:  f32[3, 4], axis 0   (argument 1['g'] of vmap at app.py:12)
          right: f32[4, 4], axis 0   (argument 1['n'][0])
          try:   in_axes=({'g': 0, 'n': [None]},) if argument 1['n'][0] is shared, or slice it to 3
        """,
    ),
    "a leaf of a tree that is too long to write": Golden(
        lambda: vmap(lambda p: p)({f"a_long_name_{k}": Y if k == 5 else X for k in range(6)}),
        errors.SizeError,
        """
        vmap: mapped sizes differ: argument 1['a_long_name_0'] has 3 examples, argument 1['a_long_name_5'] has 4
          left:  f32[3, 4], axis 0   (argument 1['a_long_name_0'] of vmap at app.py:12)
          right: f32[4, 4], axis 0   (argument 1['a_long_name_5'])
          try:   use in_axes=None for argument 1['a_long_name_5'] if it is shared, or slice it to 3
        """,
    ),
    "a shorter keyword": Golden(
        lambda: vmap(lambda a, *, b: a)(Y, b=X),
        errors.SizeError,
        """
        vmap: mapped sizes differ: argument 1 has 4 examples, argument `b` has 3
          left:  f32[4, 4], axis 0   (argument 1 of vmap at app.py:12)
          right: f32[3, 4], axis 0   (argument `b`)
          try:   functools.partial(f, ...) if argument `b` is shared, or slice argument 1 to 3
        """,
    ),
    "symbolic": Golden(
        lambda: vmap(lambda a: a)(X[: Variable("n", 1, 3).bind(2)]),
        errors.AxesError,
        """
        in_axes: argument 1 has a symbolic size on axis 0
          value: f32[n, 4]
          try:   use a size that is known when vmap is called
        """,
    ),
}


@params(SIZES)
def test_sizes(g: Golden) -> None:
    check(g)


IN_AXES = {
    "bool": Golden(
        lambda: vmap(lambda a: a, in_axes=True),
        errors.AxisTypeError,
        """
        in_axes: True is a bool, not an axis
          try: use 0 for the first axis, or None to share the value
        """,
    ),
    "bool in a tree": Golden(
        lambda: vmap(lambda a, b: a, in_axes=(0, {"w": False})),
        errors.AxisTypeError,
        """
        in_axes: False is a bool, not an axis
          try: use 0 for the first axis, or None to share the value
        """,
    ),
    "string": Golden(
        lambda: vmap(lambda a: a, in_axes="batch"),
        errors.AxisTypeError,
        """
        in_axes: the str 'batch' is not an axis
          try: use an int, None, or a pytree of these
        """,
    ),
    "float": Golden(
        lambda: vmap(lambda a: a, out_axes=1.0),
        errors.AxisTypeError,
        """
        out_axes: the float 1.0 is not an axis
          try: use an int, None, or a pytree of these
        """,
    ),
    "tensor for in_axes": Golden(
        lambda: vmap(lambda a: a, X),
        errors.AxisTypeError,
        """
        in_axes: f32[3, 4] is not an axis
          try: call vmap(f)(x), not vmap(f, x)
        """,
    ),
    "tensor as entry of in_axes": Golden(
        lambda: vmap(lambda g, w: g * w, in_axes=(0, Tensor([0, 2, 1])))(X, X),
        errors.AxisTypeError,
        """
        in_axes: i32[3] is not an axis
          try: use an int or None; in the function, w[i] selects an entry for each example
        """,
    ),
    "tensor for the function": Golden(
        lambda: vmap(X),
        errors.AxisTypeError,
        """
        vmap: f32[3, 4] is not a function
          try: vmap(f)(x)
        """,
    ),
    "number for the function": Golden(
        lambda: vmap(3),
        errors.AxisTypeError,
        """
        vmap: the int 3 is not a function
          try: pass a function of one example
        """,
    ),
    "out of range": Golden(
        lambda: vmap(lambda a: a, in_axes=2)(X),
        errors.AxisRangeError,
        """
        in_axes: argument 1: axis 2 is out of range for f32[3, 4]
          try: use an axis from -2 to 1
        """,
    ),
    "out of range in a tree": Golden(
        lambda: vmap(lambda a: a, in_axes=([0, -3],))([X, X]),
        errors.AxisRangeError,
        """
        in_axes: argument 1[1]: axis -3 is out of range for f32[3, 4]
          try: use an axis from -2 to 1
        """,
    ),
    "too few": Golden(
        lambda: vmap(lambda a, b: a, in_axes=(0,))(X, X),
        errors.AxesError,
        """
        in_axes: 1 axis for 2 positional arguments
          axes: (0,)
          call: vmap at app.py:12
          try:  give one entry per positional argument; keyword arguments are always mapped over axis 0
        """,
    ),
    "too many": Golden(
        lambda: vmap(lambda a: a, in_axes=[0, None])(X),
        errors.AxesError,
        """
        in_axes: 2 axes for 1 positional argument
          axes: [0, None]
          call: vmap at app.py:12
          try:  give one entry per positional argument; keyword arguments are always mapped over axis 0
        """,
    ),
    "dict for all": Golden(
        lambda: vmap(lambda a: a, in_axes={"a": 0}),
        errors.AxesError,
        """
        in_axes: a dict cannot give the axes of all arguments
          axes: {'a': 0}
          try:  in_axes=({...},), with one entry per positional argument
        """,
    ),
    "other keys": Golden(
        lambda: vmap(lambda p: p["w"], in_axes=({"v": 0},))({"w": X}),
        errors.AxesError,
        """
        in_axes: the axes do not fit argument 1
          axes:  {'v': 0}  (keys 'v')
          value: dict with keys 'w'
          try:   give one axis per entry, or a single int or None
        """,
    ),
    "other length in a tree": Golden(
        lambda: vmap(lambda p: p["w"][0], in_axes=({"w": [0, 0, 0]},))({"w": [X, X]}),
        errors.AxesError,
        """
        in_axes: the axes do not fit argument 1['w']
          axes:  [0, 0, 0]  (3 entries)
          value: list with 2 entries
          try:   give one axis per entry, or a single int or None
        """,
    ),
    "tree for a leaf": Golden(
        lambda: vmap(lambda p: p["w"], in_axes=({"w": (0, 0)},))({"w": X}),
        errors.AxesError,
        """
        in_axes: a tuple of axes was given for argument 1['w'], which is a single leaf
          axes:  (0, 0)
          value: f32[3, 4]
          try:   give one int or None
        """,
    ),
    "nothing mapped": Golden(
        lambda: vmap(lambda a: a, in_axes=None)(X),
        errors.AxesError,
        """
        in_axes: nothing is mapped, so the batch size is unknown
          axes: None
          call: vmap at app.py:12
          try:  give a mapped argument an int in in_axes, or pass axis_size=n
        """,
    ),
    "no argument": Golden(
        lambda: vmap(lambda: X)(),
        errors.AxesError,
        """
        in_axes: nothing is mapped, so the batch size is unknown
          axes: 0
          call: vmap at app.py:12
          try:  give a mapped argument an int in in_axes, or pass axis_size=n
        """,
    ),
    "number mapped": Golden(
        lambda: vmap(lambda a, b: a)(X, 3),
        errors.AxisTypeError,
        """
        in_axes: argument 2 is the int 3: there is no axis 0 to map over
          call: vmap at app.py:12
          try:  in_axes=(0, None)
        """,
    ),
    "0-d tensor mapped": Golden(
        lambda: vmap(lambda a, b: a)(X, Tensor(3.0)),
        errors.AxisTypeError,
        """
        in_axes: argument 2 is a 0-d tensor: there is no axis 0 to map over
          call: vmap at app.py:12
          try:  in_axes=(0, None)
        """,
    ),
    "string mapped": Golden(
        lambda: vmap(lambda p: p["x"])({"x": X, "mode": "train"}),
        errors.AxisTypeError,
        """
        in_axes: argument 1['mode'] is the str 'train': there is no axis 0 to map over
          call: vmap at app.py:12
          try:  in_axes=({'x': 0, 'mode': None},)
        """,
    ),
    "a mapped module": Golden(
        lambda: vmap(lambda layer, x: layer(x), in_axes=(0, None))(nn.Linear(4, 2), X[0]),
        errors.AxisTypeError,
        """
        in_axes: argument 1 is a Linear: there is no axis 0 to map over
          call: vmap at app.py:12
          try:  pass stack_module_state([module, ...]), and call functional_call(module, state, x) in the function
        """,
    ),
    "a list of modules": Golden(
        lambda: vmap(lambda layers, x: layers[0](x))([nn.Linear(4, 2), nn.Linear(4, 2)], X),
        errors.AxisTypeError,
        """
        in_axes: argument 1[0] is a Linear: there is no axis 0 to map over
          call: vmap at app.py:12
          try:  pass stack_module_state(modules), and call functional_call(modules[0], state, x) in the function
        """,
    ),
    "the state of an optimizer": Golden(
        lambda: vmap(lambda w, state: w)(X, optim.adam(0.1).init(X)),
        errors.AxisTypeError,
        """
        in_axes: argument 2[0].count is a 0-d tensor: there is no axis 0 to map over
          call: vmap at app.py:12
          try:  make one state per example: vmap(opt.init)(params)
        """,
    ),
    "object mapped": Golden(
        lambda: vmap(lambda layer, x: layer(x))(nn.Linear(4, 2), X),
        errors.AxisTypeError,
        """
        in_axes: argument 1 is a Linear: there is no axis 0 to map over
          call: vmap at app.py:12
          try:  in_axes=(None, 0)
        """,
    ),
    "keyword string": Golden(
        lambda: vmap(lambda a, mode: a)(X, mode="train"),
        errors.AxisTypeError,
        """
        in_axes: argument `mode` is the str 'train': there is no axis 0 to map over
          call: vmap at app.py:12
          try:  functools.partial(f, ...)
        """,
    ),
}


@params(IN_AXES)
def test_in_axes(g: Golden) -> None:
    check(g)


OUT_AXES = {
    "mapped result with None": Golden(
        lambda: vmap(lambda a: a.sum(), out_axes=None)(X),
        errors.AxesError,
        """
        out_axes: None needs a result that is the same for all examples, and the result varies over `a`
          value: Vec[a:3, f32[]]
          call:  vmap at app.py:12
          try:   give an int in out_axes, or sum over the examples outside of vmap
        """,
    ),
    "out of range": Golden(
        lambda: vmap(lambda a: {"s": a.sum()}, out_axes=1)(X),
        errors.AxisRangeError,
        """
        out_axes: the result['s']: axis 1 is out of range for a result with 1 axis
          try: use an axis from -1 to 0
        """,
    ),
    "too many": Golden(
        lambda: vmap(lambda a: (a, a), out_axes=(0, 0, 0))(X),
        errors.AxesError,
        """
        out_axes: the axes do not fit the result
          axes:  (0, 0, 0)  (3 entries)
          value: tuple with 2 entries
          try:   give one axis per entry, or a single int or None
        """,
    ),
    "tree for a leaf": Golden(
        lambda: vmap(lambda a: a, out_axes=(0,))(X),
        errors.AxesError,
        """
        out_axes: a tuple of axes was given for the result, which is a single leaf
          axes:  (0,)
          value: Vec[a:3, f32[4]]
          try:   give one int or None
        """,
    ),
    "a string": Golden(
        lambda: vmap(lambda a: (a, "done"))(X),
        errors.AxisTypeError,
        """
        out_axes: the result[1] is the str 'done', which cannot be stacked
          call: vmap at app.py:12
          try:  return tensors, or use out_axes=None for this result
        """,
    ),
    "an array of tensors": Golden(
        lambda: vmap(lambda a: np.asarray(a))(X),
        errors.AxisTypeError,
        """
        out_axes: the result is numpy object[4], which cannot be stacked
          call: vmap at app.py:12
          try:  use the tensor itself, not numpy.asarray or numpy.array of it
        """,
    ),
}


@params(OUT_AXES)
def test_out_axes(g: Golden) -> None:
    check(g)


def _inner_to_outer() -> Tensor:
    kept: list[Tensor] = []

    def outer(x: Tensor) -> Tensor:
        vmap(lambda y: kept.append(y) or y)(Y)
        return kept[0] + x

    return vmap(outer)(X)


def _sibling() -> Tensor:
    value = closed_value() * 2
    return vmap(lambda y: value + y)(X)


def _brand_after_its_block() -> Tensor:
    with brand("users", 3) as users:
        value = users.vec(X)
    return users.unvec(value)


ESCAPES = {
    "read": Golden(
        lambda: (closed_value() + 1).numpy(),
        errors.EscapeError,
        """
        numpy: this value belongs to `x`, which is closed
          value: Vec[x:3, f32[4]]
          x:     opened by vmap at app.py:12
          try:   return the value from the mapped function, and use the result
        """,
    ),
    "sibling of the same size": Golden(
        _sibling,
        errors.EscapeError,
        """
        vmap: the result: this value belongs to `x`, which is closed
          value: Vec[x:3 | y:3, f32[4]]
          x:     opened by vmap at app.py:12
          try:   return the value from the mapped function, and use the result
        """,
    ),
    "inner to outer": Golden(
        _inner_to_outer,
        errors.EscapeError,
        """
        vmap: the result: this value belongs to `y`, which is closed
          value: Vec[x:3 | y:4, f32[4]]
          y:     opened by vmap at app.py:12
          try:   return the value from the mapped function, and use the result
        """,
    ),
    "argument": Golden(
        lambda: vmap(lambda a: a)(closed_value()),
        errors.EscapeError,
        """
        argument 1: this value belongs to `x`, which is closed
          value: Vec[x:3, f32[4]]
          x:     opened by vmap at app.py:12
          try:   return the value from the mapped function, and use the result
        """,
    ),
    "truth value": Golden(
        lambda: bool(closed_value()[0]),
        errors.EscapeError,
        """
        bool: this value belongs to `x`, which is closed
          value: Vec[x:3, f32[]]
          x:     opened by vmap at app.py:12
          try:   return the value from the mapped function, and use the result
        """,
    ),
    "assigned": Golden(
        lambda: Tensor.zeros(4).contiguous().assign(closed_value()),
        errors.EscapeError,
        """
        assign: this value belongs to `x`, which is closed
          value: Vec[x:3, f32[4]]
          x:     opened by vmap at app.py:12
          try:   return the value from the mapped function, and use the result
        """,
    ),
    "lifted": Golden(
        lambda: lift(lambda a: a)(closed_value()),
        errors.EscapeError,
        """
        lift: value 1: this value belongs to `x`, which is closed
          value: Vec[x:3, f32[4]]
          x:     opened by vmap at app.py:12
          try:   return the value from the mapped function, and use the result
        """,
    ),
    "a closed brand": Golden(
        _brand_after_its_block,
        errors.EscapeError,
        """
        unvec: brand `users` is closed
          try: use it inside its `with` block
        """,
    ),
    "unvec of a batched value": Golden(
        lambda: vmap(lambda a: unvec(a))(X),
        errors.EscapeError,
        """
        unvec: this value still varies over `a`
          value: Vec[a:3, f32[4]]
          try:   return it from the mapped function, or call brand.unvec(x) first
        """,
    ),
}


@params(ESCAPES)
def test_escapes(g: Golden) -> None:
    check(g)


def test_message_names_line_of_brand() -> None:
    kept = []
    with brand("users", 3) as users:
        kept.append(users.vec(X))
    vmap(lambda x: kept.append(x) or x)(X)
    first = test_message_names_line_of_brand.__code__.co_firstlineno
    for value, what, line in zip(kept, ("brand", "vmap"), (first + 2, first + 4), strict=True):
        with pytest.raises(errors.EscapeError) as info:
            value.numpy()
        assert f"opened by {what} at test_errors.py:{line}\n" in str(info.value)


WRITES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "assign": lambda t, x: t.assign(x),
    "replace": lambda t, x: t.replace(x),
    "__setitem__": lambda t, x: t.__setitem__(0, x[0]),
    "__iadd__": lambda t, x: t.__iadd__(x),
    "view": lambda t, x: t[1:3].assign(x[:2]),
}


@pytest.mark.parametrize("how", WRITES)
@pytest.mark.parametrize("kind", ["realized", "lazy", "constant"])
def test_writes(how: str, kind: str) -> None:
    """A batched value cannot be written into a tensor from outside, which keeps its elements."""
    if how == "view" and kind != "realized":
        return  # tinygrad writes through views of realized tensors only
    make = {
        "realized": lambda: Tensor.ones(4).contiguous().realize(),
        "lazy": lambda: Tensor.ones(4).contiguous(),
        "constant": lambda: Tensor.ones(4),
    }
    t = make[kind]()
    with pytest.raises(errors.WriteError) as info:
        vmap(lambda x: WRITES[how](t, x))(X)
    what = {"__iadd__": "assign", "view": "assign"}.get(how, how)
    shape = "f32[2]" if how == "view" else "f32[4]" if kind != "constant" else vec_type(t)
    assert message_of(info.value) == textwrap.dedent(
        f"""\
        {what}: a value that varies over `x` cannot be written into a tensor that all examples share
          tensor: {shape}, made outside of the scope of `x`
          value:  varies over `x`
          try:    return the new value from the mapped function, or map over the tensor too"""
    )
    assert t.numpy().tolist() == [1, 1, 1, 1]


def test_write_of_shared_value() -> None:
    t = Tensor.ones(4).contiguous().realize()
    check(
        Golden(
            lambda: vmap(lambda x: t.assign(t + 1) + x)(X),
            errors.WriteError,
            """
            assign: this write would run once, not once for each example of `x`
              tensor: f32[4], made outside of the scope of `x`
              try:    return the value, and write it outside
            """,
        )
    )
    assert t.tolist() == [1, 1, 1, 1]


def test_load_of_a_state_per_example() -> None:
    net = nn.Linear(4, 2, bias=False)

    def loaded(x: Tensor) -> Tensor:
        nn.state.load_state_dict(net, {"weight": net.weight + x}, verbose=False)
        return net(x)

    check(
        Golden(
            lambda: vmap(loaded)(X),
            errors.WriteError,
            """
            load_state_dict: a value that varies over `x` cannot be written into a tensor that all examples share
              tensor: f32[2, 4], made outside of the scope of `x`
              value:  varies over `x`
              try:    call functional_call(module, state, x) instead, which keeps the module's tensors
            """,
        )
    )


PROGRAMS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "explain": lambda f: explain(f, X).data(),
    "profile": lambda f: profile(f, X),
    "make_expr": lambda f: make_expr(f)(X),
}


def test_write_in_a_traced_function() -> None:
    w = Tensor.ones(3, 4).contiguous().realize()
    for written in (lambda x: w.assign(w - 0.1 * x), lambda x: w.assign(w * 2) + x):
        check(
            Golden(
                lambda written=written: make_expr(written)(X),  # type: ignore[misc]
                errors.WriteError,
                """
                assign: make_expr traces the function without values, so it cannot write into a tensor from outside
                  tensor: f32[3, 4]
                  try:    return the new value from the function, and write it outside
                """,
            )
        )
    assert w.numpy().tolist() == [[1.0] * 4] * 3


@pytest.mark.parametrize("api_name", ["explain", "profile"])
def test_note_for_many_operations(
    api_name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Operations in the program of a jit count too."""
    twice = jit(lambda x: x * 2 + 1)
    for most, is_told in ((5, True), (6, False)):
        monkeypatch.setattr(data, "MANY_STEPS", most)
        PROGRAMS[api_name](lambda x: twice(twice(x)))
        told = f"{api_name}: the function has 6 operations, which takes long: one step of a loop is enough\n"
        assert capsys.readouterr().err == (told if is_told else "")


def test_explain_names_the_function_of_a_tiny_jit() -> None:
    @TinyJit
    def doubled(values: Tensor) -> Tensor:
        return values * 2

    assert explain(doubled, X).data()["loop"] == "def doubled(values):\n    return values * 2"


def test_explain_names_the_weights_of_modules() -> None:
    net = nn.Linear(4, 2)
    loop = explain(lambda xs: vmap(lambda x: net(x))(xs), X).data()["loop"]
    assert loop.splitlines()[0] == "def f(xs, net_weight, net_bias):"


@pytest.mark.parametrize("api_name", PROGRAMS)
def test_error_in_a_traced_function(api_name: str) -> None:
    """A mistake in a vmap has the message that it has without the trace."""
    mistakes = [lambda x: x[: x[0].int()], lambda x: x if x.sum() > 0 else -x, lambda x: x.numpy()]
    for f in mistakes:
        with pytest.raises(BrandedError) as expected:
            vmap(f)(X)
        with pytest.raises(BrandedError) as info:
            PROGRAMS[api_name](lambda x, f=f: vmap(f)(x))
        lines = [message_of(e.value).splitlines() for e in (info, expected)]
        assert lines[0] == lines[1]


def test_write_of_inner_value_to_outer_tensor() -> None:
    def outer(x: Tensor) -> Tensor:
        mine = x.zeros_like().contiguous()
        vmap(lambda y: mine.assign(y))(Y)
        return mine

    with pytest.raises(errors.WriteError, match="varies over `y`"):
        vmap(outer)(X)


def test_batchnorm_statistics_are_unchanged() -> None:
    bn = nn.BatchNorm(2)
    with Context(TRAINING=1), pytest.raises(errors.WriteError, match="each example of `x` has its own"):
        vmap(lambda x: bn(x))(Tensor.ones(3, 4, 2, 5))
    assert bn.running_mean.numpy().tolist() == [0, 0]
    assert bn.num_batches_tracked.numpy() == 0


OPTIONS = {
    "name taken": Golden(
        lambda: vmap(lambda x: vmap(lambda y: y, axis_name="users")(x), axis_name="users")(X),
        errors.NameTakenError,
        """
        axis_name: brand `users` is already open
          open:  users:3
          first: opened by vmap at app.py:12
          try:   use another name for the inner brand
        """,
    ),
    "name": Golden(
        lambda: vmap(lambda x: x, axis_name=3)(X),
        errors.OptionError,
        """
        axis_name: 3 is not a name
          try: pass a non-empty string, or a subclass of Brand
        """,
    ),
    "name of every brand": Golden(
        lambda: vmap(lambda x: x, axis_name=Brand)(X),
        errors.OptionError,
        """
        axis_name: `Brand` is the base class, not a brand
          try: class Users(Brand): ..., and axis_name=Users
        """,
    ),
    "axis_size": Golden(
        lambda: vmap(lambda x: x, axis_size=-1),
        errors.OptionError,
        """
        axis_size: -1 is not a size
          try: pass an int of 0 or more
        """,
    ),
    "chunk_size": Golden(
        lambda: vmap(lambda x: x, chunk_size=0),
        errors.OptionError,
        """
        chunk_size: 0 is not a size
          try: pass an int of 1 or more
        """,
    ),
    "randomness": Golden(
        lambda: vmap(lambda x: x, randomness="yes"),
        errors.OptionError,
        """
        randomness: 'yes' is not a choice
          try: pass "error", "same" or "different"
        """,
    ),
    "tune": Golden(
        lambda: jit(lambda x: x, tune="slow"),  # type: ignore[call-overload]
        errors.OptionError,
        """
        jit: tune='slow' is not a choice
          try: pass "fast", "best", or None for no tuning
        """,
    ),
    "brand size": Golden(
        lambda: brand("users", None),
        errors.OptionError,
        """
        brand: None is not a size
          try: pass an int of 0 or more
        """,
    ),
    "random": Golden(
        lambda: vmap(lambda x: x + Tensor.rand(4))(X),
        errors.RandomnessError,
        """
        randomness: choose whether the examples of vmap over `x` share a random sample
          x:   opened by vmap at app.py:12
          try: randomness="different" for one sample per example, or "same" for one sample for all
        """,
    ),
    "custom kernel": Golden(
        lambda: vmap(lambda x: Tensor.empty(4).custom_kernel(x, fxn=lambda a, b: a)[0])(X),
        errors.UnsupportedError,
        """
        custom_kernel: a hand-written kernel has no batching rule
          value: Vec[x:3, f32[4]]
          try:   wrap the call in sequential_vmap, or in a custom_vmap whose rule runs it on the batch
        """,
    ),
    "bitcast": Golden(
        lambda: vmap(lambda x: x.sum().bitcast("uint8"))(X),
        errors.UnsupportedError,
        """
        bitcast: a 0-d value has no axis to rescale to another item size
          value: Vec[x:3, u8[]]
          try:   x.reshape(1).bitcast(...)
        """,
    ),
}


@params(OPTIONS)
def test_options(g: Golden) -> None:
    check(g)


def _vec(axis: Any = 0, x: Any = X) -> Any:
    with brand("users", 2) as users:
        return users.vec(x, axis)


BRANDS = {
    "size": Golden(
        _vec,
        errors.SizeError,
        """
        vec: brand `users` has 2 examples, but axis 0 has 3
          brand:  users:2
          tensor: f32[3, 4]
          try:    use another axis, or another brand
        """,
    ),
    "axis": Golden(
        lambda: _vec(2),
        errors.AxisRangeError,
        """
        vec: brand `users`: axis 2 is out of range for f32[3, 4]
          try: use an axis from -2 to 1
        """,
    ),
    "0-d": Golden(
        lambda: _vec(0, Tensor(1.0)),
        errors.AxisRangeError,
        """
        vec: brand `users`: axis 0 is out of range for float[]
          try: pass a tensor with at least one axis
        """,
    ),
    "None": Golden(
        lambda: _vec(None),
        errors.AxisTypeError,
        """
        vec: brand `users`: None is not an axis here
          try: pass an int
        """,
    ),
    "list": Golden(
        lambda: _vec(0, [1, 2]),
        errors.AxisTypeError,
        """
        vec: brand `users` takes a tensor, not a list
          try: pass a tensor
        """,
    ),
}


@params(BRANDS)
def test_brands(g: Golden) -> None:
    check(g)


def test_every_error_has_builtin_base() -> None:
    for cls in vars(errors).values():
        if isinstance(cls, type) and cls is not BrandedError and issubclass(cls, BrandedError):
            python = TypeError | ValueError | IndexError | NameError | RuntimeError | MemoryError | ImportError
            assert issubclass(cls, python)


def test_error_closes_brands() -> None:
    with pytest.raises(ZeroDivisionError):
        vmap(lambda x: 1 // 0)(X)
    assert vmap(lambda x: x.sum())(X).tolist() == [6, 22, 38]


def test_brand_names_are_unique() -> None:
    class Users(Brand):
        pass

    seen: list[str] = []
    inner = vmap(vmap(lambda x, y: seen.append(repr(x + y)) or x + y))
    vmap(inner, axis_name="x2")(Tensor.ones(2, 3, 4), Tensor.ones(2, 3, 4))
    assert seen == ["Vec[x2:2 | x:3 | x3:4, f32[]]"]
    with brand(Users, 3) as users:
        assert isinstance(users, Users)
        with pytest.raises(errors.NameTakenError), brand(Users, 3):
            pass
        vmap(lambda Users: seen.append(repr(Users)) or Users)(X)  # noqa: N803
    assert seen[1] == "Vec[Users2:3, f32[4]]"


def test_bases_of_errors_in_readme() -> None:
    """Check the statement of README: each error is also a built-in exception."""
    kinds = (TypeError, ValueError, IndexError)
    others = {"NameUnboundError": NameError, "CallbackError": RuntimeError, "CompilerError": RuntimeError}
    others |= {"OutOfMemoryError": MemoryError, "MemoryLimitError": MemoryError, "TinygradError": ImportError}
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, BrandedError)]
    for cls in classes:
        if cls is not BrandedError:
            assert issubclass(cls, others.get(cls.__name__, kinds)), cls


PLACED: dict[str, Callable[[], Any]] = {
    "AxisRangeError": lambda: vmap(lambda a: a, in_axes=2)(X),
    "a tree of out_axes": lambda: vmap(lambda a: (a, a), out_axes=(0, 0, 0))(X),
    "OptionError": lambda: vmap(lambda a: a, randomness="yes"),  # type: ignore[call-overload]
    "axis type": lambda: vmap(lambda a: a, in_axes="batch"),
    "WriteError": lambda: vmap(lambda a: Y[0].assign(a))(X),
    "masked_select": lambda: vmap(lambda a: a.masked_select(a > 1))(X),
    "an argument of the body": lambda: vmap(lambda a: random.uniform(random.key(0), (2,), maxval="x"))(X),
}


@pytest.mark.places
@pytest.mark.parametrize("mistake", PLACED.values(), ids=PLACED.keys())
def test_message_names_running_line(mistake: Callable[[], Any]) -> None:
    with pytest.raises(BrandedError) as info:
        mistake()
    line = mistake.__code__.co_firstlineno
    assert re.search(rf"^  at: +test_errors\.py:{line}$", str(info.value), re.MULTILINE)


@pytest.mark.places
def test_prompt_has_no_line() -> None:
    with pytest.raises(errors.AxisTypeError) as info:
        eval("vmap(lambda a: a, in_axes='batch')", {"vmap": vmap})
    assert "at:" not in str(info.value)


def test_runpy_frames_are_skipped() -> None:
    names: dict[str, Any] = {"frame": source.frame}
    exec(compile("found = frame()", "<frozen runpy>", "exec"), names)
    assert names["found"] is None
    exec(compile("found = frame()", "app.py", "exec"), names)
    assert names["found"].f_code.co_filename == "app.py"


def test_condition_omits_bool() -> None:
    asked = ast.parse("not bool(x)", mode="eval").body
    assert suggestions._condition(asked) == "(x).logical_not()"


OF_PYTHON = {
    "json": Golden(
        lambda: vmap(lambda x: json.dumps({"x": x}))(X),
        errors.OperandError,
        """
        vmap: a Python function that takes numbers got a tensor
          python: Object of type Tensor is not JSON serializable
          at:     app.py:12
          try:    return the tensor and call the function on the result, or use debug.callback(f, x)
        """,
    ),
    "an array": Golden(
        lambda: vmap(lambda i: np.ones(3)[i])(Tensor([0, 2])),
        errors.OperandError,
        """
        vmap: a Python function that takes numbers got a tensor
          python: only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices
          at:     app.py:12
          try:    Tensor(np.ones(3))[i]
        """,  # noqa: E501  numpy's message is this long
    ),
    "a text": Golden(
        lambda: jit(lambda x: "%d steps" % x)(Tensor(3)),  # noqa: UP031
        errors.OperandError,
        """
        jit: a Python function that takes numbers got a tensor
          python: %d format: a real number is required, not Tensor
          at:     app.py:12
          try:    debug.print("{x}", x=x)
        """,
    ),
    "a dict": Golden(
        lambda: vmap(lambda x: {1: 2}[x])(Tensor([1, 2])),
        errors.OperandError,
        """
        vmap: a tensor cannot be the key of a dict
          given: a tensor
          at:    app.py:12
          try:   put the values into a Tensor([...]), and index it with the position of the key
        """,
    ),
    "a method of numpy": Golden(
        lambda: vmap(lambda x: x.astype("int32"))(X),
        errors.OperandError,
        """
        vmap: a tensor has no method `astype`
          at:  app.py:12
          try: x.cast("int32")
        """,
    ),
    "a parameter of numpy": Golden(
        lambda: jit(lambda x: x.sum(0, keepdims=True))(X),
        errors.OperandError,
        """
        jit: `sum` has no parameter `keepdims`
          at:  app.py:12
          try: x.sum(0, keepdim=True)
        """,
    ),
}


@params(OF_PYTHON)
def test_errors_of_python_functions(g: Golden) -> None:
    with pytest.raises(g.cls) as info:
        g.mistake()
    assert re.sub(r"\w+\.py:\d+", "app.py:12", str(info.value)) == textwrap.dedent(g.text).strip()
    assert isinstance(info.value.__cause__, (AttributeError, TypeError, IndexError, KeyError))


OF_NUMPY = {
    "complex64": Golden(
        lambda: Tensor(np.ones(2, np.complex64)),
        errors.OperandError,
        """
        Tensor: there is no dtype for complex64
          data: numpy complex64[2]
          try:  Tensor(numpy.stack([numpy.real(x), numpy.imag(x)], -1))
        """,
    ),
    "a number of Python": Golden(
        lambda: vmap(lambda x: x * Tensor(1 + 2j))(X),
        errors.OperandError,
        """
        Tensor: there is no dtype for complex128
          data: numpy complex128[]
          try:  Tensor(numpy.stack([numpy.real(x), numpy.imag(x)], -1))
        """,
    ),
    "words": Golden(
        lambda: Tensor(np.array(["a", "bc"])),
        errors.OperandError,
        """
        Tensor: there is no dtype for <U2
          data: numpy <U2[2]
          try:  pass an array of numbers, such as an index per word or days per date
        """,
    ),
}


@pytest.mark.enabled("cpu")
@params(OF_NUMPY)
def test_unsupported_dtypes(g: Golden) -> None:
    check(g)


@pytest.mark.enabled("cpu")
def test_numpy_scalars_become_tensors() -> None:
    for x in (np.float32(1.5), np.int16(-3), np.uint64(2**63), np.bool_(True), np.float16(0.5)):
        assert Tensor(x).numpy() == x and Tensor(x).numpy().dtype == Tensor(np.asarray(x)).numpy().dtype == x.dtype
    assert Tensor([np.float32(1), np.float32(2)]).tolist() == [1.0, 2.0]
    assert vmap(lambda x: x * Tensor(np.float32(2)))(X).tolist() == (X * 2).tolist()


def raising(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize(
    "error", (TypeError("a Tensor is not what I take"), ValueError("no"), KeyError("Tensor"), IndexError("1")), ids=repr
)
def test_user_errors_are_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as info:
        vmap(lambda x: raising(error))(X)
    assert info.value is error
    with pytest.raises(TypeError, match="object is not callable") as other:
        vmap(lambda x: x(1))(X)
    assert not isinstance(other.value, BrandedError)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        vmap(lambda x: x.nothing)(X)
