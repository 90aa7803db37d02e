"""Stands where numpy is looked for in a browser, where there is none: it has no arrays, and says so.

branded asks of a value whether it is an array, which nothing is then, and lets shapes broadcast.  Nothing else of
numpy is here; whoever wants it is told.
"""

from __future__ import annotations

from typing import NoReturn


class generic:  # noqa: N801  (numpy's names)
    """No value is one."""


class ndarray:  # noqa: N801
    """No value is one."""


class bool_:  # noqa: N801
    """No value is one."""


class ma:  # noqa: N801
    """The module of masked arrays."""

    class MaskedArray:
        """No value is one."""


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which all of these broadcast.

    Raises:
        ValueError: There is none.
    """
    found: list[int] = []
    for axis in range(1, max(map(len, shapes), default=0) + 1):
        sizes = {shape[-axis] for shape in shapes if len(shape) >= axis} - {1}
        if len(sizes) > 1:
            raise ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
        found.insert(0, next(iter(sizes), 1))
    return tuple(found)


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(f"numpy does not run in the browser, so there is no numpy.{name}; a Tensor takes lists")
