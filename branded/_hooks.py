"""Where branded meets tinygrad: the few places in which a tensor must know that it varies over a brand.

Each hook asks first whether a value has open brands, and otherwise does what tinygrad does.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any, cast

import tinygrad.mixin.gradient as tg_gradient
from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher, UOp, UPat

import branded.rules  # noqa: F401  fills the table of rules
from branded.brand import check_live, open_brands, tensor
from branded.dispatch import lower, on_device, settled
from branded.errors import EscapeError, ReadError, ShapeError, WriteError
from branded.primitive import at_slot, depends, params, primitive_of
from branded.rows import Row, is_leaf, left_brands, row_of
from branded.transforms.forward import products_of_others
from branded.transforms.leaves import plain, pull, transforming, unseen
from branded.transforms.reverse import is_pulling
from branded.transforms.writes import pulled_back
from branded.values import vec_type

Method = Callable[..., Any]
tg_function: Any = importlib.import_module("tinygrad.function")  # the name in the package is the decorator


def _wrap(name: str, make: Callable[[Method], Method]) -> None:
    original = getattr(Tensor, name)
    wrapped = functools.wraps(original)(make(original))
    setattr(Tensor, name, staticmethod(wrapped) if isinstance(Tensor.__dict__.get(name), staticmethod) else wrapped)


def _names(row: Row) -> str:
    return " and ".join(f"`{b.name}`" for b in row)


# ---- reads ----

READS = (
    *("numpy", "data", "tolist", "item", "realize"),
    *("linear_with_vars", "schedule_linear", "callify", "backward"),
)
"""The methods of Tensor that read its value, or that of its gradient."""

_READS = {
    "bool": ("has no single truth value", "x.where(a, b) in place of `if x`"),
    "int": ("has no single int", "index with the tensor itself, or use where"),
    "float": ("has no single float", "tinygrad's methods, which take tensors, where math's do not"),
    "iter": ("is 0-d per example: there is nothing to iterate over", "a tensor with an axis to iterate over"),
    "backward": ("has a gradient for each example, and .grad holds one", "loss.gradient(w), which is per example"),
}
_READ = ("has no single value to read", "return it from the mapped function and read the result")


def _forbid(what: str, *tensors: Tensor) -> None:
    """Refuse to read values that differ from example to example."""
    for t in tensors:
        row = row_of(t.uop)
        if not row:
            continue
        check_live(t.uop, what)
        if loops := [b for b in row if b.is_loop]:
            scope = loops[-1]
            raise ReadError(
                f"{what}: in the body of {scope.name} there is no value to read: it is traced once, {scope.traced_for}",
                ("value", vec_type(t)),
                fix="cond, where or while_loop in place of `if` and `while`; return the value and read it outside",
            )
        says, fix = _READS.get(what, _READ)
        raise ReadError(
            f"{what}: a value that varies over {_names(row)} {says}",
            ("value", vec_type(t)),
            *((b.name, f"opened by {b.where}") for b in row if b.where),
            fix=fix,
        )


def _reader(what: str) -> Callable[[Method], Method]:
    def make(original: Method) -> Method:
        def read(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            tensors = [self, *(a for a in (*args, *kwargs.values()) if isinstance(a, Tensor))]
            _forbid(what, *tensors)
            for t in tensors:
                t.uop = settled(t.uop)
            return original(self, *args, **kwargs)

        return read

    return make


def _counting(original: Method) -> Method:
    """`nonzero` and `masked_select` read how many there are, unless they are told."""

    def count(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except (ReadError, ShapeError):
            name = original.__name__
            raise ShapeError(
                f"{name}: the shape of the result would differ from example to example",
                ("value", vec_type(self)),
                fix=f"{name}(..., size=n), with the same n for all",
            ) from None

    return count


def _as_number(what: str, otherwise: str) -> Callable[[Tensor], Any]:
    def convert(self: Tensor) -> Any:
        _forbid(what, self)
        raise TypeError(otherwise)

    return convert


def _iterate(self: Tensor) -> Iterator[Tensor]:
    if not self.shape:
        _forbid("iter", self)

    return (self[i] for i in range(len(self) if self.shape else 0))


# ---- writes ----


def _check_write(target: Tensor, row: Row, what: str) -> None:
    """Under a brand, only tensors of its scope are written: a write is done once, and not once for each example."""
    own, root = row_of(target.uop), _storage(target.uop)
    for b in open_brands():
        if b in own:
            continue
        shared = root.op is Ops.BUFFER and (root.arg.slot < b.first_slot or b.has_outside(_storage, root))
        if not shared and b.made(target):
            continue
        tensor = ("tensor", f"{vec_type(target)}, made outside of the scope of `{b.name}`")
        if b not in row:
            each = f"in each {b.turn} of {b.name}" if b.is_loop else f"once for each example of `{b.name}`"
            raise WriteError(
                f"{what}: this write would be done once, and not {each}",
                tensor,
                fix="return what is to be written, and write it outside",
            )
        if b.is_loop:
            raise WriteError(
                f"{what}: a value of the body of {b.name} cannot go into a tensor from outside, once for each {b.turn}",
                tensor,
                fix="return the new value, and write it outside",
            )
        raise WriteError(
            f"{what}: a value that varies over `{b.name}` cannot go into a tensor that all its examples share",
            tensor,
            ("value", f"varies over {_names(row)}"),
            fix="return the new value from the mapped function, or map over the tensor too",
        )


def _storage(u: UOp) -> UOp:
    """What a write through `u` would change."""
    while u.op in GroupOp.Movement | {Ops.AFTER, Ops.BITCAST, Ops.DETACH}:
        u = u.src[0]
    return u


def _writer(what: str) -> Callable[[Method], Method]:
    def make(original: Method) -> Method:
        def write(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            *_, x = *args, *kwargs.values()
            if isinstance(x, Tensor):
                check_live(x.uop, what)
            if open_brands():
                _check_write(self, row_of(x.uop) if isinstance(x, Tensor) else (), what)
            return unseen(lambda: original(self, *args, **kwargs))

        return write

    return make


# ---- shapes ----

_SHAPED = ("reshape", "expand", "shrink", "pad", "repeat", "unfold", "view", "split", "unflatten")


def _per_example(x: Any) -> Tensor | None:
    """The first per-example value in an argument that ought to be a shape."""
    if isinstance(x, Tensor):
        return x if row_of(x.uop) else None
    parts = (x.start, x.stop, x.step) if isinstance(x, slice) else x if isinstance(x, tuple | list) else ()
    return next((t for t in map(_per_example, parts) if t is not None), None)


def _per_example_slice(index: Any) -> Tensor | None:
    """The same for an index, where a tensor may stand, but not in a slice."""
    parts = index if isinstance(index, tuple | list) else (index,)
    return _per_example([i for i in parts if isinstance(i, slice)])


def _shaped(find: Callable[[Any], Tensor | None]) -> Callable[[Method], Method]:
    def make(original: Method) -> Method:
        def shaped(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(self, *args, **kwargs)
            except Exception as error:
                found = next((t for t in map(find, (*args, *kwargs.values())) if t is not None), None)
                if found is None or isinstance(error, EscapeError):
                    raise
                what = "slice" if "item" in original.__name__ else original.__name__
                each = "step to step" if any(b.is_loop for b in row_of(found.uop)) else "example to example"
                raise ShapeError(
                    f"{what}: a shape or an offset differs from {each}",
                    ("tensor", vec_type(self)),
                    ("shape", f"depends on {vec_type(found)}"),
                    fix="index with a tensor, or mask with where",
                ) from None

        return shaped

    return make


# ---- what tinygrad's graph needs to know ----


def _gradient(original: Method) -> Method:
    def gradient(self: Tensor, *targets: Tensor, gradient: Tensor | None = None) -> Any:
        """Work out the vmaps that are done before going backward: reverse mode sees plain operations."""
        tensors = [self, *targets, *([gradient] if gradient is not None else [])]
        for t in tensors:
            check_live(t.uop, "gradient")
        for t in targets:
            for b in row_of(t.uop):
                if b.was_left and b not in row_of(self.uop):
                    raise EscapeError(
                        f"gradient: this value is of one example of `{b.name}`, and the loss of all of them",
                        ("value", vec_type(t)),
                        ("loss", vec_type(self)),
                        fix="the gradient with respect to the tensor of all examples",
                    )
        if any(b.is_open and b in row_of(self.uop) for b in left_brands([self.uop])):
            # examples exchange values in this loss: its gradient is that of `grad`
            ct = self.uop.const_like(1) if gradient is None else gradient.uop
            with transforming():
                grads, _ = pull([self.uop], [ct], [t.uop for t in targets])
            return [tensor(u) for u in plain(grads)]
        new = lower([t.uop for t in tensors])
        done = [t if u is t.uop else Tensor(u) for t, u in zip(tensors, new, strict=True)]
        ts = done[1 : 1 + len(targets)]
        return original(done[0], *ts, gradient=done[-1] if gradient is not None else None)

    return gradient


def _leaf_gradient(ctx: UOp, ret: UOp) -> tuple[UOp] | None:
    """A leaf of `grad` is an identity, where tinygrad's own CONTIGUOUS_BACKWARD makes the cotangent a buffer."""
    return (ctx,) if is_leaf(ret) else None


