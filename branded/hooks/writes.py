"""Hooks for writes: `assign`, `x[i] = v` and `+=` under a brand create new per-example values, or raise errors."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, cast

from tinygrad import Tensor, dtypes, nn
from tinygrad.uop.ops import Ops, UOp

from branded.autodiff.captured_writes import note
from branded.autodiff.leaves import hide_leaves, is_own
from branded.core.analysis import aliasing
from branded.core.tracing.state import is_tracing
from branded.core.values import vec_type
from branded.errors import WriteError
from branded.errors.source import asking
from branded.graph.rows import check_live, is_differentiated, row_of
from branded.graph.scope import Region, Row, branches, open_brands, ruled_functions
from branded.graph.tags import is_tagged, new_storage
from branded.graph.uops import tensor
from branded.hooks.reads import names
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.tensor_methods import Method, wrap
from branded.tinygrad_compat.tinygrad_lock import LOCK


def _check_write(target: Tensor, row: Row, api_name: str) -> None:
    """Raise if a write changes a tensor outside a brand's scope: it would happen once, not once per example."""
    target_row, root = row_of(target.uop), None if api_name == "replace" else aliasing.root(target.uop)
    for b in open_brands():
        if b in target_row or _is_own(target, root, b):
            continue
        tensor = ("tensor", f"{vec_type(target)}, made outside of the scope of `{b.name}`")
        if b.recorded_writes is not None:
            b.recorded_writes.append(target)
            continue
        if b.is_program:
            raise WriteError(
                f"{api_name}: {b.name} traces the function without values, "
                "so it cannot write into a tensor from outside",
                ("tensor", vec_type(target)),
                fix="return the new value from the function, and write it outside",
            )
        if b not in row:
            each = f"in each {b.turn} of {b.name}" if not b.is_brand else f"once for each example of `{b.name}`"
            raise WriteError(
                f"{api_name}: this write would run once, not {each}",
                tensor,
                fix="return the value, and write it outside",
            )
        if not b.is_brand:
            raise WriteError(
                f"{api_name}: a value of the body of {b.name} cannot be written into a tensor from outside, "
                f"once for each {b.turn}",
                tensor,
                fix="return the value, and write it outside",
            )
        is_load = asking(private_api.NAMES_KERNELS) == "load_state_dict"
        fix = "return the new value from the mapped function, or map over the tensor too"
        raise WriteError(
            f"{'load_state_dict' if is_load else api_name}: a value that varies over `{b.name}` "
            "cannot be written into a tensor that all examples share",
            tensor,
            ("value", f"varies over {names(row)}"),
            fix="call functional_call(module, state, x) instead, which keeps the module's tensors" if is_load else fix,
        )
    for branch in branches():
        if not _is_own(target, root, branch):
            raise WriteError(
                f"{api_name}: a write in a branch into a tensor from outside would run whichever branch is taken",
                ("tensor", vec_type(target)),
                fix="return the value from each branch, and write it outside",
            )


def _check_rules(target: Tensor, api_name: str) -> None:
    """Raise if a function with a custom rule writes to an outside tensor, because it may run twice or not at all."""
    for function in ruled_functions():
        if not _is_own(target, None if api_name == "replace" else aliasing.root(target.uop), function):
            raise WriteError(
                f"{api_name}: a function with a custom rule writes into a tensor from outside",
                ("tensor", vec_type(target)),
                fix="return the value, and write it outside",
            )


def _batch_norm(original: Method) -> Method:
    def call(self: Any, x: Tensor) -> Tensor:
        try:
            return cast("Tensor", original(self, x))
        except WriteError:
            row = [b for b in row_of(x.uop) if b.is_open and b.is_brand]
            raise WriteError(
                f"BatchNorm: in training each example of {names(tuple(row))} has its own statistics, and running_mean "
                "is one for all of them",
                ("value", vec_type(x)),
                fix="y, new = functional_call(model, state, x, mutable=True), and return new or its pmean",
            ) from None

    return call


def _is_own(target: Tensor, root: UOp | None, scope: Region) -> bool:
    """Return whether the scope made this tensor and `root`, the node that a write to the tensor changes."""
    if root is None:
        return scope.has_made(target)
    if root.op is Ops.BUFFER and root.arg.slot < scope.first_slot:
        return False
    if aliasing.has_storage(root) and scope.has_outside(aliasing.root, root):
        return False
    return root.op is Ops.BUFFER or scope.has_made(target)


