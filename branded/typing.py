"""Row variables for the annotations of users: `from branded.typing import S, S1, S2, S_co`.

Each is bounded by `Brand`, and its default is the empty row: a row variable that no argument determines is `Never`.
"""

from __future__ import annotations

from typing import Never

from typing_extensions import TypeVar

from branded.core.brand import Brand

__all__ = ["S1", "S2", "S", "S_co"]

S = TypeVar("S", bound=Brand, default=Never)
"""The row of the first argument: `def norm(x: Vec[S]) -> Vec[S]`."""
S1 = TypeVar("S1", bound=Brand, default=Never)
"""The row of the second argument: `def dot(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]`."""
S2 = TypeVar("S2", bound=Brand, default=Never)
"""The row of the third argument."""
S_co = TypeVar("S_co", bound=Brand, covariant=True, default=Never)
"""The row of a class that is never written to: `class State(Generic[S_co])`, frozen or a `NamedTuple`."""