def _product_gradient(ctx: UOp, ret: UOp) -> tuple[UOp, ...] | None:
    """d prod x / dxⱼ is the product of the others: tinygrad's own rule, a quotient, cannot be differentiated again."""
    if not is_pulling() or ret.arg[0] is not Ops.MUL:
        return None
    x = ret.src[0]
    return (ctx * products_of_others(x, ret.arg[1]),)


def _cast_gradient(ret: UOp) -> tuple[None] | None:
    """What is made of ints or bools has no derivative: not even that which tinygrad would take of rounding."""
    return (None,) if is_pulling() and not dtypes.is_float(ret.src[0].dtype) else None


def _deepwalk(root: UOp, targets: set[UOp]) -> tuple[list[UOp], dict[UOp, bool]]:
    """What a derivative goes through: an argument of a function that is detached is not differentiated."""
    path: dict[UOp, bool] = {}
    root.topovisit(lambda u: u.op not in _NOWHERE and any(path[x] or x in targets for x in depends(u)), path)
    return [u for u, on_it in path.items() if on_it], path


_NOWHERE = {Ops.DETACH, *GroupOp.Comparison}


def _call_gradient(original: Callable[..., Any]) -> Callable[..., Any]:
    def call_gradient(ctx: UOp, k: UOp, needed: set[int]) -> tuple[UOp | None, ...]:
        if (p := primitive_of(k)) is None:
            if ctx.op is Ops.TUPLE:  # what varies and no device has would be a part of the body, not an argument
                ctx = UOp.maketuple(*(on_device(g) if row_of(g) else g for g in ctx.src))
            return cast("tuple[UOp | None, ...]", original(ctx, k, needed))
        return (None, *p.pull(k, [None if g.op is Ops.NOOP else g for g in ctx.src], needed))

    return call_gradient


