"""Aliasing: which tensors are views of the same storage, so that a write to one of them changes the others.

A per-example value has no memory, so a write to it creates a new value.  Every tensor that is a view of the same
storage becomes a view of the new value.  A storage is a value with an identity: a mapped argument, a buffer, a leaf of
a derivative, or the result of a write.  Other values are only expressions: two equal expressions are the same value.
They have no storage in tinygrad either, so a write to a view of them changes only the view.  Tensors that should have
seen such a write become `Lost`: using them raises an error.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.core.boundary import Lost
from branded.errors import WriteError
from branded.graph.rows import dtype_text, is_place, row_of, type_text
from branded.graph.scope import Scope, brand_of, open_brands
from branded.graph.tags import is_storage, is_tagged, new_storage
from branded.graph.uops import like, living_tensors, replace_ops, tensor
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import all_int, broadcast_to
from branded.tree import describe

_ROOT = "_branded_root"
_VIEWS = (GroupOp.Movement - {Ops.EXPAND, Ops.PAD}) | {Ops.BITCAST, Ops.DETACH}


def storage(u: UOp) -> UOp:
    """Return the value that `u` is a view of, or `u` itself if it is not a view.

    The result of `expand` is not a view.  The result of `pad` is a view only if later views hide the padding.  The
    result of `contiguous` is a view only if tinygrad makes no copy for it.
    """
    chain: list[UOp] = []
    while True:
        if u.op in _VIEWS or (u.op is Ops.PAD and _is_hidden(u, chain)) or is_no_copy(u):
            chain.append(u)
            u = u.src[0]
        else:
            return u


def _is_hidden(pad: UOp, views: list[UOp]) -> bool:
    """Return whether these views of a padded value (last one first) hide all of the padding, as in `x[::2]`."""
    if not views or any(v.op is Ops.BITCAST or not all_int(v.shape) for v in (pad, *views)):
        return False
    seen = np.pad(np.ones(pad.src[0].shape, bool), [(p, n - p - s) for (p, n), s in _pad_bounds(pad)])
    for v in reversed(views):
        match v.op:
            case Ops.RESHAPE:
                seen = seen.reshape(v.shape)
            case Ops.PERMUTE:
                seen = seen.transpose(v.arg)
            case Ops.SHRINK:
                seen = seen[tuple(slice(p, p + n) for p, n in v.marg)]
            case Ops.PAD:
                return False
    return bool(seen.all())


def _pad_bounds(pad: UOp) -> Iterator[tuple[tuple[Any, Any], Any]]:
    return zip(pad.marg, pad.src[0].shape, strict=True)


def is_no_copy(u: UOp) -> bool:
    """Return whether tinygrad makes no copy for this `contiguous`, because the value is contiguous in memory."""
    if u.op is not Ops.CONTIGUOUS:
        return False
    x = u.src[0]
    of = storage(x)
    if not has_storage(of) or not all_int((*of.shape, *x.shape)):
        return False
    views = list[tuple[Ops, DType, Any, tuple[UOp, ...]]]()
    while x is not of:
        views.append((x.op, x.dtype, x.arg, x.src[1:]))
        x = x.src[0]
    return not views or _is_contiguous(tuple(views), of.shape, of.dtype)


@functools.lru_cache(maxsize=1024)
def _is_contiguous(views: tuple[tuple[Ops, DType, Any, tuple[UOp, ...]], ...], shape: Any, dtype: DType) -> bool:
    """Return whether views, the last one first, are contiguous in the memory of a value of this shape."""
    u: UOp = UOp.new_buffer("CPU", math.prod(shape), dtype).reshape(shape)
    for op, to, arg, src in reversed(views):
        u = UOp(op, to, (u, *src), arg)
    return u.contiguous_view() is not None


def has_storage(u: UOp) -> bool:
    """Return whether this value is a storage: unlike an expression, it never equals a value computed elsewhere."""
    if u.op is Ops.INDEX:
        return brand_of(u.src[-1]) is not None
    if u.op is Ops.COPY:  # a copy of Python data
        return str(u.src[0].device).startswith(("PYTHON", "NPY"))
    return is_tagged(u) or is_place(u) or bool(u.has_buffer_identity(after_ok=True))  # type: ignore[no-untyped-call]


def root(u: UOp) -> UOp:
    """Return the storage that a write through `u` changes in the end: for a part of a buffer, the buffer.

    The result is cached on the UOp of each write, because the graph contains all earlier writes.
    """
    passed: list[UOp] = []
    while (v := storage(u)).op in (Ops.EXPAND, Ops.PAD, Ops.AFTER):
        if (known := v.__dict__.get(_ROOT)) is not None:
            v = known
            break
        passed.append(v)
        u = v.src[0]
    for w in passed:
        w.__dict__[_ROOT] = v
    return v


def _over(u: UOp, old: UOp, new: UOp) -> UOp:
    """Return the same view of `new` as `u` is of `old`."""
    if u is old:
        return new
    return like(u, u.replace(src=(_over(u.src[0], old, new), *u.src[1:])))


def in_memory(u: UOp) -> UOp:
    """Mark `u` as a value that tinygrad should materialize."""
    if u.op is Ops.CONTIGUOUS or u.device is None or u.dtype in dtypes.weaks:
        return u
    return UOp(Ops.CONTIGUOUS, u.dtype, (u,))


def merge_writes(us: Sequence[UOp], b: Scope) -> list[UOp]:
    """Return the results of the brand `b`, in which consecutive writes to one value share a kernel."""
    graph = UOp(Ops.SINK, src=tuple(us)).toposort(enter_calls=False)
    readers = dict[UOp, list[UOp]]()
    for u in graph:
        for s in dict.fromkeys(u.src):
            readers.setdefault(s, []).append(u)
    tags, writes = set[Any](), dict[UOp, int]()
    for u in graph:
        if not is_storage(u) or u.src[0].op is not Ops.CONTIGUOUS or b not in row_of(u):
            continue
        x, n = u, writes.get(u, 1)
        while len(readers[x]) == 1 and (x := readers[x][0]).op in _ENTRYWISE:
            pass
        if n == _MOST_WRITES or x.op is not Ops.CONTIGUOUS or not is_storage(y := readers[x][0]):
            continue
        if len(readers[x]) == len(readers[u.src[0]]) == 1 and (y.shape, {*row_of(y)}) == (u.shape, {*row_of(u)}):
            tags.add(u.arg)
            writes[y] = n + 1
    return replace_ops(us, lambda u: u.src[0].src[0] if is_storage(u) and u.arg in tags else None) if tags else list(us)


_ENTRYWISE = {Ops.WHERE, Ops.RESHAPE, Ops.PERMUTE, Ops.CONTIGUOUS_BACKWARD}
"""Operations that compute each entry from one entry of each operand, as a write does."""
_MOST_WRITES = 4
"""The largest number of writes in one kernel: kernels with more are not faster."""


def written_part(u: UOp) -> UOp:
    """Mark a value that is written into a part to be materialized, if it contains a reduction.

    The write pads the value to the whole shape, and a fused kernel would compute the reduction for the padding too.
    """
    stack, seen = [u], {u}
    while stack:
        x = stack.pop()
        if x.op is Ops.REDUCE and x.device is not None:
            return in_memory(u)
        if x.op in _INLINED:
            stack += [s for s in x.src if s not in seen]
            seen.update(x.src)
    return u


_INLINED = GroupOp.Elementwise | GroupOp.Movement | {Ops.INDEX, Ops.STAGE, Ops.DETACH, Ops.CONTIGUOUS_BACKWARD}
"""Operations that tinygrad computes inside the kernel that reads them."""


def materialize(t: Tensor) -> None:
    """Mark `t` to be materialized, so that it has a storage like a realized tensor."""
    if has_storage(storage(t.uop)) or t.uop.device is None or t.uop.dtype in dtypes.weaks:
        return
    t.uop = new_storage(in_memory(t.uop), storage(t.uop))


def inside(t: Tensor) -> Tensor:
    """Return `t`, or the value in its storage if it has a storage tag, so that the value can be realized."""
    while is_storage(u := storage(t.uop)):
        t = tensor(u.src[0])
    return t


def write(target: Tensor, new: UOp) -> None:
    """Write `new` to `target`, and update all tensors that are views of its storage."""
    old = target.uop
    of = storage(old)
    if not has_storage(of):
        target.uop = new_storage(in_memory(new))
        if old is not of:
            _lose(of, old, target.uop)
        return
    changed = new_storage(in_memory(write_view(old, new, of)))
    for b in open_brands():
        b.has_writes = True
    for t in living_tensors():
        if _storage_below_repeats(t.uop) is of:
            t.uop = _over(t.uop, of, changed)
    if is_storage(of) and of.arg.before is not None:  # views from before it was realized
        _lose(of.arg.before, of, changed)


def _storage_below_repeats(u: UOp) -> UOp:
    """Return the storage of a value, looking through repetition."""
    while (of := storage(u)).op is Ops.EXPAND:
        u = of.src[0]
    return of


def check_part(target: Tensor, api_name: str) -> None:
    """Raise WriteError if the target is a view with repeated or padded entries."""
    of = storage(target.uop)
    if of.op in (Ops.EXPAND, Ops.PAD) and has_storage(root(of)):
        how, each = ("repeats", "repeated") if of.op is Ops.EXPAND else ("pads", "padded")
        raise WriteError(
            f"{api_name}: this tensor {how} another one, and a write into it is ambiguous",
            ("tensor", type_text(target.uop)),
            ("another", type_text(of.src[0])),
            fix=f"x = x.clone() to write into the {each} values, or write into the other tensor",
        )


def write_view(view: UOp, new: UOp, of: UOp) -> UOp:
    """Return the value of `of` after a write of `new` to its `view`, in which no entry is repeated."""
    if view is of:
        return new
    below = view.src[0]
    match view.op:
        case Ops.RESHAPE:
            new = new.reshape(below.shape)
        case Ops.PERMUTE:
            new = new.permute(tuple(view.arg.index(i) for i in range(len(view.arg))))
        case Ops.FLIP:
            new = new.flip(tuple(i for i, flipped in enumerate(view.arg) if flipped))
        case Ops.BITCAST:
            new = new.bitcast(below.dtype)
        case Ops.PAD:
            new = new.shrink(tuple((p, p + s) for (p, _), s in _pad_bounds(view)))
        case Ops.SHRINK:
            around = tuple((p, s - p - n) for (p, n), s in zip(view.marg, below.shape, strict=True))
            inside = broadcast_to(UOp.const(True, dtypes.bool), view.shape).pad(around)
            new = inside.where(written_part(new).pad(around), _without_detach(below, of))
    return write_view(below, new, of)


def without_detach(u: UOp) -> UOp:
    """Return the view `u` of its storage, without `detach`."""
    return _without_detach(u, storage(u))


def _without_detach(u: UOp, of: UOp) -> UOp:
    """Return the view `u` of `of`, without `detach`, so that unwritten entries keep their derivative."""
    if u is of:
        return u
    below = _without_detach(u.src[0], of)
    return below if u.op is Ops.DETACH else u.replace(src=(below, *u.src[1:]))


def part(u: UOp) -> tuple[list[UOp], UOp] | None:
    """Return the views that lead to the written part (last one first) and the write; None if `u` is not a write."""
    if u.op is not Ops.AFTER or len(u.src) != 2 or u.src[1].op not in {Ops.STORE, Ops.AFTER}:
        return None
    of, effect = u.src
    views, view = [], effect.src[0]
    while view is not of:
        if view.op not in _VIEWS | {Ops.PAD}:
            return None
        views.append(view)
        view = view.src[0]
    return views, effect


def apply_views(views: list[UOp], u: UOp) -> UOp:
    """Apply the same views to another value of the same shape."""
    for v in reversed(views):
        u = v.replace(src=(u, *v.src[1:]))
    return u


def _lose(of: UOp, view: UOp, written: UOp) -> None:
    """Make all other views of `of` that a write to `view` should have changed `Lost`, because `of` has no storage.

    A value without a device is a constant.  Unrelated tensors may have the same UOp, so they are not marked.
    """
    b = Lost(view, written)
    for t in living_tensors():
        if storage(t.uop) is of and (of.device is not None or t.uop is not view):
            t.uop = b.lose(t.uop)


def found_again(target: Tensor, value: object) -> bool:
    """Return whether this is the last step of `y[1:3] += 1`, in which Python assigns the part to `y[1:3]`.

    The part was already written, so this restores `y` instead of writing again.
    """
    b = brand_of(target.uop.src[-1]) if target.uop.op is Ops.INDEX else None
    if not isinstance(b, Lost) or not isinstance(value, Tensor) or value.uop is not b.written:
        return False
    target.uop = b.found(target.uop)
    return True


@contextmanager
def explain_write_errors(api_name: str, target: Tensor, part: Callable[[], Tensor], value: object) -> Iterator[None]:
    """Replace tinygrad's error for a write to a part of a per-example value by one that explains the cause."""
    try:
        yield
    except (IndexError, RuntimeError, TypeError, ValueError):
        if (e := _misfit(api_name, target, part, value)) is None:
            raise
        raise e from None


