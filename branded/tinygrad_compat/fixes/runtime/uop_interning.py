"""tinygrad keeps one UOp for equal ones in a table, which two threads can both find without it, and both fill.

    one thread                another                       in the table
    key is not there          key is not there
    makes u, puts it in                                     u
                              makes v, puts it in           v: equal to u, which others have, and another UOp

Everything takes the two for different values.  The same happens when a thread takes a UOp out of the table while
another is about to delete it: the entry goes, and the UOp lives on.  Here what counts is one operation on the table
each, which no other thread comes between.
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
    UOp.const(0.577215664901532)  # the first to go says how many references one has that goes


def _making(table: dict[Any, Any], forget: _Forget) -> Callable[..., Any]:
    """`UOp(...)`: the one in the table, or a new one, unless another thread has put its own there meanwhile."""
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
        if (found := table.get(key)) is not None and (u := found()) is not None:
            return u
        made = make(cls, *key)
        mine = ref(made)
        while (found := table.setdefault(key, mine)) is not mine:
            if (u := found()) is not None:
                made.op = None  # another thread was first: this one, which nobody has, is in no table
                return u
            forget(key, found)
        if metadata is not None:
            metadata_of[made] = metadata
        return made

    return call


def _deleting(table: dict[Any, Any], forget: _Forget) -> Callable[[UOp], None]:
    """`UOp.__del__`: it leaves the table, and comes back into it if another thread has taken it out of it meanwhile.

    That shows in the number of references: one more than a UOp has that goes, which the first one to go tells.
    """
    # bound here: at the end of the process modules are taken apart before the last UOps
    buffers, buffer, ref, count = private_api.buffers, Ops.BUFFER, weakref.ref, getrefcount
    own = unknown = 2**31

    def delete(self: UOp) -> None:
        nonlocal own
        try:
            if self.op is buffer and (b := buffers.get(self)) is not None:
                b.ref(-1)
            key = (self.op, self.dtype, self.src, self.arg, self.tag)
            table.pop(key, None)
            if (n := count(self)) > own:  # another thread has it: it lives on, and Python will not ask again
                table.setdefault(key, ref(self, lambda entry: forget(key, entry)))
            elif own == unknown:
                own = n
        except (AttributeError, TypeError):
            pass  # it was never made

    return delete


def _forgetting(table: dict[Any, Any]) -> _Forget:
    """Takes an entry, of which the UOp is gone, out of the table, if it is still there."""

    def forget(key: Any, entry: Any) -> None:
        with TABLE:
            if table.get(key) is entry:
                del table[key]

    return forget
