"""Batched values in calls of Python's library that mypy types with `object` or Any, in functions of plain tensors."""

import dataclasses
import functools
import logging
import operator
from dataclasses import dataclass

import numpy as np
from tinygrad import Tensor

from branded import vmap

x, y = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[5.0, 6.0], [7.0, 8.0]])
images = Tensor.ones(3, 4, 4)
log = logging.getLogger(__name__)


# --- a number in the text of a log
def logged(a: Tensor) -> Tensor:
    log.info("%s has the mean %.3f", a, a.mean())  # E: format: a value that varies over "a" has no single text
    return a


vmap(logged)(x)

# --- a number in the text of a log, in a lambda
vmap(lambda a: a * bool(logging.warning("100%% of %d", a.sum())))(x)  # E: format: a value that varies over "a"


# --- a field that a dataclass does not have
@dataclass
class Point:
    x: Tensor
    y: Tensor
    label: str = ""


def moved(p: Point) -> Point:
    return dataclasses.replace(p, z=p.x)  # E: Unexpected keyword argument "z" for "replace" of "Point"


# --- a field of another type, and one that a class without tensors does not have
@dataclass
class Options:
    rate: float


dataclasses.replace(Point(x, y), label=2)  # E: Argument "label" to "replace" of "Point" has incompatible type "int"
dataclasses.replace(Options(0.1), steps=2)  # E: Unexpected keyword argument "steps" for "replace" of "Options"


# --- more arguments than a function has that chooses by the type of the first
@functools.singledispatch
def describe(value: object) -> str:
    return str(value)


describe(x, y)  # E: Too many arguments for "describe"


# --- dataclasses whose fields are compared
def settled(a: Tensor) -> Tensor:
    return a if Point(a, a) == Point(a * 1, a) else -a  # E: bool: a value that varies over "a"


vmap(settled)(x)


# --- a mask in a variable
def positive(a: Tensor) -> Tensor:
    keep = a > 0
    return a[keep]  # E: index: a mask over "a" would choose another number of entries for each example


vmap(positive)(x)


# --- a mask of several comparisons, as one of the indices
def within(a: Tensor) -> Tensor:
    bright = a.sum(0) > 0
    return a[:, ~bright | (a.max(0) < 1)]  # E: index: a mask over "a" would choose another number of entries


vmap(within)(images)


# --- a mask of all examples in a variable
chosen = x[0] > 1
vmap(lambda a: a[chosen])(x)  # E: index: a mask over "a" would choose another number of entries for each example


# --- a write where a mask is true, in a function of tensors
def cleared(a: Tensor) -> Tensor:
    bright = a.sum(0) > 0
    a[:, bright] = 0  # E: assign: a mask over "a" would choose another number of entries for each example
    return a


vmap(cleared)(images)

# --- a key that a dict does not have
vmap(lambda d: operator.itemgetter("c")(d) * 2)({"a": x, "b": y})  # E: dict: there is no key 'c'  N: returns "Any"


# --- a read in a method that is found by its name
class Model:
    def scaled(self, a: Tensor) -> Tensor:
        return a / a.sum().item()  # E: item: a value that varies over "a" has no single value to read


name = "scaled"
vmap(getattr(Model(), name))(x)  # N: returns "Any"

# --- keys of out_axes that the result does not have
vmap(lambda a: {"a": a}, out_axes={"b": 0})(x)  # E: out_axes: the keys for the result are 'b', and the result has 'a'


# --- keys of out_axes that are missing, in a part of the result
def parts(a: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    return a, {"sum": a.sum(), "max": a.max()}


vmap(parts, out_axes=(0, {"sum": 0}))(x)  # E: out_axes: the keys for the result[1] are 'sum', and the result[1] has


# --- operators of numpy keep the brands
vmap(lambda x: np.multiply(2.0, x).sum().item())(x)  # E: item: a value that varies over "x" has no single value
vmap(lambda x: (np.float32(2.0) * x).sum().item())(x)  # E: item: a value that varies over "x" has no single value
vmap(lambda x: np.sqrt(x))(x)  # E: numpy.sqrt: a value that varies over "x" cannot be read by numpy