def _compact_params(body: UOp, all_args: tuple[UOp, ...]) -> tuple[UOp, tuple[UOp, ...]]:
    """The body and the arguments that it uses; tinygrad takes the parameters of functions inside of it for its own."""
    own = params(body)
    numbered = {p: at_slot(p, i) for i, p in enumerate(own)}
    return body.substitute(numbered, walk=True), tuple(all_args[p.arg.slot] for p in own)


def _index_gradient(ctx: UOp, ret: UOp) -> tuple[UOp, None] | None:
    """d/dX of X[brand]: the cotangent in the example's own row, zero in the others."""
    x, r = ret.src
    if "_brand" not in r.__dict__:
        return None
    rows = UOp.arange(x.shape[0])
    own = rows.eq(UOp(Ops.INDEX, src=(rows, r))).reshape((x.shape[0],) + (1,) * len(ctx.shape))
    at = ctx.reshape((1, *ctx.shape))
    return own.where(at, at.const_like(0)), None


def _lift_into_function(ctx: Any, x: UOp) -> UOp | None:
    """A @function that closes over a per-example value, or one of a derivative, gets it as one more argument."""
    if "_brand" not in x.src[-1].__dict__ and not is_leaf(x):
        return None
    arguments: list[UOp] = ctx[0]
    param: UOp = x.param_like(len(arguments))
    given = {p: arguments[p.arg.slot] for p in params(x)}
    arguments.append(x.substitute(given))
    return param


