"""Malformed collectives, custom rules and modules."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
from tinygrad import Tensor, nn

from branded import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    brand,
    custom_jvp,
    custom_vjp,
    custom_vmap,
    errors,
    functional_call,
    grad,
    jvp,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    psum_scatter,
    sequential_vmap,
    stack_module_state,
    vmap,
)
from tests.malformed import refused, right
from tests.malformed.values import (
    NASTY,
    NP,
    NUMBER,
    Hostile,
    N,
    Odd,
    Users,
    V,
    W,
    X,
    bottom,
    cyclic_list,
    deep,
    escaped,
    one,
    total,
    two,
)


def named(f, x=None):
    return vmap(f, axis_name="i")(V if x is None else x)


def cyclic_names():
    n = ["i"]
    n[0] = n
    return n


def closed():
    with brand("i", 3) as b:
        return b


def with_rule(rule):
    f = custom_vmap(lambda x: x)
    f.def_vmap(rule)
    return f


def jvp_rule(rule):
    f = custom_jvp(lambda x: x.sum())
    f.defjvp(rule)
    return f


def jvps(g, *rules):
    f = custom_jvp(lambda *a: g(*a))
    f.defjvps(*rules)
    return f


def vjp_rule(fwd, bwd):
    f = custom_vjp(lambda x: x.sum())
    f.defvjp(fwd, bwd)
    return f


def nondiff_last():
    f = custom_jvp(lambda x, n: x * n, nondiff_argnums=(-1,))
    f.defjvp(lambda n, p, t: (p[0] * n, t[0] * n))
    return f


def closes_over(y):
    f = custom_jvp(lambda x: x * y)
    f.defjvp(lambda p, t: (p[0] * y, t[0] * y))
    return f(Tensor(2.0))


class Ring:
    def __init__(self):
        self.w = V
        self.me = self

    def __call__(self, x):
        return x * self.w


ROWS = (
    refused("psum: no brand is open", lambda: psum(V, "i"), errors.NameUnboundError, "psum: no brand 'i' is open here"),
    refused(
        "psum: a name that is not open",
        lambda: named(lambda x: psum(x, "j")),
        errors.NameUnboundError,
        "psum: no brand 'j' is open here",
    ),
    refused(
        "psum: a nasty name that is not open",
        lambda: named(lambda x: psum(x, NASTY)),
        errors.NameUnboundError,
        "psum: no brand 'two\\nlines \\'single\\' \"double\" <b>b... is open here",
    ),
    refused(
        "psum: a number as the name",
        lambda: named(lambda x: psum(x, 0)),
        errors.NameUnboundError,
        "psum: no brand 0 is open here",
    ),
    refused(
        "psum: None as the name",
        lambda: named(lambda x: psum(x, None)),
        errors.NameUnboundError,
        "psum: no brand None is open here",
    ),
    refused(
        "psum: a class that is not open",
        lambda: named(lambda x: psum(x, Users)),
        errors.NameUnboundError,
        "psum: no brand Users is open here",
    ),
    refused(
        "psum: another class",
        lambda: named(lambda x: psum(x, int)),
        errors.NameUnboundError,
        "psum: no brand int is open here",
    ),
    right("psum: an empty tuple of names", lambda: named(lambda x: psum(x, ())).tolist(), [1.0, 2.0, 3.0]),
    refused(
        "psum: the same name twice",
        lambda: named(lambda x: psum(x, ("i", "i"))),
        errors.AxesError,
        "psum: a brand is named twice",
    ),
    right("psum: a nested tuple of names", lambda: named(lambda x: psum(x, (("i",),))).tolist(), [6.0, 6.0, 6.0]),
    refused(
        "psum: a set of names",
        lambda: named(lambda x: psum(x, {"i"})),
        errors.NameUnboundError,
        "psum: no brand {'i'} is open here",
    ),
    refused(
        "psum: names that contain themselves",
        lambda: named(lambda x: psum(x, cyclic_names())),
        errors.TreeError,
        "tree: a list contains itself",
    ),
    refused(
        "psum: an array as the name",
        lambda: named(lambda x: psum(x, NP)),
        errors.NameUnboundError,
        "psum: no brand numpy float32[3] is open here",
    ),
    refused(
        "psum: a tensor as the name",
        lambda: named(lambda x: psum(x, V)),
        errors.NameUnboundError,
        "psum: no brand f32[3] is open here",
    ),
    refused(
        "psum: an object without a repr as the name",
        lambda: named(lambda x: psum(x, Hostile())),
        errors.NameUnboundError,
        "psum: no brand a Hostile is open here",
    ),
    refused(
        "psum: the parameter's name, which is no name",
        lambda: vmap(lambda x: psum(x, "x"))(V),
        errors.NameUnboundError,
        "psum: no brand 'x' is open here",
    ),
    refused(
        "psum: a closed brand",
        lambda: psum(V, closed()),
        errors.NameUnboundError,
        "psum: no brand a Brand is open here",
    ),
    refused(
        "psum: a string",
        lambda: named(lambda x: psum("text", "i")),
        errors.AxisTypeError,
        "psum: the str 'text' is not a tensor",
    ),
    right("psum: None", lambda: named(lambda x: psum(None, "i")), None),
    refused(
        "psum: an object",
        lambda: named(lambda x: psum(Odd(), "i")),
        errors.AxisTypeError,
        "psum: an Odd is not a tensor",
    ),
    right("psum: an int, which is counted", lambda: named(lambda x: psum(1, "i")).tolist(), [3, 3, 3]),
    right("psum: a bool, which is counted", lambda: named(lambda x: psum(True, "i")).tolist(), [3, 3, 3]),
    right("psum: an array", lambda: named(lambda x: psum(NP, "i"))[0].tolist(), [3.0, 6.0, 9.0]),
    refused(
        "psum: a tree that contains itself",
        lambda: named(lambda x: psum(cyclic_list(), "i")),
        errors.TreeError,
        "tree: a list contains itself",
    ),
    right("psum: 10,000 lists", lambda: bottom(named(lambda x: psum(deep(x), "i"))).tolist(), [6.0, 6.0, 6.0]),
    refused(
        "psum: a value of a closed brand",
        lambda: named(lambda x: psum(escaped(), "i")),
        errors.EscapeError,
        "psum: this value belongs to `x`, which is closed",
    ),
    refused(
        "psum: in chunks",
        lambda: vmap(lambda x: psum(x, "i"), axis_name="i", chunk_size=2)(V),
        errors.OptionError,
        "psum: brand `i` runs in chunks, so no operation sees all examples at the same time",
    ),
    refused(
        "pmean: a string",
        lambda: named(lambda x: pmean("text", "i")),
        errors.AxisTypeError,
        "pmean: the str 'text' is not a tensor",
    ),
    right("pmean: ints", lambda: vmap(lambda x: pmean(x, "i"), axis_name="i")(N).tolist(), [2.0, 2.0, 2.0]),
    refused(
        "pmean: a name that is not open",
        lambda: named(lambda x: pmean(x, "j")),
        errors.NameUnboundError,
        "pmean: no brand 'j' is open here",
    ),
    refused(
        "pmax: a string",
        lambda: named(lambda x: pmax(NASTY, "i")),
        errors.AxisTypeError,
        "pmax: the str 'two\\nlines \\'single\\' \"double\" <b>b... is not a tensor",
    ),
    refused(
        "pmin: a name that is not open",
        lambda: named(lambda x: pmin(x, "j")),
        errors.NameUnboundError,
        "pmin: no brand 'j' is open here",
    ),
    refused(
        "pmin: None as the name",
        lambda: named(lambda x: pmin(x, None)),
        errors.NameUnboundError,
        "pmin: no brand None is open here",
    ),
    refused(
        "all_gather: an axis out of range",
        lambda: named(lambda x: all_gather(x, "i", axis=1)),
        errors.AxisRangeError,
        "all_gather: axis=1 is out of range for 1 axis",
    ),
    refused(
        "all_gather: a string axis",
        lambda: named(lambda x: all_gather(x, "i", axis="0")),
        errors.AxisTypeError,
        "all_gather: axis='0' is not an axis",
    ),
    refused(
        "all_gather: a bool axis",
        lambda: named(lambda x: all_gather(x, "i", axis=True)),
        errors.AxisTypeError,
        "all_gather: axis=True is not an axis",
    ),
    right(
        "all_gather: a numpy axis",
        lambda: named(lambda x: all_gather(x, "i", axis=np.int64(0)))[0].tolist(),
        [1.0, 2.0, 3.0],
    ),
    refused(
        "all_gather: tiled, of a number",
        lambda: named(lambda x: all_gather(x, "i", tiled=True)),
        errors.AxisRangeError,
        "all_gather: axis=0 is out of range for 0 axes",
    ),
    refused(
        "all_gather: a string",
        lambda: named(lambda x: all_gather("text", "i")),
        errors.AxisTypeError,
        "all_gather: the str 'text' is not a tensor",
    ),
    refused(
        "all_gather: a name that is not open",
        lambda: named(lambda x: all_gather(x, "j")),
        errors.NameUnboundError,
        "all_gather: no brand 'j' is open here",
    ),
    refused(
        "ppermute: no list",
        lambda: named(lambda x: ppermute(x, "i", 3)),
        errors.AxisRangeError,
        "ppermute: 3 is not a pair of examples of i:3",
    ),
    refused(
        "ppermute: a string",
        lambda: named(lambda x: ppermute(x, "i", "01")),
        errors.AxisRangeError,
        "ppermute: '01' is not a pair of examples of i:3",
    ),
    refused(
        "ppermute: None",
        lambda: named(lambda x: ppermute(x, "i", None)),
        errors.AxisRangeError,
        "ppermute: None is not a pair of examples of i:3",
    ),
    refused(
        "ppermute: a number in place of a pair",
        lambda: named(lambda x: ppermute(x, "i", [0])),
        errors.AxisRangeError,
        "ppermute: 0 is not a pair of examples of i:3",
    ),
    refused(
        "ppermute: a triple",
        lambda: named(lambda x: ppermute(x, "i", [(0, 1, 2)])),
        errors.AxisRangeError,
        "ppermute: (0, 1, 2) is not a pair of examples of i:3",
    ),
    refused(
        "ppermute: an example that does not exist",
        lambda: named(lambda x: ppermute(x, "i", [(0, 3)])),
        errors.AxisRangeError,
        "ppermute: (0, 3) is not a pair of examples of i:3",
    ),
    refused(
        "ppermute: an example below 0",
        lambda: named(lambda x: ppermute(x, "i", [(-1, 0)])),
        errors.AxisRangeError,
        "ppermute: (-1, 0) is not a pair of examples of i:3",
    ),
    refused(
        "ppermute: floats",
        lambda: named(lambda x: ppermute(x, "i", [(0.0, 1.0)])),
        errors.AxisRangeError,
        "ppermute: (0.0, 1.0) is not a pair of examples of i:3",
    ),
    right(
        "ppermute: a numpy int", lambda: named(lambda x: ppermute(x, "i", [(np.int64(0), 1)])).tolist(), [0.0, 1.0, 0.0]
    ),
    right(
        "ppermute: an array of pairs",
        lambda: named(lambda x: ppermute(x, "i", np.array([[0, 1]]))).tolist(),
        [0.0, 1.0, 0.0],
    ),
    refused(
        "ppermute: a dict",
        lambda: named(lambda x: ppermute(x, "i", {0: 1})),
        errors.AxisRangeError,
        "ppermute: {0: 1} is not a pair of examples of i:3",
    ),
    refused(
        "ppermute: two go to one",
        lambda: named(lambda x: ppermute(x, "i", [(0, 1), (2, 1)])),
        errors.AxesError,
        "ppermute: perm has a duplicate source or destination",
    ),
    refused(
        "ppermute: one goes to two",
        lambda: named(lambda x: ppermute(x, "i", [(0, 1), (0, 2)])),
        errors.AxesError,
        "ppermute: perm has a duplicate source or destination",
    ),
    refused(
        "ppermute: two brands",
        lambda: named(lambda x: ppermute(x, ("i", "i"), [])),
        errors.AxesError,
        "ppermute: a brand is named twice",
    ),
    right("ppermute: nothing moves", lambda: named(lambda x: ppermute(x, "i", [])).tolist(), [0.0, 0.0, 0.0]),
    refused(
        "all_to_all: no axes",
        lambda: named(lambda x: all_to_all(x, "i", 0, 0)),
        errors.AxisRangeError,
        "all_to_all: split_axis=0 is out of range for 0 axes",
    ),
    refused(
        "all_to_all: an axis of another size",
        lambda: vmap(lambda x: all_to_all(x, "i", 0, 0), axis_name="i")(X),
        errors.SizeError,
        "all_to_all: brand `i` has 3 examples, and axis 0 of the value has 2 entries",
    ),
    refused(
        "all_to_all: an axis out of range",
        lambda: vmap(lambda x: all_to_all(x, "i", 1, 0), axis_name="i")(X),
        errors.AxisRangeError,
        "all_to_all: split_axis=1 is out of range for 1 axis",
    ),
    refused(
        "all_to_all: a string axis",
        lambda: vmap(lambda x: all_to_all(x, "i", "0", 0), axis_name="i")(X),
        errors.AxisTypeError,
        "all_to_all: split_axis='0' is not an axis",
    ),
    refused(
        "all_to_all: None as an axis",
        lambda: vmap(lambda x: all_to_all(x, "i", 0, None), axis_name="i")(X),
        errors.AxisTypeError,
        "all_to_all: concat_axis=None is not an axis",
    ),
    refused(
        "all_to_all: tiled, no multiple",
        lambda: vmap(lambda x: all_to_all(x, "i", 0, 0, tiled=True), axis_name="i")(X),
        errors.SizeError,
        "all_to_all: brand `i` has 3 examples, and axis 0 of the value has 2 entries",
    ),
    refused(
        "psum_scatter: no axis",
        lambda: named(lambda x: psum_scatter(x, "i")),
        errors.AxisRangeError,
        "psum_scatter: scatter_dimension=0 is out of range for 0 axes",
    ),
    refused(
        "psum_scatter: an axis of another size",
        lambda: vmap(lambda x: psum_scatter(x, "i"), axis_name="i")(X),
        errors.SizeError,
        "psum_scatter: brand `i` has 3 examples, and axis 0 of the value has 2 entries",
    ),
    refused(
        "psum_scatter: a float axis",
        lambda: vmap(lambda x: psum_scatter(x, "i", scatter_dimension=0.5), axis_name="i")(X),
        errors.AxisTypeError,
        "psum_scatter: scatter_dimension=0.5 is not an axis",
    ),
    right(
        "psum_scatter: no brands",
        lambda: vmap(lambda x: psum_scatter(x, ()), axis_name="i")(X).tolist(),
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
    ),
    refused(
        "axis_index: a name that is not open",
        lambda: named(lambda x: axis_index("j")),
        errors.NameUnboundError,
        "axis_index: no brand 'j' is open here",
    ),
    refused(
        "axis_index: no brand is open",
        lambda: axis_index("i"),
        errors.NameUnboundError,
        "axis_index: no brand 'i' is open here",
    ),
    refused(
        "axis_size: a name that is not open",
        lambda: named(lambda x: axis_size(NASTY)),
        errors.NameUnboundError,
        "axis_size: no brand 'two\\nlines \\'single\\' \"double\" <b>b... is open here",
    ),
    refused(
        "axis_size: no brand is open",
        lambda: axis_size("i"),
        errors.NameUnboundError,
        "axis_size: no brand 'i' is open here",
    ),
    refused(
        "axis_size: a number as the name",
        lambda: named(lambda x: axis_size(3)),
        errors.NameUnboundError,
        "axis_size: no brand 3 is open here",
    ),
    refused(
        "custom_vmap: a number", lambda: custom_vmap(3), errors.AxesError, "custom_vmap: the int 3 is not a function"
    ),
    refused(
        "custom_vmap: no rule", lambda: vmap(custom_vmap(one))(V), errors.AxesError, "custom_vmap: one has no rule yet"
    ),
    refused(
        "custom_vmap: a rule that is no function",
        lambda: custom_vmap(one).def_vmap(3),
        errors.AxesError,
        "custom_vmap: the rule of one: the int 3 is not a function",
    ),
    refused(
        "custom_vmap: a rule that gives no pair",
        lambda: vmap(with_rule(lambda n, b, x: x))(V),
        errors.AxesError,
        "custom_vmap: the rule of <lambda> returned f32[3], not a pair",
    ),
    refused(
        "custom_vmap: a rule that says too much is batched",
        lambda: vmap(with_rule(lambda n, b, x: (x.sum(), True)))(V),
        errors.AxesError,
        "custom_vmap: the result of the rule of <lambda> is declared batched, but has no axis of examples",
    ),
    refused(
        "custom_vmap: a rule whose out_batched is no bool",
        lambda: vmap(with_rule(lambda n, b, x: (x, 1)))(V),
        errors.AxesError,
        "custom_vmap: out_batched of the rule of <lambda> does not match its results",
    ),
    refused(
        "custom_vmap: a rule whose out_batched is a string",
        lambda: vmap(with_rule(lambda n, b, x: (x, NASTY)))(V),
        errors.AxesError,
        "custom_vmap: out_batched of the rule of <lambda> does not match its results",
    ),
    refused(
        "custom_vmap: a rule whose out_batched is another tree",
        lambda: vmap(with_rule(lambda n, b, x: (x, (True, True))))(V),
        errors.AxesError,
        "custom_vmap: out_batched of the rule of <lambda> does not match its results",
    ),
    refused(
        "custom_vmap: a rule that gives a string",
        lambda: vmap(with_rule(lambda n, b, x: ("text", False)))(V),
        errors.DerivativeError,
        "custom_vmap: the result of the rule of <lambda> is the str 'text', not a tensor",
    ),
    refused(
        "custom_vmap: a rule of the wrong arity",
        lambda: vmap(with_rule(lambda x: (x, True)))(V),
        errors.CallError,
        "custom_vmap: the rule of <lambda>: <lambda>.<locals>.<lambda>() takes 1 positional argument but 3 were given",
    ),
    refused(
        "custom_vmap: the function of the wrong arity, outside",
        lambda: with_rule(lambda n, b, x: (x, True))(V, V),
        errors.CallError,
        "custom_vmap: <lambda>: too many positional arguments",
    ),
    refused(
        "custom_vmap: a tree that contains itself",
        lambda: custom_vmap(one)(cyclic_list()),
        errors.TreeError,
        "tree: a list contains itself",
    ),
    right("custom_vmap: an array", lambda: with_rule(lambda n, b, x: (x, True))(NP).tolist(), [1.0, 2.0, 3.0]),
    refused(
        "sequential_vmap: a number",
        lambda: sequential_vmap(3),
        errors.AxesError,
        "custom_vmap: the int 3 is not a function",
    ),
    refused(
        "sequential_vmap: a function of the wrong arity",
        lambda: vmap(sequential_vmap(two))(V),
        errors.CallError,
        "custom_vmap: two: missing a required argument: 'y'",
    ),
    refused(
        "custom_jvp: a number", lambda: custom_jvp(3), errors.DerivativeError, "custom_jvp: the int 3 is not a function"
    ),
    refused(
        "custom_jvp: nondiff_argnums a string",
        lambda: custom_jvp(one, nondiff_argnums="0"),
        errors.DerivativeError,
        "custom_jvp: nondiff_argnums='0' is not a tuple of positions",
    ),
    refused(
        "custom_jvp: nondiff_argnums an int",
        lambda: custom_jvp(one, nondiff_argnums=0),
        errors.DerivativeError,
        "custom_jvp: nondiff_argnums=0 is not a tuple of positions",
    ),
    refused(
        "custom_jvp: nondiff_argnums of floats",
        lambda: custom_jvp(one, nondiff_argnums=(0.0,)),
        errors.DerivativeError,
        "custom_jvp: nondiff_argnums=(0.0,) is not a tuple of positions",
    ),
    refused(
        "custom_jvp: nondiff_argnums out of range",
        lambda: custom_jvp(one, nondiff_argnums=(5,))(V),
        errors.DerivativeError,
        "custom_jvp: nondiff_argnums has 5, but one has 1 arguments",
    ),
    refused(
        "custom_jvp: nondiff_argnums from the end",
        lambda: grad(lambda x: nondiff_last()(x, 3.0))(NUMBER),
        errors.DerivativeError,
        "custom_jvp: nondiff_argnums has -1, but <lambda> has 2 arguments",
    ),
    refused(
        "custom_jvp: no rule",
        lambda: grad(custom_jvp(total))(V),
        errors.DerivativeError,
        "custom_jvp: total has no rule yet",
    ),
    refused(
        "custom_jvp: no rule, forward",
        lambda: jvp(custom_jvp(total), (V,), (V,)),
        errors.DerivativeError,
        "custom_jvp: total has no rule yet",
    ),
    refused(
        "custom_jvp: a rule that is no function",
        lambda: custom_jvp(one).defjvp(3),
        errors.DerivativeError,
        "custom_jvp: the rule of one: the int 3 is not a function",
    ),
    refused(
        "custom_jvp: a rule that gives no pair",
        lambda: grad(jvp_rule(lambda p, t: t[0].sum()))(V),
        errors.DerivativeError,
        "custom_jvp: the rule of <lambda> returned f32[], not a pair",
    ),
    refused(
        "custom_jvp: a rule that gives another tree",
        lambda: grad(jvp_rule(lambda p, t: ((p[0].sum(),), (t[0].sum(),))))(V),
        errors.DerivativeError,
        "custom_jvp: the value from the rule of <lambda> has another structure than the result",
    ),
    refused(
        "custom_jvp: a rule that gives another shape",
        lambda: grad(jvp_rule(lambda p, t: (p[0].sum(), t[0])))(V),
        errors.DerivativeError,
        "custom_jvp: the tangent from the rule of <lambda> for the result has another shape",
    ),
    refused(
        "custom_jvp: a rule that gives a string",
        lambda: grad(jvp_rule(lambda p, t: (p[0].sum(), "text")))(V),
        errors.DerivativeError,
        "custom_jvp: the tangent from the rule of <lambda> for the result is the str 'text', not a tensor",
    ),
    refused(
        "custom_jvp: a rule that gives None",
        lambda: grad(jvp_rule(lambda p, t: (p[0].sum(), None)))(V),
        errors.DerivativeError,
        "custom_jvp: the tangent from the rule of <lambda> has another structure than the result",
    ),
    refused(
        "custom_jvp: a rule of the wrong arity",
        lambda: grad(jvp_rule(lambda p: p))(V),
        errors.CallError,
        "custom_jvp: the rule of <lambda>: <lambda>.<locals>.<lambda>() takes 1 positional argument but 2 were given",
    ),
    refused(
        "custom_jvp: a string as an argument",
        lambda: custom_jvp(one)("text"),
        errors.DerivativeError,
        "custom_jvp: argument 1 of one is the str 'text', not a tensor",
    ),
    refused(
        "custom_jvp: an object as an argument",
        lambda: custom_jvp(one)(Odd()),
        errors.DerivativeError,
        "custom_jvp: argument 1 of one is an Odd, not a tensor",
    ),
    right("custom_jvp: None as the result", lambda: custom_jvp(lambda x: None)(V), None),
    refused(
        "custom_jvp: a string as the result",
        lambda: custom_jvp(lambda x: "text")(V),
        errors.DerivativeError,
        "custom_jvp: the result of <lambda> is the str 'text', not a tensor",
    ),
    refused(
        "custom_jvp: too many arguments",
        lambda: custom_jvp(one)(V, V),
        errors.CallError,
        "custom_jvp: one: too many positional arguments",
    ),
    refused(
        "custom_jvp: too few arguments",
        lambda: custom_jvp(two)(V),
        errors.CallError,
        "custom_jvp: two: missing a required argument: 'y'",
    ),
    refused(
        "custom_jvp: a keyword that it does not have",
        lambda: custom_jvp(one)(V, y=V),
        errors.CallError,
        "custom_jvp: one: got an unexpected keyword argument 'y'",
    ),
    refused(
        "custom_jvp: keyword-only arguments",
        lambda: custom_jvp(lambda x, *, y: x * y)(V, y=V),
        errors.OptionError,
        "custom_jvp: <lambda> has keyword-only parameters",
    ),
    refused(
        "custom_jvp: a value from outside that is differentiated",
        lambda: grad(closes_over)(NUMBER),
        errors.DerivativeError,
        "custom_jvp: <lambda> closes over a differentiated value that its rule does not handle",
    ),
    refused(
        "custom_jvp: a tree that contains itself",
        lambda: custom_jvp(one)(cyclic_list()),
        errors.TreeError,
        "tree: a list contains itself",
    ),
    refused(
        "custom_jvp: defjvps with fewer rules",
        lambda: grad(jvps(two, lambda t, y, a, b: t))(NUMBER, NUMBER),
        errors.DerivativeError,
        "custom_jvp: 1 rules for the 2 arguments of <lambda>",
    ),
    refused(
        "custom_jvp: defjvps with a number",
        lambda: jvps(total, 3),
        errors.DerivativeError,
        "custom_jvp: a rule of <lambda>: the int 3 is not a function",
    ),
    refused(
        "custom_vjp: a number", lambda: custom_vjp(3), errors.DerivativeError, "custom_vjp: the int 3 is not a function"
    ),
    refused(
        "custom_vjp: no rule",
        lambda: grad(custom_vjp(total))(V),
        errors.DerivativeError,
        "custom_vjp: total has no rule yet",
    ),
    refused(
        "custom_vjp: rules that are no functions",
        lambda: custom_vjp(one).defvjp(3, 4),
        errors.DerivativeError,
        "custom_vjp: the forward rule of one: the int 3 is not a function",
    ),
    refused(
        "custom_vjp: a forward rule that gives no pair",
        lambda: grad(vjp_rule(lambda x: x.sum(), lambda r, g: (g,)))(V),
        errors.DerivativeError,
        "custom_vjp: the forward rule of <lambda> returned f32[], not a pair",
    ),
    refused(
        "custom_vjp: a forward rule of the wrong arity",
        lambda: grad(vjp_rule(lambda: 1, lambda r, g: (g,)))(V),
        errors.CallError,
        "custom_vjp: the forward rule of <lambda>: <lambda>.<locals>.<lambda>() takes 0 positional arguments but 1 was given",
    ),
    refused(
        "custom_vjp: a backward rule of the wrong arity",
        lambda: grad(vjp_rule(lambda x: (x.sum(), None), lambda r: (r,)))(V),
        errors.CallError,
        "custom_vjp: the backward rule of <lambda>: <lambda>.<locals>.<lambda>() takes 1 positional argument but 2 were given",
    ),
    refused(
        "custom_vjp: a backward rule that gives no tuple",
        lambda: grad(vjp_rule(lambda x: (x.sum(), None), lambda r, g: g))(V),
        errors.DerivativeError,
        "custom_vjp: the backward rule of <lambda> returned f32[], not cotangents",
    ),
    refused(
        "custom_vjp: a backward rule that gives too many",
        lambda: grad(vjp_rule(lambda x: (x.sum(), None), lambda r, g: (g, g)))(V),
        errors.DerivativeError,
        "custom_vjp: the backward rule of <lambda> returned a tuple, not cotangents",
    ),
    refused(
        "custom_vjp: a backward rule that gives another shape",
        lambda: grad(vjp_rule(lambda x: (x.sum(), None), lambda r, g: (W,)))(V),
        errors.DerivativeError,
        "custom_vjp: the cotangent of argument 1 has another shape",
    ),
    refused(
        "custom_vjp: a backward rule that gives a string",
        lambda: grad(vjp_rule(lambda x: (x.sum(), None), lambda r, g: (NASTY,)))(V),
        errors.DerivativeError,
        "custom_vjp: the cotangent of argument 1 is the str 'two\\nlines \\'single\\' \"double\" <b>b..., not a tensor",
    ),
    right(
        "custom_vjp: a backward rule that gives None, which is zero",
        lambda: grad(vjp_rule(lambda x: (x.sum(), None), lambda r, g: (None,)))(V).tolist(),
        [0.0, 0.0, 0.0],
    ),
    refused(
        "custom_vjp: forward mode",
        lambda: jvp(vjp_rule(lambda x: (x.sum(), None), lambda r, g: (g,)), (V,), (V,)),
        errors.DerivativeError,
        "jvp: <lambda> has only a reverse-mode rule (custom_vjp)",
    ),
    refused(
        "custom_vjp: nondiff_argnums a dict",
        lambda: custom_vjp(one, nondiff_argnums={0: 1}),
        errors.DerivativeError,
        "custom_vjp: nondiff_argnums={0: 1} is not a tuple of positions",
    ),
    refused(
        "custom_vjp: a string as an argument",
        lambda: custom_vjp(one)("text"),
        errors.DerivativeError,
        "custom_vjp: argument 1 of one is the str 'text', not a tensor",
    ),
    refused(
        "functional_call: a number",
        lambda: functional_call(3, {}),
        errors.StateTypeError,
        "functional_call: the int 3 cannot be called",
    ),
    refused(
        "functional_call: a state that is a list",
        lambda: functional_call(nn.Linear(2, 2), [1], W),
        errors.StateTypeError,
        "functional_call: the state is a list",
    ),
    refused(
        "functional_call: a state that is None",
        lambda: functional_call(nn.Linear(2, 2), None, W),
        errors.StateTypeError,
        "functional_call: the state is None",
    ),
    refused(
        "functional_call: a name that is not there",
        lambda: functional_call(nn.Linear(2, 2), {NASTY: W}, W),
        errors.StateError,
        "functional_call: the module has no tensor `two\\nlines 'single' \"double\" <b>bold</b> &amp; nul\\x00 {brace} %s`",
    ),
    refused(
        "functional_call: a name that is a number",
        lambda: functional_call(nn.Linear(2, 2), {3: W}, W),
        errors.StateError,
        "functional_call: the module has no tensor `3`",
    ),
    refused(
        "functional_call: a name nearly right",
        lambda: functional_call(nn.Linear(2, 2), {"wieght": W}, W),
        errors.StateError,
        "functional_call: the module has no tensor `wieght`",
    ),
    refused(
        "functional_call: a string for a tensor",
        lambda: functional_call(nn.Linear(2, 2), {"weight": NASTY}, W),
        errors.StateTypeError,
        "functional_call: `weight` is the str 'two\\nlines \\'single\\' \"double\" <b>b...",
    ),
    refused(
        "functional_call: an array for a tensor",
        lambda: functional_call(
            nn.Linear(2, 2), {"weight": np.eye(2, dtype="float32"), "bias": np.zeros(2, "float32")}, W
        ),
        errors.StateTypeError,
        "functional_call: `weight` is numpy float32[2, 2]",
    ),
    refused(
        "functional_call: another shape",
        lambda: functional_call(nn.Linear(2, 2), {"weight": V}, W),
        errors.StateError,
        "functional_call: `weight` has another shape than in the module",
    ),
    refused(
        "functional_call: the stacked state, without vmap",
        lambda: functional_call(nn.Linear(2, 2), stack_module_state([nn.Linear(2, 2)] * 3), W),
        errors.StateError,
        "functional_call: `weight` has another shape than in the module",
    ),
    refused(
        "functional_call: too many arguments",
        lambda: functional_call(nn.Linear(2, 2), {}, W, W, W),
        errors.CallError,
        "functional_call: Linear.__call__() takes 2 positional arguments but 4 were given",
    ),
    refused(
        "functional_call: too few arguments",
        lambda: functional_call(nn.Linear(2, 2), {}),
        errors.CallError,
        "functional_call: Linear.__call__() missing 1 required positional argument: 'x'",
    ),
    refused(
        "functional_call: a value of a closed brand",
        lambda: functional_call(nn.Linear(3, 2), {"bias": escaped()}, V),
        errors.EscapeError,
        "functional_call: `bias`: this value belongs to `x`, which is closed",
    ),
    refused(
        "functional_call: a module that contains itself",
        lambda: functional_call(Ring(), {}, V),
        errors.StateError,
        "functional_call: a Ring contains itself, so its tensors have endless names",
    ),
    refused(
        "stack_module_state: a module",
        lambda: stack_module_state(nn.Linear(2, 2)),
        errors.StateTypeError,
        "stack_module_state: a Linear is not a list of modules",
    ),
    refused(
        "stack_module_state: nothing",
        lambda: stack_module_state([]),
        errors.StateError,
        "stack_module_state: there are no modules",
    ),
    refused(
        "stack_module_state: numbers",
        lambda: stack_module_state([1, 2]),
        errors.StateTypeError,
        "stack_module_state: the int 1 is not a module",
    ),
    refused(
        "stack_module_state: strings",
        lambda: stack_module_state(["a", "b"]),
        errors.StateTypeError,
        "stack_module_state: the str 'a' is not a module",
    ),
    refused(
        "stack_module_state: None",
        lambda: stack_module_state([None]),
        errors.StateTypeError,
        "stack_module_state: None is not a module",
    ),
    refused(
        "stack_module_state: a generator",
        lambda: stack_module_state(nn.Linear(2, 2) for _ in range(2)),
        errors.StateTypeError,
        "stack_module_state: a generator is not a list of modules",
    ),
    refused(
        "stack_module_state: two classes",
        lambda: stack_module_state([nn.Linear(2, 2), nn.Embedding(2, 2)]),
        errors.StateError,
        "stack_module_state: modules 1 and 2 are of different classes",
    ),
    refused(
        "stack_module_state: two sizes",
        lambda: stack_module_state([nn.Linear(2, 2), nn.Linear(2, 3)]),
        errors.StateError,
        "stack_module_state: modules 1 and 2 differ in `weight`",
    ),
    refused(
        "stack_module_state: with and without a bias",
        lambda: stack_module_state([nn.Linear(2, 2), nn.Linear(2, 2, bias=False)]),
        errors.StateError,
        "stack_module_state: modules 1 and 2 have different tensors: module 2 has no `bias`, and module 1 has one",
    ),
    refused(
        "stack_module_state: a module that contains itself",
        lambda: stack_module_state([Ring(), Ring()]),
        errors.StateError,
        "stack_module_state: a Ring contains itself, so its tensors have endless names",
    ),
)
