"""Where branded meets tinygrad: the few places in which a tensor must know that it varies over a brand.

Each hook asks first whether a value has open brands, and otherwise does what tinygrad does.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any, cast

from tinygrad import Tensor, dtypes, nn
from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher, UOp, UPat

import branded.rules  # noqa: F401  fills the table of rules
from branded.crossing import check_live, lower, settled
from branded.derivatives.forward import products_of_others
from branded.derivatives.leaves import plain, pull, transforming, unseen
from branded.derivatives.reverse import is_pulling
from branded.errors import EscapeError, ReadError, ShapeError, UnsupportedError, WriteError
from branded.graph import on_device, tensor
from branded.patches import methods, tg
from branded.patches.tg import _TinyJit
from branded.primitive import at_slot, derives_from, params, primitive_of
from branded.rows import is_differentiated, is_leaf, is_marked, left_brands, row_of
from branded.rules import storage
from branded.scope import Region, Row, branches, brand_of, open_brands
from branded.values import vec_type

Method = Callable[..., Any]


def _wrap(name: str, make: Callable[[Method], Method]) -> None:
    original = getattr(Tensor, name)
    wrapped = functools.wraps(original)(make(original))
    setattr(Tensor, name, staticmethod(wrapped) if isinstance(Tensor.__dict__.get(name), staticmethod) else wrapped)


def _names(row: Row) -> str:
    return " and ".join(f"`{b.name}`" for b in row)


# ---- reads ----

READS = (
    *("numpy", "data", "tolist", "item"),
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
        if loops := [b for b in row if not b.is_brand]:
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


_reading = contextvars.ContextVar("branded_reading", default=False)


def _buffer(original: Method) -> Method:
    """The memory of a value: it has to be worked out for that, also while a derivative is taken."""

    def buffer(self: Tensor) -> Any:
        token = _reading.set(True)
        try:
            return original(self)
        finally:
            _reading.reset(token)

    return buffer


def _realize(original: Method) -> Method:
    """What cannot be worked out yet is said to be worked out by itself, when it is; nothing is read."""

    def realize(self: Tensor, *lst: Tensor, **kwargs: Any) -> Tensor:
        known, is_reading = [], _reading.get()
        for t in (self, *lst):
            check_live(t.uop, "realize")
            if row_of(t.uop) or (is_differentiated(t.uop) and not is_reading):
                storage.materialize(t)
            else:
                t.uop = settled(t.uop)
                known.append(t if is_reading else storage.inside(t))
        if known:
            original(*known, **kwargs)
        return self

    return realize


def _jit(original: Method) -> Method:
    """Under a brand there is nothing to run yet: a TinyJit is the function that it is of."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not open_brands():
            return original(self, *args, **kwargs)
        if self.fxn is None:
            raise UnsupportedError(
                "TinyJit: kernels that were loaded have no batching rule", fix="the function, or the TinyJit outside"
            )
        return self.fxn(*args, **kwargs)

    return call


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
    own, root = row_of(target.uop), None if what == "replace" else storage.root(target.uop)
    for b in open_brands():
        if b in own or _is_own(target, root, b):
            continue
        tensor = ("tensor", f"{vec_type(target)}, made outside of the scope of `{b.name}`")
        if b not in row:
            each = f"in each {b.turn} of {b.name}" if not b.is_brand else f"once for each example of `{b.name}`"
            raise WriteError(
                f"{what}: this write would be done once, and not {each}",
                tensor,
                fix="return what is to be written, and write it outside",
            )
        if not b.is_brand:
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
    for branch in branches():
        if not _is_own(target, root, branch):
            raise WriteError(
                f"{what}: a write in a branch into a tensor from outside of it would be done whichever branch is taken",
                ("tensor", vec_type(target)),
                fix="return the new value from each branch, and write it outside",
            )


def _batch_norm(original: Method) -> Method:
    def call(self: Any, x: Tensor) -> Tensor:
        try:
            return cast("Tensor", original(self, x))
        except WriteError:
            row = [b for b in row_of(x.uop) if b.is_open and b.is_brand]
            raise WriteError(
                f"BatchNorm: in training each example of {_names(tuple(row))} has its own statistics, and running_mean "
                "is one for all of them",
                ("value", vec_type(x)),
                fix="y, new = functional_call(model, state, x, mutable=True); return new, or its pmean over axis_name",
            ) from None

    return call


def _is_own(target: Tensor, root: UOp | None, scope: Region) -> bool:
    """Was this tensor made in the scope, and `root`, which a write into it changes?"""
    if root is None:
        return scope.made(target)
    if root.op is Ops.BUFFER and root.arg.slot < scope.first_slot:
        return False
    if storage.has_storage(root) and scope.has_outside(storage.root, root):
        return False
    return root.op is Ops.BUFFER or scope.made(target)


def _is_value(target: UOp, x: Any) -> bool:
    """Is there no memory to write to, so that a write gives a new value?"""
    return bool(row_of(target) or (isinstance(x, Tensor) and row_of(x.uop))) or is_marked(storage.root(target))


