"""Malformed uses of brands and of functions that inspect a value."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
from tinygrad import Tensor

import branded
from branded import Brand, as_axes, axes, brand, brands, errors, lift, unvec, vec_type, vmap
from tests.malformed import refused, right
from tests.malformed.values import (
    EMPTY,
    HUGE,
    NASTY,
    NP,
    NUMBER,
    Hostile,
    Users,
    V,
    W,
    bottom,
    cyclic_list,
    deep,
    escaped,
    one,
)


def entered(name, size, x):
    with brand(name, size) as b:
        return b.unvec(b.vec(x))


def inside(f):
    with brand("i", 3) as b:
        return f(b)


def twice(name):
    with brand(name, 3), brand(name, 3):
        pass


def class_and_string():
    with brand(Users, 3), brand("Users", 3):
        pass


def closed():
    with brand("i", 3) as b:
        return b


def escaped_table():
    out = []
    vmap(lambda x: out.append(x) or x)(Tensor.ones(2, 3))
    return out[0]


def raising_block():
    try:
        with brand("i", 3):
            raise KeyError("a")
    except KeyError:
        pass
    return len(branded.core.brand.open_brands())


ROWS = (
    refused("brand: a negative size", lambda: brand("i", -1), errors.OptionError, "brand: -1 is not a size"),
    refused("brand: a float size", lambda: brand("i", 2.0), errors.OptionError, "brand: 2.0 is not a size"),
    refused("brand: a bool size", lambda: brand("i", True), errors.OptionError, "brand: True is not a size"),
    refused("brand: a string size", lambda: brand("i", "2"), errors.OptionError, "brand: '2' is not a size"),
    refused("brand: a tensor size", lambda: brand("i", Tensor(2)), errors.OptionError, "brand: int[] is not a size"),
    right("brand: a numpy size", lambda: entered("i", np.int64(3), V).tolist(), [1.0, 2.0, 3.0]),
    refused(
        "brand: 10^30 examples",
        lambda: entered("i", HUGE, V),
        errors.OptionError,
        "brand: 1000000000000000000000000000000 is more than a tensor can have",
    ),
    refused(
        "brand: 2^63 examples",
        lambda: entered("i", 2**63, V),
        errors.OptionError,
        "brand: 9223372036854775808 is more than a tensor can have",
    ),
    refused("brand: an empty name", lambda: entered("", 3, V), errors.OptionError, "axis_name: '' is not a name"),
    refused("brand: a number for a name", lambda: entered(3, 3, V), errors.OptionError, "axis_name: 3 is not a name"),
    refused(
        "brand: Brand for a name",
        lambda: entered(Brand, 3, V),
        errors.OptionError,
        "axis_name: `Brand` is the base class, not a brand",
    ),
    refused(
        "brand: a brand for a name",
        lambda: entered(Brand(3), 3, V),
        errors.OptionError,
        "axis_name: a Brand is not a name",
    ),
    refused(
        "brand: another randomness",
        lambda: brand("i", 3, randomness="maybe"),
        errors.OptionError,
        "randomness: 'maybe' is not a choice",
    ),
    right("brand: a nasty name", lambda: entered(NASTY, 3, V).tolist(), [1.0, 2.0, 3.0]),
    refused(
        "brand: a name that is open", lambda: twice("i"), errors.NameTakenError, "axis_name: brand `i` is already open"
    ),
    refused(
        "brand: a class that is open",
        lambda: twice(Users),
        errors.NameTakenError,
        "axis_name: brand `Users` is already open",
    ),
    refused(
        "brand: a class whose name is open",
        lambda: class_and_string(),
        errors.NameTakenError,
        "axis_name: brand `Users` is already open",
    ),
    refused("Brand: a negative size", lambda: Brand(-1), errors.OptionError, "Brand: -1 is not a size"),
    refused("Brand: a string", lambda: Brand("a"), errors.OptionError, "Brand: 'a' is not a size"),
    refused("Brand: a float", lambda: Brand(2.5), errors.OptionError, "Brand: 2.5 is not a size"),
    refused("Brand: a bool", lambda: Brand(True), errors.OptionError, "Brand: True is not a size"),
    refused("Brand: None", lambda: Brand(None), errors.OptionError, "Brand: None is not a size"),
    refused(
        "Brand: 10^30",
        lambda: Brand(HUGE),
        errors.OptionError,
        "Brand: 1000000000000000000000000000000 is more than a tensor can have",
    ),
    refused("Brand: a number for a name", lambda: Brand(3, 4), errors.OptionError, "Brand: 4 is not a name"),
    refused("Brand: an empty name", lambda: Brand(3, ""), errors.OptionError, "Brand: '' is not a name"),
    refused(
        "Brand: another randomness",
        lambda: Brand(3, "i", randomness="maybe"),
        errors.OptionError,
        "randomness: 'maybe' is not a choice",
    ),
    refused(
        "vec: a list",
        lambda: inside(lambda b: b.vec([1.0, 2.0, 3.0])),
        errors.AxisTypeError,
        "vec: brand `i` takes a tensor, not a list",
    ),
    right("vec: an array", lambda: inside(lambda b: b.unvec(b.vec(NP))).tolist(), [1.0, 2.0, 3.0]),
    refused(
        "vec: a string",
        lambda: inside(lambda b: b.vec(NASTY)),
        errors.AxisTypeError,
        "vec: brand `i` takes a tensor, not the str 'two\\nlines \\'single\\' \"double\" <b>b...",
    ),
    refused(
        "vec: another size",
        lambda: inside(lambda b: b.vec(W)),
        errors.SizeError,
        "vec: brand `i` has 3 examples, but axis 0 has 2",
    ),
    refused(
        "vec: a number",
        lambda: inside(lambda b: b.vec(NUMBER)),
        errors.AxisRangeError,
        "vec: brand `i`: axis 0 is out of range for float[]",
    ),
    refused(
        "vec: an axis out of range",
        lambda: inside(lambda b: b.vec(V, axis=1)),
        errors.AxisRangeError,
        "vec: brand `i`: axis 1 is out of range for f32[3]",
    ),
    refused(
        "vec: None as the axis",
        lambda: inside(lambda b: b.vec(V, axis=None)),
        errors.AxisTypeError,
        "vec: brand `i`: None is not an axis here",
    ),
    refused(
        "vec: a string as the axis",
        lambda: inside(lambda b: b.vec(V, axis="0")),
        errors.AxisTypeError,
        "vec: brand `i`: the str '0' is not an axis",
    ),
    refused(
        "vec: a tensor as the axis",
        lambda: inside(lambda b: b.vec(V, axis=Tensor(0))),
        errors.AxisTypeError,
        "vec: brand `i`: int[] is not an axis",
    ),
    refused("vec: a closed brand", lambda: closed().vec(V), errors.EscapeError, "vec: brand `i` is closed"),
    refused(
        "vec: a value of a closed brand",
        lambda: inside(lambda b: b.vec(escaped_table())),
        errors.EscapeError,
        "vec: this value belongs to `x`, which is closed",
    ),
    refused(
        "unvec: a string",
        lambda: inside(lambda b: b.unvec("text")),
        errors.AxisTypeError,
        "unvec: brand `i` takes tensors and numbers, not the str 'text'",
    ),
    refused(
        "unvec: None",
        lambda: inside(lambda b: b.unvec(None)),
        errors.AxisTypeError,
        "unvec: brand `i` takes tensors and numbers, not None",
    ),
    refused(
        "unvec: a list",
        lambda: inside(lambda b: b.unvec([b.vec(V)])),
        errors.AxisTypeError,
        "unvec: brand `i` takes tensors and numbers, not a list",
    ),
    right(
        "unvec: an array, which is repeated", lambda: inside(lambda b: b.unvec(np.float32(2))).tolist(), [2.0, 2.0, 2.0]
    ),
    refused(
        "unvec: an axis out of range",
        lambda: inside(lambda b: b.unvec(b.vec(V), axis=1)),
        errors.AxisRangeError,
        "unvec: brand `i`: axis 1 is out of range for a result with 1 axis",
    ),
    refused(
        "unvec: None as the axis",
        lambda: inside(lambda b: b.unvec(b.vec(V), axis=None)),
        errors.AxisTypeError,
        "unvec: brand `i`: None is not an axis here",
    ),
    refused(
        "unvec: a float as the axis",
        lambda: inside(lambda b: b.unvec(b.vec(V), axis=0.5)),
        errors.AxisTypeError,
        "unvec: brand `i`: the float 0.5 is not an axis",
    ),
    refused("unvec: a closed brand", lambda: closed().unvec(V), errors.EscapeError, "unvec: brand `i` is closed"),
    refused(
        "unvec: a value of a closed brand",
        lambda: inside(lambda b: b.unvec(escaped())),
        errors.EscapeError,
        "unvec: this value belongs to `x`, which is closed",
    ),
    right("unvec: what does not vary, of no examples", lambda: entered("i", 0, EMPTY).tolist(), []),
    refused(
        "branded.unvec: a value that varies",
        lambda: vmap(lambda x: unvec(x))(V),
        errors.EscapeError,
        "unvec: this value still varies over `x`",
    ),
    right("branded.unvec: a string", lambda: unvec("text"), "text"),
    right("branded.unvec: a plain tensor", lambda: unvec(V).tolist(), [1.0, 2.0, 3.0]),
    refused(
        "branded.unvec: a value of a closed brand",
        lambda: unvec(escaped()),
        errors.EscapeError,
        "unvec: this value still varies over `x`",
    ),
    refused("lift: a number", lambda: lift(3), errors.CallError, "lift: the int 3 is not a function"),
    refused(
        "lift: a value of a closed brand",
        lambda: lift(one)(escaped()),
        errors.EscapeError,
        "lift: value 1: this value belongs to `x`, which is closed",
    ),
    refused(
        "lift: too many arguments",
        lambda: lift(one)(V, V),
        errors.CallError,
        "lift: one() takes 1 positional argument but 2 were given",
    ),
    refused(
        "lift: a list that contains itself",
        lambda: lift(one)(cyclic_list()),
        errors.TreeError,
        "tree: a list contains itself",
    ),
    right("lift: 10,000 lists", lambda: bottom(lift(one)(deep(V))).tolist(), [1.0, 2.0, 3.0]),
    refused(
        "as_axes: a number",
        lambda: as_axes(3, None),
        errors.AxisTypeError,
        "as_axes: the argument is the int 3, not a tensor",
    ),
    refused(
        "as_axes: too few names", lambda: as_axes(V), errors.AxesError, "as_axes: 0 names for a tensor with 1 axis"
    ),
    refused("as_axes: a string", lambda: as_axes(V, "n"), errors.AxisTypeError, "as_axes: 'n' is not an axis"),
    refused("as_axes: a bool", lambda: as_axes(V, True), errors.AxisTypeError, "as_axes: True is not an axis"),
    refused(
        "as_axes: another length",
        lambda: as_axes(V, 4),
        errors.SizeError,
        "as_axes: axis 0 has 3 entries, and `4` has 4",
    ),
    refused("axes: a list", lambda: axes([V]), errors.AxisTypeError, "axes: the argument is a list, not a tensor"),
    right("axes: of a tensor whose axes nobody named", lambda: axes(V), (3,)),
    right("brands: a string", lambda: brands("text"), ()),
    right("brands: an object without a repr", lambda: brands(Hostile()), ()),
    right("vec_type: an object without a repr", lambda: vec_type(Hostile()), "a Hostile"),
    right("vec_type: a type", lambda: vec_type(int), "the class int"),
)
