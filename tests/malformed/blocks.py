"""Malformed calls of dask arrays, and of functions on arrays."""

# mypy: ignore-errors
from __future__ import annotations

import dask.array as da
import numpy as np
from tinygrad import Tensor

from branded import Brand, errors, psum, vmap
from branded import dask as blocks
from branded.dask import on_arrays
from tests.malformed import refused, right
from tests.malformed.values import HUGE, NASTY, NP, V, X, cyclic_list, escaped, one, two

D = da.from_array(np.arange(6, dtype="float32").reshape(3, 2), chunks=(2, 2))
D1 = da.from_array(np.arange(4, dtype="float32"), chunks=2)


def mapped(f, *args, **options):
    """Return a call of `dask.vmap(f)(*args)` that is not computed."""
    return lambda: blocks.vmap(f, **options)(*(args or (D1,)))


def values(f, *args, **options):
    return lambda: mapped(f, *args, **options)().compute().tolist()


ROWS = (
    refused("dask.vmap: a number", mapped(3), errors.CallError, "dask.vmap: the int 3 is not a function"),
    refused(
        "dask.vmap: no arguments",
        lambda: blocks.vmap(one)(),
        errors.AxesError,
        "in_axes: nothing is mapped, so the batch size is unknown",
    ),
    refused(
        "dask.vmap: tensors alone",
        mapped(one, X),
        errors.AxesError,
        "dask.vmap: no mapped argument is a dask array",
    ),
    refused(
        "dask.vmap: arrays of numpy alone",
        mapped(one, NP),
        errors.AxesError,
        "dask.vmap: no mapped argument is a dask array",
    ),
    refused(
        "dask.vmap: a word",
        mapped(one, "a"),
        errors.AxisTypeError,
        "in_axes: argument 1 is the str 'a': there is no axis 0 to map over",
    ),
    refused(
        "dask.vmap: a list that contains itself, beside an array",
        mapped(two, D, cyclic_list()),
        errors.TreeError,
        "tree: a list contains itself",
    ),
    refused(
        "dask.vmap: in_axes: a word",
        mapped(one, in_axes="a"),
        errors.AxisTypeError,
        "in_axes: the str 'a' is not an axis",
    ),
    refused(
        "dask.vmap: in_axes: True",
        mapped(one, in_axes=True),
        errors.AxisTypeError,
        "in_axes: True is a bool, not an axis",
    ),
    refused(
        "dask.vmap: in_axes: 10^30",
        mapped(one, in_axes=HUGE),
        errors.AxisRangeError,
        f"in_axes: argument 1: axis {HUGE} is out of range for f32[4]",
    ),
    refused(
        "dask.vmap: in_axes: None",
        mapped(one, in_axes=None),
        errors.AxesError,
        "in_axes: nothing is mapped, so the batch size is unknown",
    ),
    refused(
        "dask.vmap: in_axes: one too many",
        mapped(one, in_axes=(0, 0)),
        errors.AxesError,
        "in_axes: 2 axes for 1 positional argument",
    ),
    refused(
        "dask.vmap: out_axes: out of range",
        mapped(one, out_axes=5),
        errors.AxisRangeError,
        "out_axes: the result: axis 5 is out of range for a result with 1 axis",
    ),
    refused(
        "dask.vmap: out_axes: a tuple for one result",
        mapped(one, out_axes=(0, 1)),
        errors.AxesError,
        "out_axes: a tuple of axes was given for the result, which is a single leaf",
    ),
    refused(
        "dask.vmap: out_axes: None for what varies",
        mapped(one, out_axes=None),
        errors.AxesError,
        "out_axes: None needs a result that is the same for all examples, and the result varies over `x`",
    ),
    refused(
        "dask.vmap: a function of too many parameters",
        mapped(two),
        errors.CallError,
        "dask.vmap: two() missing 1 required positional argument: 'y'",
    ),
    refused("dask.vmap: axis_name: 3", mapped(one, axis_name=3), errors.OptionError, "axis_name: 3 is not a name"),
    refused(
        "dask.vmap: axis_name: every brand",
        mapped(one, axis_name=Brand),
        errors.OptionError,
        "axis_name: `Brand` is the base class, not a brand",
    ),
    right("dask.vmap: a nasty name", values(lambda x: psum(x, NASTY), axis_name=NASTY), [6.0] * 4),
    refused(
        "dask.vmap: no such brand",
        mapped(lambda x: psum(x, "users")),
        errors.NameUnboundError,
        "psum: no brand 'users' is open here",
    ),
    refused(
        "dask.vmap: a result that is a word",
        mapped(lambda x: "a"),
        errors.AxisTypeError,
        "out_axes: the result is the str 'a', which cannot be stacked",
    ),
    right("dask.vmap: a result that is a number", values(lambda x: 3), [3] * 4),
    right("dask.vmap: no result", mapped(lambda x: None), None),
    refused(
        "dask.vmap: two sizes",
        mapped(two, D, D1),
        errors.SizeError,
        "vmap: mapped sizes differ: argument 1 has 3 examples, argument 2 has 4",
    ),
    right("dask.vmap: other chunks", values(two, D1, D1.rechunk(3)), [0.0, 2.0, 4.0, 6.0]),
    right("dask.vmap: no examples", values(one, D1[:0]), []),
    refused(
        "dask.vmap: complex numbers",
        mapped(one, D1.astype("complex64")),
        errors.AxisTypeError,
        "dask.vmap: tinygrad has no dtype complex64 for this dask array",
    ),
    refused(
        "dask.vmap: objects",
        mapped(one, D1.astype(object)),
        errors.AxisTypeError,
        "dask.vmap: tinygrad has no dtype object for this dask array",
    ),
    refused(
        "dask.vmap: chunks of unknown sizes",
        mapped(one, D1[D1 > 1]),
        errors.AxisTypeError,
        "dask.vmap: a dask array has chunks of unknown sizes",
    ),
    refused(
        "dask.vmap: an example in chunks",
        mapped(one, D.rechunk((3, 1))),
        errors.AxesError,
        "dask.vmap: argument 1 is in 2 chunks along axis 1, and an example needs it whole",
    ),
    refused(
        "dask.vmap: an array without axes",
        mapped(one, D1.sum()),
        errors.AxisTypeError,
        "in_axes: argument 1 is a 0-d tensor: there is no axis 0 to map over",
    ),
    refused(
        "dask.vmap: a value is read",
        mapped(lambda x: x.item()),
        errors.ReadError,
        "item: in the body of dask.vmap there is no value to read: it is traced once, for all calls",
    ),
    refused(
        "dask.vmap: a value decides",
        mapped(lambda x: x if x > 0 else -x),
        errors.ReadError,
        "bool: in the body of dask.vmap there is no value to read: it is traced once, for all calls",
    ),
    refused(
        "dask.vmap: a draw",
        mapped(lambda x: x + Tensor.rand(1)),
        errors.RandomnessError,
        "randomness: a random sample in the body of dask.vmap, which is traced once, is the same in each call",
    ),
    refused(
        "dask.vmap: a value of another vmap",
        mapped(lambda x: x + escaped()),
        errors.EscapeError,
        "vmap: the result: this value belongs to `x2`, which is closed",
    ),
    refused(
        "dask.vmap: within a vmap of tensors",
        lambda: vmap(lambda a: blocks.vmap(lambda x: x + a)(D1))(V),
        errors.UnsupportedError,
        "dask.vmap: a call inside a program, a derivative or a vmap of tensors cannot be distributed",
    ),
    refused(
        "dask.vmap: an array of dask in the body",
        mapped(lambda x: x + D1),
        errors.OperandError,
        "add: an Array is not a tensor or a number",
    ),
    refused("on_arrays: a number", lambda: on_arrays(3), errors.CallError, "on_arrays: the int 3 is not a function"),
    refused("on_arrays: None", lambda: on_arrays(None), errors.CallError, "on_arrays: None is not a function"),
    refused(
        "on_arrays: a function of too many parameters",
        lambda: on_arrays(two)(NP),
        errors.CallError,
        "on_arrays: two() missing 1 required positional argument: 'y'",
    ),
    refused(
        "on_arrays: a list that contains itself",
        lambda: on_arrays(one)(cyclic_list()),
        errors.TreeError,
        "tree: a list contains itself",
    ),
    refused(
        "on_arrays: within a vmap",
        lambda: vmap(lambda a: on_arrays(one)(a))(X),
        errors.ReadError,
        "numpy: a value that varies over `a` has no single value to read",
    ),
    right("on_arrays: a word", lambda: on_arrays(one)("a"), "a"),
    right("on_arrays: no examples", lambda: on_arrays(vmap(one))(np.ones((0, 2), "float32")).tolist(), []),
    right("on_arrays: bytes in the other order", lambda: on_arrays(vmap(one))(np.ones(2, ">f4")).tolist(), [1.0, 1.0]),
)