def _writer(what: str) -> Callable[[Method], Method]:
    def make(original: Method) -> Method:
        def write(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            *_, x = *args, *kwargs.values()
            if isinstance(x, Tensor):
                check_live(x.uop, what)
            if open_brands():
                _check_write(self, row_of(x.uop) if isinstance(x, Tensor) else (), what)
            if what == "replace" or not _is_value(self.uop, x):
                return unseen(lambda: original(self, *args, **kwargs))
            new = _assign if what == "assign" else _set
            return unseen(lambda: new(original, self, *args, **kwargs))

        return write

    return make


def _assign(original: Method, self: Tensor, x: Any) -> Tensor:
    if isinstance(x, Tensor) and x.uop is self.uop:
        return self
    storage.check_part(self, "assign")
    apart = tensor(storage.cell(self.uop))  # tinygrad checks and casts, and says what it would store
    with storage.explained("assign", self, lambda: self, x):
        original(apart, x)
    storage.write(self, apart.uop.src[1].src[1])
    return self


def _set(original: Method, self: Tensor, indices: Any, v: Any) -> None:
    if isinstance(v, Tensor) and not storage.found_again(self, v) and v.uop is self[indices].uop:
        return  # self[indices] += v
    storage.check_part(self, "__setitem__")
    apart = tensor(storage.cell(storage.attached(self.uop)))  # tinygrad gives all of it anew, with the part replaced
    with storage.explained("__setitem__", self, lambda: self[indices], v):
        original(apart, indices, v)
    storage.write(self, apart.uop)


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
        inner, running = methods.nested(original), methods.running()

        def shaped(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            try:
                return (original if running() is None else inner)(self, *args, **kwargs)
            except Exception as error:
                found = next((t for t in map(find, (*args, *kwargs.values())) if t is not None), None)
                if found is None or isinstance(error, EscapeError):
                    raise
                what = "slice" if "item" in original.__name__ else original.__name__
                each = "step to step" if any(not b.is_brand for b in row_of(found.uop)) else "example to example"
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
    """A leaf or a storage is an identity, where tinygrad's own CONTIGUOUS_BACKWARD makes the cotangent a buffer."""
    return (ctx,) if is_marked(ret) else None


def _write_gradient(ctx: UOp, ret: UOp) -> tuple[UOp, UOp] | None:
    """Of a write into a part: its cotangent for what is written, and that of the rest for what was there."""
    if (found := storage.part(ret)) is None or not found[0]:
        return None
    own = storage.viewed(found[0], ctx)
    return storage.written(own, own.const_like(0), ctx), own


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
    root.topovisit(lambda u: u.op not in _NOWHERE and any(path[x] or x in targets for x in derives_from(u)), path)
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
    if brand_of(r) is None:
        return None
    rows = UOp.arange(x.shape[0])
    own = rows.eq(UOp(Ops.INDEX, src=(rows, r))).reshape((x.shape[0],) + (1,) * len(ctx.shape))
    at = ctx.reshape((1, *ctx.shape))
    return own.where(at, at.const_like(0)), None


def _lift_into_function(ctx: Any, x: UOp) -> UOp | None:
    """A @function that closes over a per-example value, or one of a derivative, gets it as one more argument."""
    if brand_of(x.src[-1]) is None and not is_leaf(x):
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
    _wrap("realize", _realize)
    _wrap(tg.MEMORY_OF, _buffer)
    _TinyJit.__call__ = functools.wraps(_TinyJit.__call__)(_jit(_TinyJit.__call__))
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
    # who is in the table of all tensors: tinygrad takes the time of a method that is asked for it
    setattr(Tensor, "__hash__", object.__hash__)  # noqa: B010  mypy: a method
    setattr(Tensor, "__iter__", _iterate)  # noqa: B010  mypy: Tensor has no __iter__ to assign
    for name in ("assign", "replace", "__setitem__"):
        _wrap(name, _writer(name))
    nn.BatchNorm.__call__ = functools.wraps(nn.BatchNorm.__call__)(_batch_norm(nn.BatchNorm.__call__))  # type: ignore[method-assign]
    for name in _SHAPED:
        _wrap(name, _shaped(_per_example))
    for name in ("__getitem__", "__setitem__"):
        _wrap(name, _shaped(_per_example_slice))
    _wrap("__repr__", _repr)
    _wrap("gradient", _gradient)
    _wrap("custom_kernel", _custom_kernel)
    brand_index = UPat(Ops.INDEX, src=(UPat(), UPat(Ops.RANGE)))
    leaf = UPat(Ops.CONTIGUOUS_BACKWARD, name="ret")
    tg.gradient.pm_gradient = (
        PatternMatcher(
            [
                (leaf, _leaf_gradient),
                (UPat(Ops.AFTER, name="ret"), _write_gradient),
                (UPat(Ops.CAST, name="ret"), _cast_gradient),
                (UPat(Ops.REDUCE, name="ret"), _product_gradient),
                (brand_index.named("ret"), _index_gradient),
            ]
        )
        + tg.gradient.pm_gradient
    )
    tg.gradient._deepwalk = _deepwalk
    tg.gradient.call_gradient = _call_gradient(tg.gradient.call_gradient)
    tg.gradient._compact_params = _compact_params
    tg.function.pm_ctx = (
        PatternMatcher(
            [
                (UPat((Ops.INDEX, Ops.STAGE), src=(UPat(), UPat(Ops.RANGE)), name="x"), _lift_into_function),
                (UPat(Ops.CONTIGUOUS_BACKWARD, name="x"), _lift_into_function),
            ]
        )
        + tg.function.pm_ctx
    )
