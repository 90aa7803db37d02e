"""The results of a derivative transform, as the user receives them: without leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded import tree
from branded.autodiff.captured_writes import CapturedWrites
from branded.core.tracing.state import is_differentiating
from branded.graph.tags import untag
from branded.graph.uops import replace_ops, tensor


def without_leaves(y: Any, outside: CapturedWrites) -> Any:
    """Return the same tree without leaves; a tensor without a leaf stays the same object."""
    us = strip_tags(tree.uops(y))
    new = iter(outside.now(us) if outside.memory else us)
    out = (x if not isinstance(x, Tensor) or (u := next(new)) is x.uop else tensor(u) for x in tree.leaves(y))
    return tree.rebuild(y, out)


def strip_tags(us: Sequence[UOp]) -> list[UOp]:
    """Remove all tags (leaves, storages, symbolic zeros).

    Inside another transform they stay, as the outermost one removes them all.
    """
    if is_differentiating():
        return list(us)
    return replace_ops(us, untag)