def _is_value(target: UOp, x: Any) -> bool:
    """Return whether a write creates a new value because the target has no memory.

    A value in a differentiated function counts too: its derivative reads the contents before the write.
    """
    root, varies = aliasing.root(target), row_of(target) or (isinstance(x, Tensor) and row_of(x.uop))
    differs = is_own(root) or (root.op is not Ops.BUFFER and is_differentiated(target))
    return bool(varies) or is_tagged(root) or differs


def _writer(api_name: str) -> Callable[[Method], Method]:
    def make(original: Method) -> Method:
        def write(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            *_, x = *args, *kwargs.values()
            if isinstance(x, Tensor):
                check_live(x.uop, api_name)
            if open_brands():
                _check_write(self, row_of(x.uop) if isinstance(x, Tensor) else (), api_name)
            with LOCK:
                if api_name == "replace" or not _is_value(self.uop, x):
                    _check_rules(self, api_name)
                    note(self.uop)
                    return hide_leaves(lambda: original(self, *args, **kwargs))
                new = _assign if api_name == "assign" else _setitem
                return hide_leaves(lambda: new(original, self, *args, **kwargs))

        return write

    return make


def _assign(original: Method, self: Tensor, x: Any) -> Tensor:
    if isinstance(x, Tensor) and x.uop is self.uop:
        return self
    aliasing.check_part(self, "assign")
    apart = tensor(new_storage(self.uop))  # tinygrad checks and casts `x`; the graph shows the value to store
    with aliasing.explain_write_errors("assign", self, lambda: self, x):
        original(apart, x)
    aliasing.write(self, apart.uop.src[1].src[1])
    return self


def _setitem(original: Method, self: Tensor, indices: Any, v: Any) -> None:
    is_mask = isinstance(indices, Tensor) and indices.dtype == dtypes.bool
    if isinstance(v, Tensor) and not is_mask and not aliasing.found_again(self, v) and v.uop is self[indices].uop:
        return  # self[indices] += v
    aliasing.check_part(self, "__setitem__")
    apart = tensor(new_storage(aliasing.without_detach(self.uop)))  # tinygrad returns it all with the part replaced
    with aliasing.explain_write_errors("__setitem__", self, lambda: self[indices], v):
        original(apart, indices, tensor(aliasing.written_part(v.uop)) if isinstance(v, Tensor) else v)
    aliasing.write(self, apart.uop)


_IN_PLACE = {
    "__iadd__": "+=", "__isub__": "-=", "__imul__": "*=", "__itruediv__": "/=", "__ifloordiv__": "//=",
    "__ipow__": "**=", "__iand__": "&=", "__ior__": "|=", "__ixor__": "^=", "__ilshift__": "<<=", "__irshift__": ">>=",
}  # fmt: skip


def _in_place(symbol: str) -> Callable[[Method], Method]:
    """Wrap `y += x` to raise the error of `y + x` before the write."""

    def make(original: Method) -> Method:
        def write(self: Tensor, x: Any) -> Any:
            if not _is_value(self.uop, x):
                return original(self, x)
            with aliasing.explain_write_errors(symbol, self, lambda: self, x):
                return original(self, x)

        return write

    return make


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Copy the value into a new storage, by an operation that has a derivative.

    Python would copy the graph: it has no derivative, and tinygrad finds the same buffer for the copy of a buffer.
    """
    new = copy.copy(self) if self.uop.device is None else self.clone()  # a number has no storage
    is_kept = is_tracing() or is_differentiated(self.uop) or row_of(self.uop) or not self.uop.is_realized
    return new if is_kept else new.realize()  # before a write changes the buffer


def install() -> None:
    setattr(Tensor, "__deepcopy__", _deepcopy)  # noqa: B010  mypy: Tensor has no __deepcopy__ to assign
    for name in ("assign", "replace", "__setitem__"):
        wrap(name, _writer(name))
    for name, symbol in _IN_PLACE.items():
        wrap(name, _in_place(symbol))
    nn.BatchNorm.__call__ = functools.wraps(nn.BatchNorm.__call__)(_batch_norm(nn.BatchNorm.__call__))  # type: ignore[method-assign]
