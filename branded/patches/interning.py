"""tinygrad keeps one UOp for equal ones in a table, which two threads can both find without it, and both fill.

Then there are two equal UOps, which everything takes for different ones.  The same happens when a thread takes a UOp
out of the table while another is about to delete it: the entry goes, and the UOp lives on.  Here what counts is one
operation on the table each, which no other thread comes between.
"""

from __future__ import annotations

import threading
import weakref
from sys import getrefcount
from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.patches import tg

_lock = threading.RLock()
"""For the few entries of which the UOp is gone."""


def install() -> None:
    if "setdefault" in tg.UOpMetaClass.__call__.__code__.co_names:
        return
    # bound here: at the end of the process modules are taken apart before the last UOps
    buffers, metadata_of, spec, infer = tg.buffers, tg.all_metadata, tg.SPEC, tg.dtype_from_uop
    table, original, make, ref, count = (
        tg.UOpMetaClass.ucache,
        tg.UOpMetaClass.__call__,
        type.__call__,
        weakref.ref,
        getrefcount,
    )
    void, buffer = dtypes.void, Ops.BUFFER
    own = [2**31]

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

    def forget(key: Any, entry: Any) -> None:
        with _lock:
            if table.get(key) is entry:
                del table[key]

    def delete(self: UOp) -> None:
        try:
            if self.op is buffer and (b := buffers.get(self)) is not None:
                b.ref(-1)
            key = (self.op, self.dtype, self.src, self.arg, self.tag)
            table.pop(key, None)
            if (n := count(self)) > own[0]:  # another thread has it: it lives on, and Python will not ask again
                table.setdefault(key, ref(self, lambda entry: forget(key, entry)))
            elif own[0] == 2**31:
                own[0] = n
        except (AttributeError, TypeError):
            pass  # it was never made

    setattr(tg.UOpMetaClass, "__call__", call)  # noqa: B010  mypy: a method is not assigned
    setattr(UOp, "__del__", delete)  # noqa: B010
    UOp.const(0.577215664901532)  # the first to go says how many references one has that goes
