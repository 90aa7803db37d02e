"""Numpy masks as indices: the positions of their True entries are known, so the index has a known number of entries."""

from __future__ import annotations

from typing import Any

from tinygrad import Tensor

from branded import tree
from branded.core.values import vec_type
from branded.errors import ShapeError
from branded.tinygrad_compat.lazy_numpy import np


def masks_to_positions(x: Tensor, indices: Any) -> Any:
    """Replace each numpy mask of an index by the positions of its True entries, with one array per axis of the mask."""
    entries = indices if isinstance(indices, tuple) else (indices,)
    if not any(map(_is_mask, entries)):
        return indices

    def axes_of(i: Any) -> int:
        return i.ndim if _is_mask(i) else int(i is not None and i is not Ellipsis)

    new, axis = list[Any](), 0
    for k, i in enumerate(entries):
        if i is Ellipsis:
            axis = x.ndim - sum(map(axes_of, entries[k + 1 :]))
        elif _is_mask(i) and x.shape[axis : axis + i.ndim] != i.shape:
            raise ShapeError(
                "index: the mask has another shape than the entries that it selects from",
                ("tensor", vec_type(x)),
                ("mask", tree.describe(i)),
                fix="use a mask with one entry for each entry of the tensor, or of its leading axes",
            )
        new += np.nonzero(i) if _is_mask(i) else (i,)
        axis += axes_of(i)
    return tuple(new)


def _is_mask(i: Any) -> bool:
    return isinstance(i, np.ndarray) and i.dtype == bool and i.ndim > 0
