"""Pictures, and the values that they show."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor

from branded import tree as trees
from branded.core.boundary import batch_values
from branded.dispatch import full
from branded.errors import AxisTypeError, PictureError
from branded.graph.rows import check_live, row_of, type_text
from branded.graph.scope import outside
from branded.graph.uops import tensor
from branded.learn import drawing as d

MAX_CELLS = 256


@dataclasses.dataclass(frozen=True)
class Picture:
    """A picture.  `str(picture)` is its SVG, and notebooks display it.

    Attributes:
        title: A one-line title.
        description: The content of the drawing in words.
    """

    title: str
    description: str
    _box: d.Box = dataclasses.field(repr=False)

    @property
    def svg(self) -> str:
        return d.document(self._box, self.title, self.description)

    def __str__(self) -> str:
        return self.svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the SVG to a file.

        Raises:
            PictureError: The file cannot be written.
        """
        try:
            Path(path).write_text(self.svg, encoding="utf-8")
        except (OSError, TypeError, ValueError) as error:
            reason = "not a path" if isinstance(error, TypeError) else getattr(error, "strerror", None) or str(error)
            raise PictureError(f"picture: cannot write {trees.short_repr(path)}: {reason}") from None

    def titled(self, title: str) -> Picture:
        """Return the picture with another title."""
        return dataclasses.replace(self, title=title)


class Value(NamedTuple):
    """A value with all its examples: `cells` has an axis for each of its brands, then the axes of one example."""

    cells: Any
    brands: tuple[str, ...]
    type: str

    @property
    def dims(self) -> list[d.Dim]:
        return [*map(d.Dim, self.brands), *[d.Dim()] * (self.cells.ndim - len(self.brands))]

    @property
    def words(self) -> str:
        return f"{self.type} = {', '.join(map(d.number, self.cells.ravel())) or 'nothing'}"


def drawable(x: object) -> Tensor:
    """Return `x` as a tensor; raise an error if one of its brands is closed."""
    if (t := trees.as_tensor(x)) is None:
        raise AxisTypeError(
            f"picture: {trees.describe(x)} has no cells", fix=trees.advice(x) or "pass a tensor or a number"
        )
    check_live(t.uop, "picture")
    return t


def value(x: object) -> Value:
    """Compute all examples of a value, even while its brands are open, because pictures are only for display."""
    t = drawable(x)
    row = row_of(t.uop)
    if not all(b.is_brand for b in row):
        raise PictureError(
            "picture: the body of a loop is traced, so there is no value to draw",
            ("value", type_text(t.uop)),
            fix="return the value, and draw it outside",
        )
    if (n := int(np.prod([*(b.size for b in row), *map(int, t.shape)]))) > MAX_CELLS:
        raise PictureError(
            f"picture: {n} cells are too many for a picture",
            ("value", type_text(t.uop)),
            fix=f"use a smaller example: at most {MAX_CELLS} cells",
        )
    with outside():
        seen = tensor(full(batch_values([t.uop])[0], row)).numpy()
    return Value(seen, tuple(b.name for b in row), type_text(t.uop))
