"""Golden tests of the messages of derivatives, control flow, collectives and custom rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from tinygrad import Tensor, function

from branded import (
    Brand,
    all_gather,
    all_to_all,
    axis_index,
    cond,
    custom_jvp,
    custom_vjp,
    custom_vmap,
    errors,
    fori_loop,
    grad,
    jit,
    jvp,
    map,
    pmean,
    ppermute,
    psum,
    psum_scatter,
    scan,
    switch,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from tests.errors.test_errors import Golden, check, params

X = Tensor(np.arange(3, dtype=np.float32)).realize()
W = Tensor(np.ones((3, 3), dtype=np.float32)).realize()
ONE = Tensor(np.ones(1, dtype=np.float32)).sum().realize()


def named(f: Any) -> Any:
    """Map a function over X under a name."""
    return vmap(f, axis_name="i")(X)


def rule_of(primitive: Any, *rules: Any) -> Any:
    """Return `square` with these rules."""

    def square(x: Any) -> Any:
        return x * x

    f = primitive(square)
    (f.defvjp if primitive is custom_vjp else f.defjvp if primitive is custom_jvp else f.def_vmap)(*rules)
    return f


def closing(w: Any) -> Any:
    """Differentiate a function whose custom rule does not declare the value that it closes over."""

    @custom_jvp
    def scaled(x: Any) -> Any:
        return x * w

    scaled.defjvp(lambda primals, tangents: (primals[0] * w, tangents[0] * w))
    return scaled(X).sum()


DERIVATIVES = {
    "an option of JAX": Golden(
        lambda: grad(lambda x: x.sum(), allow_int=True)(X),  # type: ignore[call-overload]
        errors.CallError,
        """\
            grad: got an unexpected keyword argument 'allow_int'
              parameters: f, argnums, has_aux""",
    ),
    "an option of JAX's jit": Golden(
        lambda: jit(lambda x: x, backend="cpu")(X),  # type: ignore[call-overload]
        errors.CallError,
        """\
            jit: got an unexpected keyword argument 'backend'
              parameters: f, *, static_argnums, static_argnames, donate_argnums, donate_argnames, tune""",
    ),
    "backward in jit": Golden(
        lambda: jit(lambda x: (x * x).sum().backward())(X),
        errors.ReadError,
        """\
            backward: in the body of jit no `.grad` can be set: it is traced once, for all calls
              value: f32[]
              try:   loss.gradient(w), which returns the gradient""",
    ),
    "an option of JAX's psum": Golden(
        lambda: vmap(lambda x: psum(x, "i", axis_index_groups=None), axis_name="i")(X),  # type: ignore[call-overload]
        errors.CallError,
        """\
            psum: got an unexpected keyword argument 'axis_index_groups'
              parameters: x, axis_name""",
    ),
    "a vector": Golden(
        lambda: grad(lambda x: x * 2)(X),
        errors.DerivativeError,
        """\
            grad: the function must return a scalar, and it returned f32[3]
              try: reduce it, for example with .sum(), or use jacrev for the Jacobian""",
    ),
    "a pair without has_aux": Golden(
        lambda: value_and_grad(lambda x: (x.sum(), x))(X),
        errors.DerivativeError,
        """\
            value_and_grad: the function must return a scalar, and it returned (f32[], f32[3])
              try: reduce it, for example with .sum(), or use jacrev for the Jacobian""",
    ),
    "a list result": Golden(
        lambda: grad(lambda x: [x.sum()])(X),
        errors.DerivativeError,
        """\
            grad: the function must return a scalar, and it returned list(f32[])
              try: reduce it, for example with .sum(), or use jacrev for the Jacobian""",
    ),
    "has_aux without a pair": Golden(
        lambda: grad(lambda x: x.sum(), has_aux=True)(X),
        errors.DerivativeError,
        """\
            grad: has_aux=True needs a pair, and the function returned f32[]
              try: return a pair: (value, aux)""",
    ),
    "ints": Golden(
        lambda: grad(lambda x: x.sum())(Tensor([1, 2])),
        errors.DerivativeError,
        """\
            grad: argument 1 is i32[2], and only floats have derivatives
              try: cast it to float32, or leave it out of argnums""",
    ),
    "a tree with an int": Golden(
        lambda: grad(lambda p: p["a"].sum())({"a": X, "n": 3}),
        errors.DerivativeError,
        """\
            grad: argument 1['n'] is the int 3, and only floats have derivatives
              try: cast it to float32, or leave it out of argnums""",
    ),
    "a string": Golden(
        lambda: grad(lambda x: x)("x"),
        errors.DerivativeError,
        """\
            grad: argument 1 is the str 'x', and only float tensors have derivatives
              try: close over it in the function, and leave it out of the argument""",
    ),
    "argnums": Golden(
        lambda: grad(lambda x: x.sum(), argnums=1)(X),
        errors.DerivativeError,
        """\
            grad: argnums=1 is out of range for a call with 1 positional argument
              try: give positions of arguments, counted from 0: argnums=0""",
    ),
    "argnums twice": Golden(
        lambda: grad(lambda x: x.sum(), argnums=(0, 0))(X),
        errors.DerivativeError,
        """\
            grad: argnums=(0, 0) names an argument twice
              try: name each position once""",
    ),
    "a non-callable": Golden(
        lambda: grad(X),
        errors.DerivativeError,
        """\
            grad: f32[3] is not a function
              try: grad(f)(x)""",
    ),
    "a string result": Golden(
        lambda: vjp(lambda x: "x", X),
        errors.DerivativeError,
        """\
            vjp: the result is the str 'x', not a tensor
              try: return tensors, and other values with has_aux=True""",
    ),
    "a cotangent of another shape": Golden(
        lambda: vjp(lambda x: x * 2, X)[1](X[:2]),
        errors.DerivativeError,
        """\
            vjp: the cotangent of the result has another shape or dtype
              cotangent: f32[2]
              result:    f32[3]
              try:       use the same shape and dtype""",
    ),
    "a cotangent of another tree": Golden(
        lambda: vjp(lambda x: x * 2, X)[1]((X, X)),
        errors.DerivativeError,
        """\
            vjp: the cotangent has another structure than the result
              cotangent: (f32[3], f32[3])
              result:    f32[3]
              try:       pass one cotangent for each tensor of the result""",
    ),
    "two cotangents": Golden(
        lambda: vjp(lambda x: x * 2, X)[1](X, X),
        errors.DerivativeError,
        """\
            vjp: the pullback takes one cotangent, not 2
              try: pass one pytree with the structure of the result""",
    ),
    "a tangent of another shape": Golden(
        lambda: jvp(lambda x: x * 2, (X,), (1.0,)),
        errors.DerivativeError,
        """\
            jvp: the tangent of primals[0] has another shape or dtype
              tangent: f32[]
              primal:  f32[3]
              try:     use the same shape and dtype""",
    ),
    "primals outside a tuple": Golden(
        lambda: jvp(lambda x: x * 2, X, X),
        errors.DerivativeError,
        """\
            jvp: primals and tangents must be tuples
              try: jvp(f, (x,), (dx,))""",
    ),
    "a function with grad_fxn": Golden(
        lambda: jvp(function(lambda x: x * 2, grad_fxn=lambda g, call: (g,)), (X,), (X,)),
        errors.UnsupportedError,
        """\
            jvp: a function with grad_fxn has no forward-mode rule
              try: use branded.custom_jvp: both modes use its rule""",
    ),
    "reverse through while_loop": Golden(
        lambda: grad(lambda x: while_loop(lambda c: c < 9, lambda c: c * 2, x))(ONE),
        errors.DerivativeError,
        """\
            while_loop: reverse mode needs a loop with a known number of steps
              try: use scan, fori_loop with int bounds, or forward mode (jvp, jacfwd)""",
    ),
}


LOOPS = {
    "the carry's shape": Golden(
        lambda: scan(lambda c, x: (c.reshape(1), x), ONE, X),
        errors.CarryError,
        """\
            scan: carry changes its type from step to step
              before: f32[]
              after:  f32[1]
              try:    cast or reshape it, before the loop or in the body, so that the two agree""",
    ),
    "the carry's dtype": Golden(
        lambda: scan(lambda c, x: ({"a": c["a"], "b": c["b"] > 0}, x), {"a": ONE, "b": ONE}, X),
        errors.CarryError,
        """\
            scan: carry['b'] changes its type from step to step
              before: f32[]
              after:  bool[]
              try:    cast or reshape it, before the loop or in the body, so that the two agree""",
    ),
    "the carry's tree": Golden(
        lambda: scan(lambda c, x: ((c, c), x), ONE, X),
        errors.CarryError,
        """\
            scan: the carry has another structure after a step than before
              before: f32[]
              after:  (f32[], f32[])
              try:    return a carry with the structure of the initial one""",
    ),
    "a body without a pair": Golden(
        lambda: scan(lambda c, x: c, ONE, X),
        errors.CarryError,
        """\
            scan: the body returned f32[], not a pair
              try: return a pair: (carry, output), with None for no output""",
    ),
    "a string output": Golden(
        lambda: scan(lambda c, x: (c, "y"), ONE, X),
        errors.CarryError,
        """\
            scan: the output is the str 'y', not a tensor
              try: use tensors, numbers, or pytrees of these""",
    ),
    "no length": Golden(
        lambda: scan(lambda c, x: (c, x), ONE),
        errors.SizeError,
        """\
            scan: the number of steps is unknown
              try: pass xs with a leading axis of steps, or length=n""",
    ),
    "xs of different lengths": Golden(
        lambda: scan(lambda c, x: (c, x[0]), ONE, (X, X[:2])),
        errors.SizeError,
        """\
            scan: xs[1] has 2 steps, and xs[0] has 3
              value: f32[2]
              try:   use the same size along axis 0 for all of xs""",
    ),
    "length unlike xs": Golden(
        lambda: scan(lambda c, x: (c, x), ONE, X, length=2),
        errors.SizeError,
        """\
            scan: xs has 3 steps, and length is 2
              value: f32[3]
              try:   use the same size along axis 0 for all of xs""",
    ),
    "a negative length": Golden(
        lambda: scan(lambda c, x: (c, x), ONE, X, length=-1),
        errors.SizeError,
        """\
            scan: length=-1 is not a number of steps
              try: pass an int from 0 to 2**31 - 1""",
    ),
    "0-d xs": Golden(
        lambda: scan(lambda c, x: (c, x), ONE, ONE),
        errors.SizeError,
        """\
            scan: xs is f32[]: there is no axis of steps
              try: stack the steps along axis 0""",
    ),
    "scan of a non-callable": Golden(
        lambda: scan(X, ONE, X),
        errors.CarryError,
        """\
            scan: f is f32[3], not a function
              try: pass a function""",
    ),
    "a vector condition": Golden(
        lambda: while_loop(lambda c: c > 0, lambda c: c, X),
        errors.CarryError,
        """\
            while_loop: the condition is bool[3], not a scalar bool
              try: return a scalar bool: use a comparison, .any() or .all()""",
    ),
    "a float condition": Golden(
        lambda: while_loop(lambda c: c, lambda c: c, ONE),
        errors.CarryError,
        """\
            while_loop: the condition is f32[], not a scalar bool
              try: return a scalar bool: use a comparison, .any() or .all()""",
    ),
    "while_loop of a non-callable": Golden(
        lambda: while_loop(lambda c: c > 0, X, ONE),
        errors.CarryError,
        """\
            while_loop: body_fun is f32[3], not a function
              try: pass a function""",
    ),
    "a float bound": Golden(
        lambda: fori_loop(0.5, 2, lambda i, x: x, X),
        errors.CarryError,
        """\
            fori_loop: lower is float[], not one int
              try: pass an int, or an int tensor i32[]""",
    ),
    "a carry with a changed shape": Golden(
        lambda: fori_loop(0, 2, lambda i, x: x[:1], X),
        errors.CarryError,
        """\
            fori_loop: carry changes its type from step to step
              before: f32[3]
              after:  f32[1]
              try:    cast or reshape it, before the loop or in the body, so that the two agree""",
    ),
    "a negative batch_size": Golden(
        lambda: map(lambda x: x, X, batch_size=-1),
        errors.SizeError,
        """\
            map: batch_size=-1 is not a size
              try: pass an int of 1 or more""",
    ),
    "item": Golden(
        lambda: scan(lambda c, x: (c + x.item(), None), ONE, X),
        errors.ReadError,
        """\
            item: in the body of scan there is no value to read: it is traced once, for all steps
              value: f32[]
              try:   use cond, where or while_loop instead of `if` and `while`, or return the value and read it outside""",  # noqa: E501
    ),
    "if": Golden(
        lambda: while_loop(lambda c: c < 9, lambda c: c * 2 if c > 1 else c, ONE),
        errors.ReadError,
        """\
            bool: in the body of while_loop there is no value to read: it is traced once, for all steps
              value: bool[]
              try:   use cond, where or while_loop instead of `if` and `while`, or return the value and read it outside""",  # noqa: E501
    ),
    "a random sample": Golden(
        lambda: scan(lambda c, x: (c + Tensor.rand(1)[0], None), ONE, X),
        errors.RandomnessError,
        """\
            randomness: a random sample in the body of scan, which is traced once, is the same in each step
              try: carry a key and split it in each step (branded.random), or pass samples as xs""",
    ),
    "a slice by a step": Golden(
        lambda: scan(lambda c, i: (c, X[:i]), ONE, Tensor([1, 2])),
        errors.ShapeError,
        """\
            slice: a shape or an offset differs from step to step
              tensor: f32[3]
              shape:  depends on i32[]
              try:    (Tensor.arange(3) < i).where(X, 0)""",
    ),
    "a write outside": Golden(
        lambda: scan(lambda c, x: (c + x, W.assign(W * 2)), ONE, X),
        errors.WriteError,
        """\
            assign: this write would run once, not in each step of scan
              tensor: f32[3, 3], made outside of the scope of `scan`
              try:    return the value, and write it outside""",
    ),
}


BRANCHES = {
    "a vector predicate": Golden(
        lambda: cond(X > 0, lambda: X, lambda: X),
        errors.CarryError,
        """\
            cond: the predicate is bool[3], and must be a scalar for each example
              try: use .any() or .all(), where() for an elementwise choice, or vmap for one choice per example""",
    ),
    "shapes that disagree": Golden(
        lambda: vmap(lambda x: cond(x > 0, lambda: x, lambda: x.reshape(1)))(X),
        errors.CarryError,
        """\
            cond: the branches return different types for the result
              true_fun:  Vec[x:3, f32[]]
              false_fun: Vec[x:3, f32[1]]
              try:       cast or reshape one of them, so that the shapes and dtypes agree""",
    ),
    "dtypes that disagree": Golden(
        lambda: vmap(lambda x: cond(x > 0, lambda: {"a": x}, lambda: {"a": x > 1}))(X),
        errors.CarryError,
        """\
            cond: the branches return different types for the result['a']
              true_fun:  Vec[x:3, f32[]]
              false_fun: Vec[x:3, bool[]]
              try:       cast or reshape one of them, so that the shapes and dtypes agree""",
    ),
    "trees that disagree": Golden(
        lambda: vmap(lambda x: cond(x > 0, lambda: (x, x), lambda: x))(X),
        errors.CarryError,
        """\
            cond: the branches return different structures
              true_fun:  (Vec[x:3, f32[]], Vec[x:3, f32[]])
              false_fun: Vec[x:3, f32[]]
              try:       return the same structure from each branch""",
    ),
    "a branch with a string result": Golden(
        lambda: vmap(lambda x: cond(x > 0, lambda: x, lambda: "x"))(X),
        errors.CarryError,
        """\
            cond: the result of false_fun is the str 'x', not a tensor
              try: use tensors, numbers, or pytrees of these""",
    ),
    "a non-callable branch": Golden(
        lambda: vmap(lambda x: cond(x > 0, lambda: x, x))(X),
        errors.CarryError,
        """\
            cond: false_fun is Vec[x:3, f32[]], not a function
              try: pass a function: lambda *_: value for a value""",
    ),
    "a float index": Golden(
        lambda: switch(0.5, [lambda: X]),
        errors.CarryError,
        """\
            switch: the index is the float 0.5, not an int
              try: pass an int, or use .cast("int32")""",
    ),
    "a vector index": Golden(
        lambda: switch(Tensor([0, 1]), [lambda: X, lambda: X]),
        errors.CarryError,
        """\
            switch: the index is i32[2], and must be a scalar for each example
              try: use .any() or .all(), where() for an elementwise choice, or vmap for one choice per example""",
    ),
    "no branches": Golden(
        lambda: switch(0, []),
        errors.CarryError,
        """\
            switch: there are no branches
              try: pass a sequence of functions""",
    ),
    "one function as branches": Golden(
        lambda: switch(0, lambda: X),
        errors.CarryError,
        """\
            switch: the branches are a function
              try: pass a sequence of functions""",
    ),
}


COLLECTIVES = {
    "an unknown name": Golden(
        lambda: named(lambda x: psum(x, "j")),
        errors.NameUnboundError,
        """\
            psum: no brand 'j' is open here
              open: i:3
              try:  use vmap(..., axis_name='j') around it""",
    ),
    "a name outside named vmaps": Golden(
        lambda: vmap(lambda x: pmean(x, "i"))(X),
        errors.NameUnboundError,
        """\
            pmean: no brand 'i' is open here
              open: no named brand
              try:  use vmap(..., axis_name='i') around it""",
    ),
    "the class Brand as name": Golden(
        lambda: named(lambda x: psum(x, Brand)),
        errors.OptionError,
        """\
            psum: `Brand` is the base class, not a brand
              open: i:3
              try:  pass a string, a subclass of Brand, or the brand from `with brand(...)`""",
    ),
    "a name twice": Golden(
        lambda: named(lambda x: psum(x, ("i", "i"))),
        errors.AxesError,
        """\
            psum: a brand is named twice
              names: ('i', 'i')
              try:   name each brand once""",
    ),
    "a string operand": Golden(
        lambda: named(lambda x: psum("x", "i")),
        errors.AxisTypeError,
        """\
            psum: the str 'x' is not a tensor
              try: pass tensors and numbers""",
    ),
    "in chunks": Golden(
        lambda: vmap(lambda x: psum(x, "i"), axis_name="i", chunk_size=2)(X),
        errors.OptionError,
        """\
            psum: brand `i` runs in chunks, so no operation sees all examples at the same time
              try: leave out chunk_size""",
    ),
    "an axis out of range": Golden(
        lambda: named(lambda x: all_gather(x, "i", axis=3)),
        errors.AxisRangeError,
        """\
            all_gather: axis=3 is out of range for 1 axis
              try: use an int from -1 to 0""",
    ),
    "a pair out of range": Golden(
        lambda: named(lambda x: ppermute(x, "i", [(0, 7)])),
        errors.AxisRangeError,
        """\
            ppermute: (0, 7) is not a pair of examples of i:3
              try: use pairs (source, destination) of indices from 0 to 2""",
    ),
    "a triple": Golden(
        lambda: named(lambda x: ppermute(x, "i", [(0, 1, 2)])),
        errors.AxisRangeError,
        """\
            ppermute: (0, 1, 2) is not a pair of examples of i:3
              try: use pairs (source, destination) of indices from 0 to 2""",
    ),
    "a source twice": Golden(
        lambda: named(lambda x: ppermute(x, "i", [(0, 1), (0, 2)])),
        errors.AxesError,
        """\
            ppermute: perm has a duplicate source or destination
              perm: [(0, 1), (0, 2)]
              try:  list each source and each destination once, or use all_gather""",
    ),
    "an empty tuple of names": Golden(
        lambda: named(lambda x: ppermute(x, (), [(0, 0)])),
        errors.AxesError,
        """\
            ppermute: no brand is given
              names: ()
              try:   pass one name, or a tuple of names""",
    ),
    "pieces of two brands": Golden(
        lambda: vmap(lambda r: vmap(lambda x: all_to_all(r, ("i", "j"), 0, 0), axis_name="j")(r), axis_name="i")(W),
        errors.SizeError,
        """\
            all_to_all: brands `i` and `j` together have 9 examples, and axis 0 of the value has 3 entries
              value: Vec[i:3, f32[3]]
              try:   choose a split_axis of size 9, or use tiled=True for a multiple""",
    ),
    "a piece too few": Golden(
        lambda: vmap(lambda r: all_to_all(r[:2], "i", 0, 0), axis_name="i")(W),
        errors.SizeError,
        """\
            all_to_all: brand `i` has 3 examples, and axis 0 of the value has 2 entries
              value: Vec[i:3, f32[2]]
              try:   choose a split_axis of size 3, or use tiled=True for a multiple""",
    ),
    "a piece too many": Golden(
        lambda: vmap(lambda r: psum_scatter(r.repeat(3), "i"), axis_name="i")(W),
        errors.SizeError,
        """\
            psum_scatter: brand `i` has 3 examples, and axis 0 of the value has 9 entries
              value: Vec[i:3, f32[9]]
              try:   choose a scatter_dimension of size 3, or use tiled=True for a multiple""",
    ),
    "a size that 3 does not divide": Golden(
        lambda: vmap(lambda r: psum_scatter(r[:2], "i", tiled=True), axis_name="i")(W),
        errors.SizeError,
        """\
            psum_scatter: brand `i` has 3 examples, and axis 0 of the value has 2 entries
              value: Vec[i:3, f32[2]]
              try:   choose a scatter_dimension of size a multiple of 3""",
    ),
    "axis_index without vmap": Golden(
        lambda: axis_index("i"),
        errors.NameUnboundError,
        """\
            axis_index: no brand 'i' is open here
              open: no named brand
              try:  use vmap(..., axis_name='i') around it""",
    ),
}


RULES = {
    "no rule for the tangent": Golden(
        lambda: grad(custom_jvp(lambda x: x * x))(ONE),
        errors.DerivativeError,
        """\
            custom_jvp: <lambda> has no rule yet
              try: <lambda>.defjvp(...)""",
    ),
    "no rule for the cotangents": Golden(
        lambda: grad(custom_vjp(lambda x: x * x))(ONE),
        errors.DerivativeError,
        """\
            custom_vjp: <lambda> has no rule yet
              try: <lambda>.defvjp(...)""",
    ),
    "no rule for vmap": Golden(
        lambda: vmap(custom_vmap(lambda x: x * x))(X),
        errors.AxesError,
        """\
            custom_vmap: <lambda> has no rule yet
              try: <lambda>.def_vmap(rule)""",
    ),
    "forward mode of custom_vjp": Golden(
        lambda: jvp(rule_of(custom_vjp, lambda x: (x, x), lambda x, ct: (ct,)), (ONE,), (ONE,)),
        errors.DerivativeError,
        """\
            jvp: square has only a reverse-mode rule (custom_vjp)
              try: use reverse mode (grad, vjp, jacrev), or define the rule with custom_jvp""",
    ),
    "a jvp rule without a pair": Golden(
        lambda: grad(rule_of(custom_jvp, lambda primals, tangents: primals[0]))(ONE),
        errors.DerivativeError,
        """\
            custom_jvp: the rule of square returned f32[], not a pair
              try: return a pair: (value, tangent)""",
    ),
    "a tangent of the wrong shape": Golden(
        lambda: grad(rule_of(custom_jvp, lambda primals, tangents: (primals[0], X)))(ONE),
        errors.DerivativeError,
        """\
            custom_jvp: the tangent from the rule of square for the result has another shape
              tangent: f32[3]
              result:  f32[]
              try:     return the shape of the result""",
    ),
    "a cotangent too many": Golden(
        lambda: grad(rule_of(custom_vjp, lambda x: (x, x), lambda x, ct: (ct, ct)))(ONE),
        errors.DerivativeError,
        """\
            custom_vjp: the backward rule of square returned a tuple, not cotangents
              try: return a tuple with one cotangent for each of the 1 arguments, None for zero""",
    ),
    "a cotangent of the wrong shape": Golden(
        lambda: grad(rule_of(custom_vjp, lambda x: (x, x), lambda x, ct: (X,)))(ONE),
        errors.DerivativeError,
        """\
            custom_vjp: the cotangent of argument 1 has another shape
              cotangent: f32[3]
              argument:  f32[]
              try:       use the same shape""",
    ),
    "a string cotangent": Golden(
        lambda: grad(rule_of(custom_vjp, lambda x: (x, x), lambda x, ct: ("a",)))(ONE),
        errors.DerivativeError,
        """\
            custom_vjp: the cotangent of argument 1 is the str 'a', not a tensor
              try: nondiff_argnums for other values""",
    ),
    "a captured value": Golden(
        lambda: grad(closing)(ONE),
        errors.DerivativeError,
        """\
            custom_jvp: scaled closes over a differentiated value that its rule does not handle
              try: pass it as an argument, or use stop_gradient(value) in the function""",
    ),
    "nondiff_argnums as an int": Golden(
        lambda: custom_jvp(lambda x: x, nondiff_argnums=3),
        errors.DerivativeError,
        """\
            custom_jvp: nondiff_argnums=3 is not a tuple of positions
              try: nondiff_argnums=(0,)""",
    ),
    "a string argument": Golden(
        lambda: custom_jvp(lambda x: x)("x"),
        errors.DerivativeError,
        """\
            custom_jvp: argument 1 of <lambda> is the str 'x', not a tensor
              try: nondiff_argnums for other values""",
    ),
    "a vmap rule without a pair": Golden(
        lambda: vmap(rule_of(custom_vmap, lambda n, batched, x: x))(X),
        errors.AxesError,
        """\
            custom_vmap: the rule of square returned f32[3], not a pair
              try: return a pair: (results, out_batched), with a bool per result""",
    ),
    "a vmap rule without the batch": Golden(
        lambda: vmap(rule_of(custom_vmap, lambda n, batched, x: (x.sum(), True)))(X),
        errors.AxesError,
        """\
            custom_vmap: the result of the rule of square is declared batched, but has no axis of examples
              value: f32[]
              try:   put the 3 examples along axis 0, or set False in out_batched""",
    ),
    "a vmap rule of another tree": Golden(
        lambda: vmap(rule_of(custom_vmap, lambda n, batched, x: (x, (True, False))))(X),
        errors.AxesError,
        """\
            custom_vmap: out_batched of the rule of square does not match its results
              try: give one bool per result""",
    ),
    "a vmap rule whose results have another tree": Golden(
        lambda: vmap(rule_of(custom_vmap, lambda n, batched, x: ((x, x), True)))(X),
        errors.AxesError,
        """\
            custom_vmap: the rule of square returned another structure than square
              rule:     (f32[3], f32[3])
              function: Vec[x:3, f32[]]
              try:      return the structure that the function returns""",
    ),
    "a vmap rule whose results have another shape": Golden(
        lambda: vmap(rule_of(custom_vmap, lambda n, batched, x: (x.reshape(3, 1).expand(3, 2), True)))(X),
        errors.AxesError,
        """\
            custom_vmap: the result of the rule of square has another per-example shape than square returns
              rule:     Vec[x:3, f32[2]]
              function: Vec[x:3, f32[]]
              try:      return the function's shape, with the examples along axis 0 where it is batched""",
    ),
}


@params(DERIVATIVES)
def test_derivatives(g: Golden) -> None:
    check(g)


@params(LOOPS)
def test_loops(g: Golden) -> None:
    check(g)


@params(BRANCHES)
def test_branches(g: Golden) -> None:
    check(g)


@params(COLLECTIVES)
def test_collectives(g: Golden) -> None:
    check(g)


@params(RULES)
def test_rules(g: Golden) -> None:
    check(g)
