"""A fix for a race in UOp interning: two threads can both miss a key in the table, and both insert a UOp.

    one thread                another                       in the table
    key is missing            key is missing
    makes u, inserts it                                     u
                              makes v, inserts it           v: equal to u, which others hold, but another UOp

tinygrad then treats the two as different values. The same happens if a thread takes a UOp from the table while
another is about to delete it: the entry is removed, but the UOp stays alive. Here each decisive step is one atomic
operation on the table.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from sys import getrefcount
from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.tinygrad_lock import TABLE

_Forget = Callable[[Any, Any], None]


def install() -> None:
    if "setdefault" in private_api.UOpMetaClass.__call__.__code__.co_names:
        return
    table = private_api.UOpMetaClass.ucache
    forget = _forgetting(table)
    setattr(private_api.UOpMetaClass, "__call__", _making(table, forget))  # noqa: B010  mypy: a method is not assigned
    setattr(UOp, "__del__", _deleting(table, forget))  # noqa: B010
    UOp.const(0.577215664901532)  # its deletion measures the reference count of a dying UOp


def _making(table: dict[Any, Any], forget: _Forget) -> Callable[..., Any]:
    """Return `UOp.__call__` with an atomic insertion: if another thread inserts an equal UOp first, return that one."""
    original, metadata_of, spec, infer = (
        private_api.UOpMetaClass.__call__,
        private_api.all_metadata,
        private_api.SPEC,
        private_api.dtype_from_uop,
    )
    make, ref, void = type.__call__, weakref.ref, dtypes.void

    def call(
        cls: Any,
        op: Any,
        dtype: Any = None,
        src: tuple[UOp, ...] = (),
        arg: Any = None,
        tag: Any = None,
        metadata: Any = None,
        _buffer: Any = None,
    ) -> Any:
        if spec.value > 1 or _buffer is not None:
            return original(cls, op, dtype, src, arg, tag, metadata, _buffer)
        if dtype is None:
            dtype = infer(op, src, arg) or void
        key = (op, dtype, src, arg, tag)
        if (entry := table.get(key)) is not None and (u := entry()) is not None:
            return u
        new = make(cls, *key)
        mine = ref(new)
        while (entry := table.setdefault(key, mine)) is not mine:
            if (u := entry()) is not None:
                new.op = None  # another thread was first; this UOp is in no table and has no other reference
                return u
            forget(key, entry)
        if metadata is not None:
            metadata_of[new] = metadata
        return new

    return call


def _deleting(table: dict[Any, Any], forget: _Forget) -> Callable[[UOp], None]:
    """Return `UOp.__del__`: remove the UOp from the table, but put it back if another thread has taken it meanwhile.

    A taken UOp has more references than a dying one. The first deletion measures the count of a dying UOp.
    """
    # bound here because Python clears modules at exit before it deletes the last UOps
    buffers, buffer, ref, count = private_api.buffers, Ops.BUFFER, weakref.ref, getrefcount
    dying_count = unknown = 2**31

    def delete(self: UOp) -> None:
        nonlocal dying_count
        try:
            if self.op is buffer and (b := buffers.get(self)) is not None:
                b.ref(-1)
            key = (self.op, self.dtype, self.src, self.arg, self.tag)
            table.pop(key, None)
            if (n := count(self)) > dying_count:
                # another thread holds it: it stays alive, and __del__ is not called again
                table.setdefault(key, ref(self, lambda entry: forget(key, entry)))
            elif dying_count == unknown:
                dying_count = n
        except (AttributeError, TypeError):
            pass  # its construction failed

    return delete


def _forgetting(table: dict[Any, Any]) -> _Forget:
    """Return a function that removes the entry of a dead UOp from the table, if it is still there."""
    lock = TABLE  # bound here because Python clears modules at exit before it deletes the last UOps

    def forget(key: Any, entry: Any) -> None:
        with lock:
            if table.get(key) is entry:
                del table[key]

    return forget
