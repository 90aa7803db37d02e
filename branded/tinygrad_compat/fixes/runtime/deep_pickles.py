"""A fix for the pickling of deep graphs: `pickle` raises RecursionError for a chain of a few hundred operations.

tinygrad pickles an operation with its operands, each inside its user. It pickles graphs for its disk cache, and to send
kernels to the processes that compile. Here a graph of more than `DEPTH` levels is pickled as a list in topological
order. The pickles of other graphs are unchanged, so that a program without this package can load them.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from tinygrad.uop.ops import Ops, UOp

DEPTH = 100
"""The number of levels up to which a graph is pickled as tinygrad does it."""
_KEY = "_branded_depth"
_Row = tuple[Any, Any, tuple[int, ...], Any, Any, Any, Any]


def _restore_graph(rows: list[_Row]) -> UOp:
    """Return the last operation of a pickled list."""
    made: list[UOp] = []
    for op, dtype, src, *rest in rows:
        made.append(UOp(op, dtype, tuple(made[i] for i in src), *rest))
    return made[-1]


def _depth(u: UOp) -> int:
    return 1 + max((s.__dict__[_KEY] for s in u.src), default=0)


def _is_deep(u: UOp) -> bool:
    if (depth := u.__dict__.get(_KEY)) is not None:
        return bool(depth > DEPTH)
    for x in u.toposort(gate=lambda x: _KEY not in x.__dict__):
        x.__dict__[_KEY] = _depth(x)
    return bool(u.__dict__[_KEY] > DEPTH)


def _rows(u: UOp) -> list[_Row]:
    graph = list(u.toposort())
    index = {x: i for i, x in enumerate(graph)}
    return [
        (
            x.op,
            x.dtype,
            tuple(index[s] for s in x.src),
            x.arg,
            x.tag,
            x.metadata,
            x.realized if x.op is Ops.BUFFER else None,
        )
        for x in graph
    ]


def install() -> None:
    cls: Any = UOp
    original = cls.__reduce__

    @functools.wraps(original)
    def __reduce__(self: UOp) -> Any:  # noqa: N807  pickle's name
        return (_restore_graph, (_rows(self),)) if _is_deep(self) else original(self)

    cls.__reduce__ = __reduce__
    # pickles name tinygrad's module: a compile worker does not have this package
    _restore_graph.__module__ = UOp.__module__
    vars(sys.modules[UOp.__module__])[_restore_graph.__name__] = _restore_graph