def _misfit(api_name: str, target: Tensor, part: Callable[[], Tensor], value: object) -> WriteError | None:
    """Return an error that explains why a value cannot be written, or None if the value is not the cause."""
    try:
        into = part()
    except (IndexError, RuntimeError, TypeError, ValueError):
        return None
    try:
        x = value if isinstance(value, Tensor) else Tensor(value, dtype=target.dtype)  # type: ignore[arg-type]
    except (RuntimeError, TypeError, ValueError):
        return WriteError(
            f"{api_name}: {describe(value)} cannot be stored in a tensor",
            ("tensor", type_text(into.uop)),
            fix="assign a number or a tensor",
        )
    both = ("tensor", type_text(into.uop)), ("value", type_text(x.uop))
    try:
        broadcast_to(x.uop, into.shape)
    except ValueError:
        fix = f"use a value of shape {into.shape}, or one that broadcasts to it"
        return WriteError(
            f"{api_name}: a value of shape {x.shape} does not fit into a tensor of {into.shape}", *both, fix=fix
        )
    if x.dtype != target.dtype:
        kinds = f"{dtype_text(x.dtype)} does not fit into a tensor of {dtype_text(target.dtype)}"
        return WriteError(f"{api_name}: a value of {kinds}", *both, fix=f"value.cast({target.dtype})")
    if x.device != target.device and None not in (x.device, target.device):
        places = f"{x.device} does not fit into a tensor on {target.device}"
        return WriteError(f"{api_name}: a value on {places}", *both, fix=f"value.to({target.device!r})")
    return None
