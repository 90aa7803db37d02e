"""Functions of arrays."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
from tinygrad import Tensor

from branded import array, convolve, cross, errors, kron, outer, take_along_axis, trace, vmap
from tests.malformed import refused, right
from tests.malformed.values import HUGE, NASTY, NP, N, V, W, cyclic_list, escaped

Wrong, Bad, Axis = errors.OperandError, errors.ArgumentError, errors.AxisRangeError


ROWS = (
    refused("array: a string", lambda: array("a"), Wrong, "array: the array is the str 'a', not a tensor"),
    refused("array: None", lambda: array(None), Wrong, "array: the array is None, not a tensor"),
    refused(
        "array: a string in a list",
        lambda: array([[1, 2], [3, NASTY]]),
        Wrong,
        "array: entry [1][1] is the str 'two\\nlines \\'single\\' \"double\" <b>b..., not a tensor",
    ),
    refused("array: a dict", lambda: array([{"a": V}]), Wrong, "array: entry [0] is a dict, not a tensor"),
    refused("array: ragged", lambda: array([[1, 2], [3]]), Bad, "array: the entries have different shapes"),
    refused(
        "array: ragged below",
        lambda: array([[[1], [1, 2]]]),
        Bad,
        "array: the entries of entry [0] have different shapes",
    ),
    refused("array: tensors of two shapes", lambda: array([V, W]), Bad, "array: the entries have different shapes"),
    refused(
        "array: cyclic",
        lambda: array(cyclic_list()),
        errors.TreeError,
        "tree: a list contains itself, so there is no end of what is in it",
    ),
    refused("array: no dtype", lambda: array([1], dtype="int7"), Bad, "array: 'int7' is not a dtype"),
    refused(
        "array: escaped",
        lambda: array([escaped()]),
        errors.EscapeError,
        "array: entry [0]: this value belongs to `x`, which is closed",
    ),
    right("array: an array of numpy", lambda: array([NP, NP]).shape, (2, 3)),
    right("array: numpy's numbers", lambda: array([np.float32(1), np.int64(2)]).tolist(), [1.0, 2.0]),
    right("array: an int beyond 32 bits", lambda: array([2**40, 1], dtype="int64").tolist(), [2**40, 1]),
    right("array: empty lists", lambda: array([[], []]).shape, (2, 0)),
    refused("outer: a list", lambda: outer([1.0], V), Wrong, "outer: a is a list, not a tensor"),
    refused("outer: None", lambda: outer(V, None), Wrong, "outer: b is None, not a tensor"),
    refused(
        "outer: escaped",
        lambda: outer(V, escaped()),
        errors.EscapeError,
        "outer: b: this value belongs to `x`, which is closed",
    ),
    right("outer: a number", lambda: outer(2.0, V).shape, (1, 3)),
    right("outer: an array of numpy", lambda: outer(NP, V).shape, (3, 3)),
    refused(
        "kron: a string",
        lambda: kron(NASTY, V),
        Wrong,
        "kron: a is the str 'two\\nlines \\'single\\' \"double\" <b>b..., not a tensor",
    ),
    right("kron: numbers", lambda: kron(2, 3).item(), 6),
    refused(
        "cross: four components", lambda: cross(Tensor.ones(4), V), Bad, "cross: a vector has two or three components"
    ),
    refused("cross: a number", lambda: cross(2.0, V), Axis, "cross: axis -1 is out of range for f32[]"),
    refused("cross: no such axis", lambda: cross(V, V, axis=1), Axis, "cross: axis 1 is out of range for f32[3]"),
    refused(
        "cross: shapes",
        lambda: cross(Tensor.ones(2, 3), Tensor.ones(4, 3)),
        Bad,
        "cross: the shapes do not broadcast",
    ),
    refused("trace: a vector", lambda: trace(V), Axis, "trace: axis 1 is out of range for f32[3]"),
    refused(
        "trace: one axis twice", lambda: trace(Tensor.ones(2, 2), 0, 1, -1), Bad, "trace: axis1 and axis2 are both 1"
    ),
    refused("trace: a float offset", lambda: trace(Tensor.ones(2, 2), 0.5), Wrong, "trace: offset is the float 0.5"),
    refused("trace: a string", lambda: trace("a"), Wrong, "trace: a is the str 'a', not a tensor"),
    right("trace: an offset beyond all", lambda: trace(Tensor.ones(2, 2), HUGE).item(), 0.0),
    refused(
        "take_along_axis: floats",
        lambda: take_along_axis(V, V),
        Wrong,
        "take_along_axis: indices is f32[3], and not of ints",
    ),
    refused(
        "take_along_axis: a list",
        lambda: take_along_axis(V, [0]),
        Wrong,
        "take_along_axis: indices is a list, not a tensor",
    ),
    refused(
        "take_along_axis: ranks",
        lambda: take_along_axis(Tensor.ones(2, 3), N),
        Bad,
        "take_along_axis: arr and indices have different numbers of axes",
    ),
    refused(
        "take_along_axis: axis",
        lambda: take_along_axis(V, N, axis=1),
        Axis,
        "take_along_axis: axis 1 is out of range for f32[3]",
    ),
    refused(
        "take_along_axis: mode",
        lambda: take_along_axis(V, N, mode="wrap"),
        Bad,
        "take_along_axis: mode is the str 'wrap'",
    ),
    refused(
        "take_along_axis: fill",
        lambda: take_along_axis(V, N, fill_value="a"),
        Wrong,
        "take_along_axis: fill_value is the str 'a'",
    ),
    right("take_along_axis: of nothing", lambda: take_along_axis(V[:0], N[:0]).shape, (0,)),
    refused(
        "convolve: a matrix",
        lambda: convolve(Tensor.ones(2, 2), V),
        Bad,
        "convolve: two sequences with entries are convolved",
    ),
    refused("convolve: empty", lambda: convolve(V[:0], V), Bad, "convolve: two sequences with entries are convolved"),
    refused("convolve: mode", lambda: convolve(V, V, mode="ful"), Bad, "convolve: mode is the str 'ful'"),
    refused("convolve: None", lambda: convolve(V, None), Wrong, "convolve: v is None, not a tensor"),
    right("convolve: per example", lambda: vmap(convolve, in_axes=(0, None))(Tensor.ones(2, 3), V).shape, (2, 5)),
)