def _repr(original: Method) -> Method:
    def text(self: Tensor) -> str:
        return vec_type(self) if row_of(self.uop) else original(self)

    return text


def _custom_kernel(original: Method) -> Method:
    def custom_kernel(self: Tensor, *lst: Tensor, **kwargs: Any) -> Any:
        from branded.errors import UnsupportedError

        for t in (self, *lst):
            if row_of(t.uop):
                raise UnsupportedError(
                    "custom_kernel: a kernel written by hand has no batching rule",
                    ("value", vec_type(t)),
                    fix="call it outside of vmap, on the whole batch",
                )
        return original(self, *lst, **kwargs)

    return custom_kernel


def install() -> None:
    for name in READS:
        _wrap(name, _reader("realize" if name == "linear_with_vars" else name))
    for name in ("nonzero", "masked_select"):
        _wrap(name, _counting)
    _wrap("__bool__", _reader("bool"))
    number = "must be real number, not Tensor"
    for name, what, otherwise in (
        ("__int__", "int", "int() argument must be a string, a bytes-like object or a real number, not 'Tensor'"),
        ("__float__", "float", "float() argument must be a string or a real number, not 'Tensor'"),
        ("__complex__", "float", number),
        ("__index__", "int", "'Tensor' object cannot be interpreted as an integer"),
    ):
        setattr(Tensor, name, _as_number(what, otherwise))
    setattr(Tensor, "__iter__", _iterate)  # noqa: B010  mypy: Tensor has no __iter__ to assign
    for name in ("assign", "replace", "__setitem__"):
        _wrap(name, _writer(name))
    for name in _SHAPED:
        _wrap(name, _shaped(_per_example))
    for name in ("__getitem__", "__setitem__"):
        _wrap(name, _shaped(_per_example_slice))
    _wrap("__repr__", _repr)
    _wrap("gradient", _gradient)
    _wrap("custom_kernel", _custom_kernel)
    brand_index = UPat(Ops.INDEX, src=(UPat(), UPat(Ops.RANGE)))
    leaf = UPat(Ops.CONTIGUOUS_BACKWARD, name="ret")
    write = UPat(Ops.AFTER, src=(UPat(), UPat(Ops.AFTER)), name="u")
    tg_gradient.pm_gradient = (
        PatternMatcher(
            [
                (leaf, _leaf_gradient),
                (UPat(Ops.CAST, name="ret"), _cast_gradient),
                (UPat(Ops.REDUCE, name="ret"), _product_gradient),
                (brand_index.named("ret"), _index_gradient),
                (write, pulled_back),
            ]
        )
        + tg_gradient.pm_gradient
    )
    tg_gradient._deepwalk = _deepwalk
    tg_gradient.call_gradient = _call_gradient(tg_gradient.call_gradient)
    tg_gradient._compact_params = _compact_params
    tg_function.pm_ctx = (
        PatternMatcher(
            [
                (UPat((Ops.INDEX, Ops.STAGE), src=(UPat(), UPat(Ops.RANGE)), name="x"), _lift_into_function),
                (UPat(Ops.CONTIGUOUS_BACKWARD, name="x"), _lift_into_function),
            ]
        )
        + tg_function.pm_ctx
    )
