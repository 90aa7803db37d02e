"""A faster search for the tensors whose graphs contain a computed graph.

tinygrad visits the graphs of all living tensors each time that it computes one. Here tensors that are in memory are
skipped, so that the time does not grow with the number of weights.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from tinygrad.uop.ops import UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.uops import tensors_containing


def _apply_map(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def apply_map(applied_map: Mapping[UOp, UOp], name: str) -> None:
        found = tensors_containing(applied_map)
        old = UOp.sink(*(u for _, u in found))
        new = old.substitute(dict[Any, Any](applied_map), name=f"substitute {name}", walk=True)
        for (t, u), v in zip(found, new.src, strict=True):
            if u is not v:
                t.uop = v

    return apply_map


def install() -> None:
    private_api.tensor._apply_map_to_tensors = _apply_map(private_api.tensor._apply_map_to_tensors)
