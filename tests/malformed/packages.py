"""Malformed calls of packages of functions, callbacks, associative scans and checkpoint."""

# mypy: ignore-errors
from __future__ import annotations

from tinygrad import Tensor

from branded import (
    ShapeDtypeStruct,
    associative_scan,
    checkpoint,
    cumlogsumexp,
    debug,
    errors,
    io_callback,
    linalg,
    optim,
    pure_callback,
    remat,
    tree,
    vmap,
)
from tests.malformed import refused, right
from tests.malformed.values import NASTY, NUMBER, Odd, V, W, X, cyclic_list, escaped, one, total, two

ROWS = (
    refused(
        "associative_scan: a number for the function",
        lambda: associative_scan(3, V),
        errors.CarryError,
        "associative_scan: the int 3 is not a function",
    ),
    refused(
        "associative_scan: nothing",
        lambda: associative_scan(two, None),
        errors.SizeError,
        "associative_scan: there are no elements",
    ),
    refused(
        "associative_scan: a number",
        lambda: associative_scan(two, NUMBER),
        errors.AxisRangeError,
        "associative_scan: axis: axis 0 is out of range for f32[]",
    ),
    refused(
        "associative_scan: no such axis",
        lambda: associative_scan(two, V, axis=1),
        errors.AxisRangeError,
        "associative_scan: axis: axis 1 is out of range for f32[3]",
    ),
    refused(
        "associative_scan: another tree",
        lambda: associative_scan(lambda a, b: (a, b), V),
        errors.CarryError,
        "associative_scan: the function gives another tree than it gets",
    ),
    refused(
        "associative_scan: two lengths",
        lambda: associative_scan(two, {"a": V, "b": W}),
        errors.SizeError,
        "associative_scan: elems['b'] has 2 elements, and there are 3",
    ),
    refused(
        "associative_scan: escaped",
        lambda: associative_scan(two, escaped()),
        errors.EscapeError,
        "associative_scan: elems: this value belongs to `x`, which is closed",
    ),
    right("associative_scan: a sum", lambda: associative_scan(two, V).tolist(), [1.0, 3.0, 6.0]),
    refused(
        "cumlogsumexp: a string",
        lambda: cumlogsumexp("a"),
        errors.CarryError,
        "cumlogsumexp: x is the str 'a', not a tensor",
    ),
    refused(
        "cumlogsumexp: no such axis",
        lambda: cumlogsumexp(V, axis=1),
        errors.AxisRangeError,
        "cumlogsumexp: axis: axis 1 is out of range for f32[3]",
    ),
    refused(
        "cumlogsumexp: a string for the axis",
        lambda: cumlogsumexp(V, axis="a"),
        errors.AxisTypeError,
        "cumlogsumexp: axis: the str 'a' is not an axis",
    ),
    refused("checkpoint: a number", lambda: checkpoint(3), errors.CallError, "checkpoint: the int 3 is not a function"),
    refused("checkpoint: None", lambda: checkpoint(None), errors.CallError, "checkpoint: None is not a function"),
    right("checkpoint: of one", lambda: checkpoint(one)(V).tolist(), [1.0, 2.0, 3.0]),
    refused(
        "remat: a nasty string",
        lambda: remat(NASTY),
        errors.CallError,
        "checkpoint: the str 'two\\nlines \\'single\\' \"double\" <b>b... is not a function",
    ),
    refused("remat: a tensor", lambda: remat(V), errors.CallError, "checkpoint: f32[3] is not a function"),
    refused(
        "ShapeDtypeStruct: a number",
        lambda: ShapeDtypeStruct(3, "float32"),
        errors.CallbackTypeError,
        "ShapeDtypeStruct: 3 is not a shape",
    ),
    refused(
        "ShapeDtypeStruct: no dtype",
        lambda: ShapeDtypeStruct((2,), "int7"),
        errors.CallbackTypeError,
        "ShapeDtypeStruct: 'int7' is not a dtype",
    ),
    refused(
        "ShapeDtypeStruct: a size below 0",
        lambda: ShapeDtypeStruct((-1,), "float32"),
        errors.CallbackTypeError,
        "ShapeDtypeStruct: (-1,) is not a shape",
    ),
    refused(
        "ShapeDtypeStruct: a string as a size",
        lambda: ShapeDtypeStruct(("a",), "float32"),
        errors.CallbackTypeError,
        "ShapeDtypeStruct: ('a',) is not a shape",
    ),
    right("ShapeDtypeStruct: compared with a number", lambda: ShapeDtypeStruct((), "float32") == 3, False),
    refused(
        "pure_callback: a number",
        lambda: pure_callback(3, V, V),
        errors.CallError,
        "pure_callback: the int 3 is not a function",
    ),
    refused(
        "pure_callback: a string as the result",
        lambda: pure_callback(one, "a", V),
        errors.CallbackTypeError,
        "pure_callback: result_shape_dtypes has the str 'a', which has no shape and dtype",
    ),
    refused(
        "pure_callback: no method",
        lambda: pure_callback(one, V, V, vmap_method="fast"),
        errors.OptionError,
        "pure_callback: vmap_method='fast' is not a method",
    ),
    refused(
        "pure_callback: a nasty string",
        lambda: pure_callback(one, V, NASTY),
        errors.CallbackTypeError,
        "pure_callback: argument 1 is the str 'two\\nlines \\'single\\' \"double\" <b>b..., not a tensor",
    ),
    refused(
        "pure_callback: of an example, by no method",
        lambda: vmap(lambda x: pure_callback(one, x, x))(X),
        errors.UnsupportedError,
        "pure_callback: nothing says how the function is called for the examples of `x`",
    ),
    right("pure_callback: of one", lambda: pure_callback(one, V, V).tolist(), [1.0, 2.0, 3.0]),
    refused(
        "io_callback: None", lambda: io_callback(None, V, V), errors.CallError, "io_callback: None is not a function"
    ),
    refused(
        "io_callback: a nasty string as the result",
        lambda: io_callback(one, NASTY, V),
        errors.CallbackTypeError,
        "io_callback: result_shape_dtypes has the str 'two\\nlines \\'single\\' \"double\" <b>b..., which has no shape and dtype",
    ),
    refused(
        "io_callback: an object",
        lambda: io_callback(one, V, Odd()),
        errors.CallbackTypeError,
        "io_callback: argument 1 is an Odd, not a tensor",
    ),
    refused(
        "io_callback: ordered, of an example",
        lambda: vmap(lambda x: io_callback(one, x, x, ordered=True))(X),
        errors.UnsupportedError,
        "io_callback: ordered=True, and the examples of `x` have no order",
    ),
    refused(
        "debug: print of a number", lambda: debug.print(3), errors.OptionError, "debug.print: the text is the int 3"
    ),
    refused(
        "debug: print of no value",
        lambda: debug.print("{}"),
        errors.OptionError,
        "debug.print: the text '{}' asks for a value that is not there",
    ),
    refused(
        "debug: print of half a form",
        lambda: debug.print("{x", x=V),
        errors.OptionError,
        "debug.print: the text '{x' has no form of str.format",
    ),
    refused(
        "debug: callback of a number",
        lambda: debug.callback(3),
        errors.CallError,
        "debug.callback: the int 3 is not a function",
    ),
    refused("tree: map of a number", lambda: tree.map(3, V), errors.CallError, "tree.map: the int 3 is not a function"),
    refused(
        "tree: map over two forms",
        lambda: tree.map(two, (V, V), (V,)),
        errors.TreeError,
        "tree.map: tree 2 has another form than the first one",
    ),
    refused(
        "tree: unflatten by a number",
        lambda: tree.unflatten(3, [V]),
        errors.TreeError,
        "tree.unflatten: the structure is the int 3",
    ),
    refused(
        "tree: unflatten of too few leaves",
        lambda: tree.unflatten(tree.structure((V, V)), [V]),
        errors.TreeError,
        "tree.unflatten: 1 leaves for a tree of 2",
    ),
    refused(
        "tree: leaves of a cyclic list",
        lambda: tree.leaves(cyclic_list()),
        errors.TreeError,
        "tree: a list contains itself, so there is no end of what is in it",
    ),
    refused(
        "tree: ravel of a string",
        lambda: tree.ravel("a"),
        errors.TreeError,
        "tree.ravel: the tree is the str 'a', not a tensor",
    ),
    refused(
        "tree: ravel of an object in a tuple",
        lambda: tree.ravel((V, Odd())),
        errors.TreeError,
        "tree.ravel: the tree[1] is an Odd, not a tensor",
    ),
    refused(
        "tree: reduce by None", lambda: tree.reduce(None, V), errors.CallError, "tree.reduce: None is not a function"
    ),
    refused(
        "tree: transpose by numbers",
        lambda: tree.transpose(3, 3, V),
        errors.TreeError,
        "tree.transpose: outer is the int 3",
    ),
    right("tree: leaves of None", lambda: tree.leaves(None), []),
    refused(
        "tree: register_pytree_node of a number",
        lambda: tree.register_pytree_node(3, one, one),
        errors.TreeError,
        "register_pytree_node: the int 3 is not a class",
    ),
    refused("linalg: det of a vector", lambda: linalg.det(V), errors.MatrixError, "det: a is f32[3], not a matrix"),
    refused(
        "linalg: inv of a matrix that is not square",
        lambda: linalg.inv(X),
        errors.MatrixError,
        "inv: a has 3 rows and 2 columns",
    ),
    refused(
        "linalg: solve with one that is not square",
        lambda: linalg.solve(X, V),
        errors.MatrixError,
        "solve: a has 3 rows and 2 columns",
    ),
    refused(
        "linalg: solve of another length",
        lambda: linalg.solve(Tensor.eye(2), V),
        errors.MatrixError,
        "solve: a has 2 rows, and b has 3",
    ),
    refused(
        "linalg: cholesky of a string",
        lambda: linalg.cholesky("a"),
        errors.MatrixTypeError,
        "cholesky: a is the str 'a', not a tensor",
    ),
    refused(
        "linalg: eigh of one that is not square",
        lambda: linalg.eigh(X),
        errors.MatrixError,
        "eigh: a has 3 rows and 2 columns",
    ),
    refused(
        "linalg: norm of no order",
        lambda: linalg.norm(V, ord="a"),
        errors.MatrixError,
        "norm: there is no norm of vectors of order 'a'",
    ),
    refused(
        "linalg: norm over no axis",
        lambda: linalg.norm(V, axis=3),
        errors.MatrixError,
        "norm: axis=3 are not one or two axes",
    ),
    refused("linalg: qr of None", lambda: linalg.qr(None), errors.MatrixTypeError, "qr: a is None, not a tensor"),
    refused(
        "linalg: matrix_power by a float",
        lambda: linalg.matrix_power(Tensor.eye(2), 0.5),
        errors.MatrixTypeError,
        "matrix_power: n is the float 0.5",
    ),
    refused(
        "linalg: multi_dot of one",
        lambda: linalg.multi_dot([V]),
        errors.MatrixError,
        "multi_dot: a chain has two or more matrices",
    ),
    refused(
        "linalg: multi_dot of a number",
        lambda: linalg.multi_dot(3),
        errors.MatrixError,
        "multi_dot: a chain has two or more matrices",
    ),
    refused(
        "linalg: svd of a list", lambda: linalg.svd([1.0]), errors.MatrixTypeError, "svd: a is a list, not a tensor"
    ),
    refused(
        "linalg: expm of one that is not square",
        lambda: linalg.expm(X),
        errors.MatrixError,
        "expm: A has 3 rows and 2 columns",
    ),
    refused(
        "linalg: lstsq of another length",
        lambda: linalg.lstsq(X, W),
        errors.MatrixError,
        "lstsq: a has 3 rows, and b has 2",
    ),
    refused(
        "linalg: slogdet of an escaped value",
        lambda: linalg.slogdet(escaped()),
        errors.EscapeError,
        "slogdet: a: this value belongs to `x`, which is closed",
    ),
    right("linalg: det of nothing", lambda: linalg.det(Tensor.zeros(0, 0)).item(), 1.0),
    refused(
        "optim: adam by a string",
        lambda: optim.adam("a"),
        errors.OptionError,
        "learning_rate: learning_rate is the str 'a', not one number",
    ),
    refused(
        "optim: sgd by None",
        lambda: optim.sgd(None),
        errors.OptionError,
        "learning_rate: learning_rate is None, not one number",
    ),
    refused(
        "optim: chain of a number",
        lambda: optim.chain(3),
        errors.OptionError,
        "chain: part 1 is the int 3, not a transformation",
    ),
    refused(
        "optim: adam of a nasty string",
        lambda: optim.adam(0.1).init(NASTY),
        errors.StateTypeError,
        "scale_by_adam: the str 'two\\nlines \\'single\\' \"double\" <b>b... is not a tensor",
    ),
    refused(
        "optim: a state that is none",
        lambda: optim.adam(0.1).update((V,), 3),
        errors.StateTypeError,
        "chain: the state is the int 3, and there are 2 parts",
    ),
    refused(
        "optim: apply_updates of another form",
        lambda: optim.apply_updates((V,), (V, V)),
        errors.TreeError,
        "apply_updates: the updates have another form than the params",
    ),
    refused(
        "optim: minimize of a number",
        lambda: optim.minimize(3, V),
        errors.CallError,
        "minimize: the int 3 is not a function",
    ),
    refused(
        "optim: minimize by no method",
        lambda: optim.minimize(total, V, method="fast"),
        errors.OptionError,
        "minimize: there is no method 'fast'",
    ),
    refused("optim: root of None", lambda: optim.root(None, V), errors.CallError, "root: None is not a function"),
    refused(
        "optim: fixed_point from a string",
        lambda: optim.fixed_point(one, "a"),
        errors.StateTypeError,
        "fixed_point: the str 'a' is not a tensor",
    ),
    refused(
        "optim: clip to a string",
        lambda: optim.clip("a"),
        errors.OptionError,
        "clip: max_delta is the str 'a', not one number",
    ),
    refused(
        "optim: cosine_decay_schedule of no steps",
        lambda: optim.cosine_decay_schedule(0.1, 0),
        errors.OptionError,
        "cosine_decay_schedule: decay_steps=0 is not a number of steps",
    ),
    refused(
        "optim: linear_schedule from a string",
        lambda: optim.linear_schedule("a", 1.0, 3),
        errors.OptionError,
        "polynomial_schedule: init_value is the str 'a', not one number",
    ),
    refused(
        "optim: join_schedules with too many boundaries",
        lambda: optim.join_schedules([one], [1, 2]),
        errors.OptionError,
        "join_schedules: 2 boundaries for 1 schedules",
    ),
    refused(
        "optim: global_norm of a string",
        lambda: optim.global_norm("a"),
        errors.StateTypeError,
        "global_norm: the str 'a' is not a tensor",
    ),
)
