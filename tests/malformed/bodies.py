"""Malformed bodies of mapped functions."""

# mypy: ignore-errors
from __future__ import annotations

import json
import math
import statistics

import numpy as np
from tinygrad import Tensor

from branded import errors, grad, scan, vmap
from tests.malformed import refused, right
from tests.malformed.values import (
    BIG_ENDIAN,
    COMPLEX,
    LONG,
    MASKED,
    NASTY,
    NP,
    OBJECTS,
    WORDS,
    N,
    Odd,
    V,
    X,
    escaped,
    one,
)


def plus_array(x):
    x += np.ones(2, "float32")
    return x


def set_first(x):
    x = x * 1
    x[0] = np.float32(1)
    return x


def array_plus(x):
    a = NP.copy()
    a += x
    return a


SHARED = Tensor.zeros(3).contiguous().realize()


def write_shared(x):
    SHARED.assign(SHARED + x)
    return x


def write_part(x):
    SHARED[0] = x
    return x


class _F:
    def __init__(self):
        pass

    shape = (3,)

    def __len__(self):
        return 3


def foreign(module, name):
    cls = type(name, (_F,), {"__module__": module})
    return cls()


ROWS = (
    right(
        "body: x + an array",
        lambda: vmap(lambda x: x + np.ones(2, "float32"))(X).tolist(),
        [[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]],
    ),
    right(
        "body: an array + x",
        lambda: vmap(lambda x: np.ones(2, "float32") + x)(X).tolist(),
        [[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]],
    ),
    right("body: an array + a number for each example", lambda: vmap(lambda x: NP * x)(V)[1].tolist(), [2.0, 4.0, 6.0]),
    right(
        "body: x - an array, and back",
        lambda: vmap(lambda x: (np.ones(2, "float32") - x) - (x - np.ones(2, "float32")))(X)[0].tolist(),
        [0.0, -2.0],
    ),
    right(
        "body: x < an array",
        lambda: vmap(lambda x: x < np.array([2.0, 2.0], "float32"))(X).tolist(),
        [[True, False], [False, False], [False, False]],
    ),
    right(
        "body: x == an array",
        lambda: vmap(lambda x: x == np.array([1.0, 4.0], "float32"))(X).tolist(),
        [[True, False], [False, True], [False, False]],
    ),
    right(
        "body: an array > x",
        lambda: vmap(lambda x: np.array([2.0, 2.0], "float32") > x)(X).tolist(),
        [[True, False], [False, False], [False, False]],
    ),
    right(
        "body: x @ an array",
        lambda: vmap(lambda x: x @ np.array([[1.0, 0.0], [0.0, 2.0]], "float32"))(X).tolist(),
        [[1.0, 4.0], [3.0, 8.0], [5.0, 12.0]],
    ),
    right(
        "body: an array @ x",
        lambda: vmap(lambda x: np.array([[1.0, 0.0], [0.0, 2.0]], "float32") @ x)(X).tolist(),
        [[1.0, 4.0], [3.0, 8.0], [5.0, 12.0]],
    ),
    right("body: x * a number of numpy", lambda: vmap(lambda x: x * np.float32(2))(V).tolist(), [2.0, 4.0, 6.0]),
    right("body: a number of numpy * x", lambda: vmap(lambda x: np.float32(2) * x)(V).tolist(), [2.0, 4.0, 6.0]),
    right("body: a double of numpy * x", lambda: vmap(lambda x: np.float64(2) * x)(V).tolist(), [2.0, 4.0, 6.0]),
    right(
        "body: x.maximum(an array)",
        lambda: vmap(lambda x: x.maximum(np.array([2.0, 5.0], "float32")))(X).tolist(),
        [[2.0, 5.0], [3.0, 5.0], [5.0, 6.0]],
    ),
    right(
        "body: x.where(an array, 0)",
        lambda: vmap(lambda x: (x > 2).where(np.array([7.0, 8.0], "float32"), 0))(X).tolist(),
        [[0.0, 0.0], [7.0, 8.0], [7.0, 8.0]],
    ),
    right(
        "body: x[an array of ints]",
        lambda: vmap(lambda x: x[np.array([1, 0])])(X).tolist(),
        [[2.0, 1.0], [4.0, 3.0], [6.0, 5.0]],
    ),
    right("body: x[a number of numpy]", lambda: vmap(lambda x: x[np.int64(1)])(X).tolist(), [2.0, 4.0, 6.0]),
    refused(
        "body: x[an array of strings]",
        lambda: vmap(lambda x: x[WORDS])(X),
        errors.OperandError,
        "index: numpy <U1[3] is not a tensor or a number",
    ),
    right(
        "body: x.cat(an array)",
        lambda: vmap(lambda x: x.cat(np.ones(1, "float32")))(X).tolist(),
        [[1.0, 2.0, 1.0], [3.0, 4.0, 1.0], [5.0, 6.0, 1.0]],
    ),
    right(
        "body: x.stack(an array)",
        lambda: vmap(lambda x: x.stack(np.ones(2, "float32")))(X)[2].tolist(),
        [[5.0, 6.0], [1.0, 1.0]],
    ),
    right(
        "body: x.matmul(an array)",
        lambda: vmap(lambda x: x.matmul(np.ones((2, 1), "float32")))(X).tolist(),
        [[3.0], [7.0], [11.0]],
    ),
    right(
        "body: x + an array of the other byte order",
        lambda: vmap(lambda x: x + BIG_ENDIAN)(V)[0].tolist(),
        [2.0, 3.0, 4.0],
    ),
    refused(
        "body: x + an array of long doubles",
        lambda: vmap(lambda x: x + LONG)(V),
        errors.OperandError,
        "add: numpy float128[3] is not a tensor or a number",
    ),
    refused(
        "body: x + an array of objects",
        lambda: vmap(lambda x: x + OBJECTS)(V),
        errors.OperandError,
        "add: numpy object[3] is not a tensor or a number",
    ),
    refused(
        "body: x + an array of strings",
        lambda: vmap(lambda x: x + WORDS)(V),
        errors.OperandError,
        "add: numpy <U1[3] is not a tensor or a number",
    ),
    refused(
        "body: an array of strings + x",
        lambda: vmap(lambda x: WORDS + x)(V),
        errors.OperandError,
        "add: numpy <U1[3] is not a tensor or a number",
    ),
    refused(
        "body: x + complex numbers",
        lambda: vmap(lambda x: x + COMPLEX)(V),
        errors.OperandError,
        "add: numpy complex128[3] is not a tensor or a number",
    ),
    refused(
        "body: x + a complex number",
        lambda: vmap(lambda x: x + 1j)(V),
        errors.OperandError,
        "add: the complex 1j is not a tensor or a number",
    ),
    refused(
        "body: x + a masked array",
        lambda: vmap(lambda x: x + MASKED)(V),
        errors.OperandError,
        "add: numpy masked float64[3] is not a tensor or a number",
    ),
    refused(
        "body: x + a string",
        lambda: vmap(lambda x: x + NASTY)(V),
        errors.OperandError,
        "add: the str 'two\\nlines \\'single\\' \"double\" <b>b... is not a tensor or a number",
    ),
    refused(
        "body: x + None",
        lambda: vmap(lambda x: x + None)(V),
        errors.OperandError,
        "add: None is not a tensor or a number",
    ),
    refused(
        "body: x + a list",
        lambda: vmap(lambda x: x + [1.0, 2.0])(X),
        errors.OperandError,
        "add: a list is not a tensor or a number",
    ),
    refused(
        "body: x + a dict",
        lambda: vmap(lambda x: x + {})(X),
        errors.OperandError,
        "add: a dict is not a tensor or a number",
    ),
    refused(
        "body: x + an object",
        lambda: vmap(lambda x: x + Odd())(X),
        errors.OperandError,
        "add: an Odd is not a tensor or a number",
    ),
    right("body: x += an array", lambda: vmap(plus_array)(X)[0].tolist(), [2.0, 3.0]),
    right("body: x[0] = an array's entry", lambda: vmap(set_first)(X)[0].tolist(), [1.0, 2.0]),
    refused(
        "body: numpy.exp(x)",
        lambda: vmap(lambda x: np.exp(x))(X),
        errors.OperandError,
        "numpy.exp: Vec[x:3, f32[2]] cannot be read by numpy",
    ),
    refused(
        "body: numpy.sum(x)",
        lambda: vmap(lambda x: np.sum(x))(X),
        errors.OperandError,
        "numpy.sum: Vec[x:3, f32[2]] cannot be read by numpy",
    ),
    right("body: numpy.add(an array, x)", lambda: vmap(lambda x: np.add(NP, x))(V)[0].tolist(), [2.0, 3.0, 4.0]),
    refused(
        "body: numpy.stack([x, x])",
        lambda: vmap(lambda x: np.stack([x, x]))(X),
        errors.OperandError,
        "numpy.stack: Vec[x:3, f32[2]] cannot be read by numpy",
    ),
    refused(
        "body: numpy.where(x > 0, x, 0)",
        lambda: vmap(lambda x: np.where(x > 0, x, 0))(X),
        errors.OperandError,
        "numpy.where: Vec[x:3, bool[2]] cannot be read by numpy",
    ),
    refused(
        "body: numpy.dot(an array, x)",
        lambda: vmap(lambda x: np.dot(NP, x))(V),
        errors.OperandError,
        "numpy.dot: Vec[x:3, f32[]] cannot be read by numpy",
    ),
    refused(
        "body: numpy.add.reduce(x)",
        lambda: vmap(lambda x: np.add.reduce(x))(X),
        errors.OperandError,
        "numpy.add: Vec[x:3, f32[2]] cannot be read by numpy",
    ),
    refused(
        "body: an array += x",
        lambda: vmap(array_plus)(V),
        errors.OperandError,
        "numpy.add: Vec[x:3, f32[]] cannot be read by numpy, or write into an array",
    ),
    refused(
        "body: a tensor of torch + x",
        lambda: vmap(lambda x: foreign("torch", "Tensor") + x)(V),
        errors.OperandError,
        "radd: a Tensor of torch is not a tensor or a number",
    ),
    refused(
        "body: x + a tensor of torch",
        lambda: vmap(lambda x: x + foreign("torch", "Tensor"))(V),
        errors.OperandError,
        "add: a Tensor of torch is not a tensor or a number",
    ),
    refused(
        "body: x * an array of jax",
        lambda: vmap(lambda x: x * foreign("jaxlib._jax", "ArrayImpl"))(V),
        errors.OperandError,
        "mul: an ArrayImpl of jax is not a tensor or a number",
    ),
    refused(
        "body: x @ a tensor of torch",
        lambda: vmap(lambda x: x @ foreign("torch", "Tensor"))(X),
        errors.OperandError,
        "matmul: a Tensor of torch is not a tensor or a number",
    ),
    refused(
        "body: x.maximum(a tensor of torch)",
        lambda: vmap(lambda x: x.maximum(foreign("torch", "Tensor")))(X),
        errors.OperandError,
        "maximum: a Tensor of torch is not a tensor or a number",
    ),
    refused(
        "body: x[a tensor of torch]",
        lambda: vmap(lambda x: x[foreign("torch", "Tensor")])(X),
        errors.OperandError,
        "index: a Tensor of torch is not a tensor or a number",
    ),
    refused(
        "body: vmap over a tensor of torch",
        lambda: vmap(one)(foreign("torch", "Tensor")),
        errors.AxisTypeError,
        "in_axes: argument 1 is a Tensor of torch, not a tensor",
    ),
    refused(
        "body: vmap over an array of jax",
        lambda: vmap(one)(foreign("jaxlib._jax", "ArrayImpl")),
        errors.AxisTypeError,
        "in_axes: argument 1 is an ArrayImpl of jax, not a tensor",
    ),
    refused(
        "body: a tensor of torch as the result",
        lambda: vmap(lambda x: foreign("torch", "Tensor"))(V),
        errors.AxisTypeError,
        "out_axes: the result is a Tensor of torch, which cannot be stacked",
    ),
    refused(
        "body: a series of pandas as the argument",
        lambda: vmap(one)(foreign("pandas.core.series", "Series")),
        errors.AxisTypeError,
        "in_axes: argument 1 is a Series of pandas, not a tensor",
    ),
    refused(
        "body: the gradient with respect to a tensor of torch",
        lambda: grad(one)(foreign("torch", "Tensor")),
        errors.DerivativeError,
        "grad: argument 1 is a Tensor of torch, and only float tensors have derivatives",
    ),
    refused(
        "body: a scan over an array of jax",
        lambda: scan(lambda c, x: (c, x), Tensor(0.0), foreign("jaxlib._jax", "ArrayImpl")),
        errors.CarryError,
        "scan: xs is an ArrayImpl of jax, not a tensor",
    ),
    refused(
        "body: Tensor([x, x])",
        lambda: vmap(lambda x: Tensor([x, x]))(V),
        errors.OperandError,
        "Tensor: list(Vec[x:3, f32[]], Vec[x:3, f32[]]) contains tensors, which have no numbers yet",
    ),
    refused(
        "body: Tensor((x, 1.0))",
        lambda: vmap(lambda x: Tensor((x, 1.0)))(V),
        errors.OperandError,
        "Tensor: (Vec[x:3, f32[]], the float 1.0) contains tensors, which have no numbers yet",
    ),
    refused(
        "body: Tensor([[x, x], [x, x]])",
        lambda: vmap(lambda x: Tensor([[x, x], [x, x]]))(V),
        errors.OperandError,
        "Tensor: list(list(Vec[x:3, f32[]], Vec[x:3, f32[]]), list(Vec[x:3, f32[]], Vec[x:3, f32[]])) contains tensors, which have no numbers yet",
    ),
    refused(
        "body: Tensor(x)",
        lambda: vmap(lambda x: Tensor(x))(V),
        errors.OperandError,
        "Tensor: Vec[x:3, f32[]] is a tensor already",
    ),
    refused(
        "body: Tensor([x]) in a loop",
        lambda: scan(lambda c, x: (Tensor([x, c]).sum(), None), Tensor(0.0), V),
        errors.OperandError,
        "Tensor: list(f32[], f32[]) contains tensors, which have no numbers yet",
    ),
    refused(
        "body: Tensor.full((x, 2), 0)",
        lambda: vmap(lambda x: Tensor.full((x, 2), 0))(N),
        errors.ShapeError,
        "expand: a shape or an offset differs from example to example",
    ),
    refused(
        "body: Tensor.arange(x)",
        lambda: vmap(lambda x: Tensor.arange(x))(N),
        errors.ReadError,
        "arange: this needs a Python number, and the value varies over `x`",
    ),
    refused(
        "body: Tensor.full(2, x)",
        lambda: vmap(lambda x: Tensor.full((2,), x))(N),
        errors.ReadError,
        "full: this needs a Python number, and the value varies over `x`",
    ),
    refused(
        "body: Tensor.empty(x)",
        lambda: vmap(lambda x: Tensor.empty(x))(N),
        errors.ReadError,
        "empty: this needs a Python number, and the value varies over `x`",
    ),
    refused(
        "body: Tensor.randint(high=x)",
        lambda: vmap(lambda x: Tensor.randint(2, low=0, high=x))(N),
        errors.ReadError,
        "randint: this needs a Python number, and the value varies over `x`",
    ),
    refused(
        "body: Tensor.manual_seed(x)",
        lambda: vmap(lambda x: Tensor.manual_seed(x))(N),
        errors.ReadError,
        "manual_seed: this needs a Python number, and the value varies over `x`",
    ),
    refused(
        "body: x.full_like(x)",
        lambda: vmap(lambda x: x.full_like(x))(N),
        errors.ReadError,
        "full_like: this needs a Python number, and the value varies over `x`",
    ),
    right(
        "body: V.roll(x)",
        lambda: vmap(lambda x: V.roll(x))(N).tolist(),
        [[3.0, 1.0, 2.0], [2.0, 3.0, 1.0], [1.0, 2.0, 3.0]],
    ),
    refused(
        "body: V.cumsum(x)",
        lambda: vmap(lambda x: V.cumsum(x))(N),
        errors.ReadError,
        "cumsum: this needs a Python number, and the value varies over `x`",
    ),
    refused(
        "body: Tensor of the array of objects that numpy makes of x",
        lambda: vmap(lambda x: Tensor(np.asarray(x)))(X),
        errors.OperandError,
        "Tensor: numpy object[2] contains tensors, which have no numbers yet",
    ),
    refused(
        "body: Tensor.zeros(x)",
        lambda: vmap(lambda x: Tensor.zeros(x))(N),
        errors.ShapeError,
        "expand: a shape or an offset differs from example to example",
    ),
    refused(
        "body: Tensor.eye(x)",
        lambda: vmap(lambda x: Tensor.eye(x))(N),
        errors.ReadError,
        "eye: this needs a Python number, and the value varies over `x`",
    ),
    refused(
        "body: x.reshape(n)",
        lambda: vmap(lambda x, n: x.reshape(n, 1))(X, N),
        errors.ShapeError,
        "reshape: a shape or an offset differs from example to example",
    ),
    refused(
        "body: x[:n]",
        lambda: vmap(lambda x, n: x[:n])(X, N),
        errors.ShapeError,
        "slice: a shape or an offset differs from example to example",
    ),
    refused(
        "body: range(n)",
        lambda: vmap(lambda n: range(n))(N),
        errors.ReadError,
        "int: a value that varies over `n` has no single int",
    ),
    refused(
        "body: a list indexed by n",
        lambda: vmap(lambda n: [1, 2, 3][n])(N),
        errors.ReadError,
        "int: a value that varies over `n` has no single int",
    ),
    refused(
        "body: if x",
        lambda: vmap(lambda x: x if x else -x)(V),
        errors.ReadError,
        "bool: a value that varies over `x` has no single truth value",
    ),
    refused(
        "body: x and x",
        lambda: vmap(lambda x: x and x)(V),
        errors.ReadError,
        "bool: a value that varies over `x` has no single truth value",
    ),
    refused(
        "body: not x",
        lambda: vmap(lambda x: not x)(V),
        errors.ReadError,
        "bool: a value that varies over `x` has no single truth value",
    ),
    refused(
        "body: float(x)",
        lambda: vmap(lambda x: float(x))(V),
        errors.ReadError,
        "float: a value that varies over `x` has no single float",
    ),
    refused(
        "body: int(x)",
        lambda: vmap(lambda x: int(x))(N),
        errors.ReadError,
        "int: a value that varies over `x` has no single int",
    ),
    refused(
        "body: complex(x)",
        lambda: vmap(lambda x: complex(x))(V),
        errors.ReadError,
        "float: a value that varies over `x` has no single float",
    ),
    refused(
        "body: math.sin(x)",
        lambda: vmap(lambda x: math.sin(x))(V),
        errors.ReadError,
        "float: a value that varies over `x` has no single float",
    ),
    refused(
        "body: x.numpy()",
        lambda: vmap(lambda x: x.numpy())(V),
        errors.ReadError,
        "numpy: a value that varies over `x` has no single value to read",
    ),
    refused(
        "body: x.tolist()",
        lambda: vmap(lambda x: x.tolist())(V),
        errors.ReadError,
        "tolist: a value that varies over `x` has no single value to read",
    ),
    refused(
        "body: x.item()",
        lambda: vmap(lambda x: x.item())(V),
        errors.ReadError,
        "item: a value that varies over `x` has no single value to read",
    ),
    refused(
        "body: x.data()",
        lambda: vmap(lambda x: x.data())(V),
        errors.ReadError,
        "data: a value that varies over `x` has no single value to read",
    ),
    refused(
        "body: x.backward()",
        lambda: vmap(lambda x: x.sum().backward())(X),
        errors.ReadError,
        "backward: a value that varies over `x` has a gradient for each example, and .grad holds one",
    ),
    refused(
        "body: max of two values",
        lambda: vmap(lambda x: max(x[0], x[1]))(X),
        errors.ReadError,
        "bool: a value that varies over `x` has no single truth value",
    ),
    refused(
        "body: sorted values",
        lambda: vmap(lambda x: sorted([x[0], x[1]]))(X),
        errors.ReadError,
        "bool: a value that varies over `x` has no single truth value",
    ),
    refused(
        "body: iterating over a number",
        lambda: vmap(lambda x: list(x))(V),
        errors.ReadError,
        "iter: a value that varies over `x` is 0-d per example: there is nothing to iterate over",
    ),
    right("body: unpacking a value", lambda: vmap(lambda x: (lambda a, b: a - b)(*x))(X).tolist(), [-1.0, -1.0, -1.0]),
    refused(
        "body: the shape of what is picked by a mask",
        lambda: vmap(lambda x: x.masked_select(x > 2))(X),
        errors.ShapeError,
        "masked_select: the shape of the result would differ from example to example",
    ),
    refused(
        "body: the places that are not zero",
        lambda: vmap(lambda x: x.nonzero())(X),
        errors.ShapeError,
        "nonzero: the shape of the result would differ from example to example",
    ),
    refused(
        "body: a write into what all share",
        lambda: vmap(write_shared)(V),
        errors.WriteError,
        "assign: a value that varies over `x` cannot be written into a tensor that all examples share",
    ),
    refused(
        "body: a write of a part into what all share",
        lambda: vmap(write_part)(V),
        errors.WriteError,
        "__setitem__: a value that varies over `x` cannot be written into a tensor that all examples share",
    ),
    refused(
        "body: a draw without randomness",
        lambda: vmap(lambda x: x + Tensor.rand(2))(V),
        errors.RandomnessError,
        "randomness: choose whether the examples of vmap over `x` share a random sample",
    ),
    refused(
        "body: a draw of a nested shape, the same for all",
        lambda: vmap(lambda x: x + Tensor.rand((2, 2), 2, 2), randomness="same")(V),
        errors.DrawTypeError,
        "rand: a tuple in a shape is not an int",
    ),
    refused(
        "body: a draw of a nested shape, different",
        lambda: vmap(lambda x: x + Tensor.rand((2, 2), 2, 2), randomness="different")(V),
        errors.DrawTypeError,
        "rand: a tuple in a shape is not an int",
    ),
    refused(
        "body: a draw of a string, the same for all",
        lambda: vmap(lambda x: x + Tensor.rand("2"), randomness="same")(V),
        errors.DrawTypeError,
        "rand: the str '2' in a shape is not an int",
    ),
    refused(
        "body: a draw of a negative size, the same for all",
        lambda: vmap(lambda x: x + Tensor.rand(-2), randomness="same")(V),
        errors.DrawError,
        "rand: -2 in a shape is not a size",
    ),
    refused(
        "body: a draw of a negative size, different",
        lambda: vmap(lambda x: x + Tensor.rand(-2), randomness="different")(V),
        errors.DrawError,
        "rand: -2 in a shape is not a size",
    ),
    refused(
        "body: a draw of a size that varies",
        lambda: vmap(lambda n: Tensor.rand(n), randomness="different")(N),
        errors.DrawTypeError,
        "rand: Vec[n:3, i32[]] in a shape is not an int",
    ),
    refused(
        "body: custom_kernel",
        lambda: vmap(lambda x: Tensor.custom_kernel(x, fxn=lambda *a: a[0]))(X),
        errors.UnsupportedError,
        "custom_kernel: a hand-written kernel has no batching rule",
    ),
    right("body: divmod(x, 2)", lambda: vmap(lambda x: divmod(x, 2)[1])(N).tolist(), [1, 0, 1]),
    right("body: +x", lambda: vmap(lambda x: +x)(N).tolist(), [1, 2, 3]),
    right("body: x // 0 of ints", lambda: vmap(lambda x: x // 0 + x % (x * 0))(N).tolist(), [0, 0, 0]),
    refused(
        "body: divmod with a word",
        lambda: vmap(lambda x: divmod(x, "two"))(V),
        errors.OperandError,
        "floordiv: the str 'two' is not a tensor or a number",
    ),
    refused(
        "body: math.trunc",
        lambda: vmap(lambda x: math.trunc(x))(V),
        errors.OperandError,
        "trunc: the Python function takes numbers, and this is a tensor",
    ),
    refused(
        "body: json of x",
        lambda: vmap(lambda x: json.dumps([x]))(V),
        errors.OperandError,
        "vmap: a Python function that takes numbers got a tensor",
    ),
    refused(
        "body: statistics of x in a loop",
        lambda: scan(lambda c, x: (statistics.mean([c, x]), None), Tensor(0.0), V),
        errors.OperandError,
        "scan: a Python function that takes numbers got a tensor",
    ),
    refused(
        "body: an array at x in a gradient",
        lambda: grad(lambda x: NP[x])(Tensor(1.0)),
        errors.OperandError,
        "grad: a Python function that takes numbers got a tensor",
    ),
    refused(
        "body: a dict at x",
        lambda: vmap(lambda x: {1: 1.0}[x])(N),
        errors.OperandError,
        "vmap: a tensor cannot be the key of a dict",
    ),
    refused(
        "body: bits of a float",
        lambda: vmap(lambda x: x > 0 & x)(V),
        errors.OperandError,
        "and: bitwise operations need bools or ints, not a float",
    ),
    refused(
        "body: ~ of a float in a gradient",
        lambda: grad(lambda x: ~x)(Tensor(1.0)),
        errors.OperandError,
        "invert: bitwise operations need bools or ints, not a float",
    ),
    right("body: x of a closed brand, printed", lambda: repr(escaped()), "Vec[x:3, f32[]]"),
    refused(
        "body: x of a closed brand, read",
        lambda: escaped().item(),
        errors.EscapeError,
        "item: this value belongs to `x`, which is closed",
    ),
)
