"""A substitute for the module `numpy` in the browser, without arrays.

branded only checks whether a value is an array, which is always False, and broadcasts shapes.  Any other attribute
raises an ImportError.
"""

from __future__ import annotations

from typing import NoReturn


class generic:  # noqa: N801  (numpy's names)
    """The scalar type, without instances."""


class ndarray:  # noqa: N801
    """The array type, without instances."""


class bool_:  # noqa: N801
    """The boolean scalar type, without instances."""


class ma:  # noqa: N801
    """The module of masked arrays."""

    class MaskedArray:
        """The masked array type, without instances."""


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which all shapes broadcast.

    Raises:
        ValueError: The shapes do not broadcast.
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
    raise ImportError(f"numpy does not run in the browser, so numpy.{name} is missing; pass lists to Tensor")
