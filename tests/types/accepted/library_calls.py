"""Batched values in calls of Python's library that mypy types with `object` or Any, in functions of plain tensors."""

import dataclasses
import functools
import logging
import operator
from dataclasses import dataclass
from typing import assert_type

import numpy as np
from tinygrad import Tensor

from branded import vmap

x, y = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[5.0, 6.0], [7.0, 8.0]])
log = logging.getLogger(__name__)


# --- the text of a log
def logged(a: Tensor) -> Tensor:
    log.info("%s and %r", a, a.sum())
    log.debug("%d of %.1f%%", a.shape[0], 100.0, exc_info=False)
    log.debug("%(size)d and %*d", {"size": 2}, 3, 4)
    return a


vmap(logged)(x)


# --- fields that are replaced
@dataclass
class Options:
    w: Tensor
    rate: float = 0.1


shared = Options(Tensor([1.0, 2.0]))
vmap(lambda a: dataclasses.replace(shared, w=a, rate=2.0).w * 3)(x)


# --- objects whose comparison reads no field
@dataclass(eq=False)
class Node:
    value: Tensor


@dataclass
class Named:
    value: Tensor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named)


def compared(a: Tensor) -> Tensor:
    is_same = Node(a) == Node(a * 2) or Node(a) != Node(a) or Named(a) == Named(a * 2) or Named(a) != Named(-a)
    return a if is_same else -a


vmap(compared)(x)


# --- a function that chooses by the type of its argument
@functools.singledispatch
def describe(value: object) -> float:
    return 1.0


@describe.register
def _(value: Tensor) -> float:
    return float(value.ndim)


vmap(lambda a: a * describe(a) + describe("b"))(x)


@functools.singledispatch
def weighted(value: Tensor, by: Tensor) -> Tensor:
    return value * by


vmap(weighted, in_axes=(0, None))(x, y[0])
vmap(lambda a: vmap(lambda b: weighted(a, b))(y))(x)

# --- a slice as an object
assert_type(x[slice(0, 1)], Tensor)


# --- an index that is no mask
def chosen(a: Tensor, i: int) -> Tensor:
    is_first = i > 1
    best = a.argmax()
    keep = a > 0
    return a[0 if is_first else 1] + a[best] + keep.where(a, 0)[int(is_first)]


vmap(lambda a: chosen(a, 1))(x)

# --- entries and attributes by name
name, other = "exp", "missing"
vmap(operator.itemgetter("b"))({"a": x, "b": y})  # N: returns "Any"
vmap(lambda a: getattr(a, name)() * getattr(shared, other, 1.0))(x)  # N: returns "Any"
operator.itemgetter("a", "b")({"a": x, "b": y})

# --- keys of out_axes
vmap(lambda a: {"a": a, "b": {"c": a}}, out_axes={"a": 0, "b": {"c": 1}})(Tensor.ones(2, 3))
vmap(lambda a: {"a": a, "b": {"c": a}}, out_axes={"a": 0, "b": 0})(x)


# --- numpy's numbers and arrays are operands of batched values
def scale(x: Tensor) -> Tensor:
    return vmap(lambda v: np.float32(2.0) * v + np.ones(3, dtype=np.float32) * v)(x)


assert_type(vmap(lambda x: x * np.float32(2.0))(Tensor.ones(2, 3)), Tensor)
assert_type(vmap(lambda x: np.add(x, np.multiply(2.0, x)))(Tensor.ones(2, 3)), Tensor)
vmap(lambda x: (x > np.float32(2.0)).where(x.maximum(np.float32(1.0)), np.float32(0.0)))(scale(Tensor.ones(2, 3)))
