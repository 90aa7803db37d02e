"""Is this the body of a vmap, a loop or a derivative?  Elsewhere tinygrad does what it did."""

from __future__ import annotations

from branded.derivatives.levels import is_differentiating
from branded.scope import open_brands


def in_a_body() -> bool:
    return bool(open_brands()) or is_differentiating()
