"""Elements of pictures: text, grids and frames of known size, placed next to and above each other."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from xml.sax import saxutils

import numpy as np

WIDTH = 440
"""The maximum width of a line: still readable on a screen of 360 pixels."""
HIGH = 28
SMALL = 12
_FONT, _LETTER = 14, 0.61
"""The font size in pixels, and the width of a letter of the monospace font relative to its size."""

INK, QUIET, PAPER = "#1b1f24", "#444c56", "#fcfcfa"
_COLOURS = (  # (line, area), distinguishable for colour-blind readers
    ("#005a8f", "#d3e8f6"),
    ("#a63f00", "#fbe0cf"),
    ("#00684c", "#d2efe4"),
    ("#8a2c6b", "#f5dcec"),
    ("#6b5900", "#f3ecc4"),
    ("#3d3d8f", "#e1e1f7"),
)
_NEUTRAL = (QUIET, "#ffffff")


class Palette:
    """The colours of a picture.  Brands get colours in the order of their first use; the brand None is grey."""

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}
        self._hatches: dict[str, str] = {}

    def _colours(self, brand: str | None) -> tuple[str, str]:
        if not brand:
            return _NEUTRAL
        return _COLOURS[self._slots.setdefault(brand, len(self._slots)) % len(_COLOURS)]

    def line(self, brand: str | None) -> str:
        return self._colours(brand)[0]

    def area(self, brand: str | None) -> str:
        return self._colours(brand)[1]

    def hatch(self, brand: str | None) -> str:
        """Return a striped fill, which marks repeated cells."""
        line = self.line(brand)
        name = self._hatches.setdefault(line, f"repeated-{line[1:]}")
        return f"url(#{name})"

    def patterns(self) -> str:
        return "".join(
            f'<pattern id="{name}" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
            f'<rect width="7" height="7" fill="{PAPER}"/>'
            f'<rect width="2" height="7" fill="{line}" fill-opacity="0.3"/></pattern>\n'
            for line, name in self._hatches.items()
        )


class Box(NamedTuple):
    """A drawing of known size."""

    width: float
    height: float
    draw: Callable[[Palette], str]


def escape(text: str) -> str:
    """Escape `text` for XML, and replace control characters other than newline."""
    return saxutils.escape("".join(c if c >= " " or c == "\n" else "\ufffd" for c in text))


def document(box: Box, title: str, description: str) -> str:
    """Return an SVG document with its own background, because pages may be light or dark."""
    palette, margin = Palette(), 12
    drawn = at(margin, margin, box.draw(palette))
    width, height = box.width + 2 * margin, box.height + 2 * margin
    font = "ui-monospace, Menlo, Consolas, &quot;DejaVu Sans Mono&quot;, monospace"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_n(width)} {_n(height)}" '
        f'width="{_n(width)}" height="{_n(height)}" style="max-width:100%;height:auto" '
        f'font-family="{font}" font-size="{_FONT}">\n'
        f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>\n"
        f"<defs>{palette.patterns()}</defs>\n"
        f'<rect x="0.5" y="0.5" width="{_n(width - 1)}" height="{_n(height - 1)}" rx="8" '
        f'fill="{PAPER}" stroke="#8c959f"/>\n{drawn}</svg>\n'
    )


def _n(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")


def at(x: float, y: float, drawn: str) -> str:
    return f'<g transform="translate({_n(x)} {_n(y)})">\n{drawn}</g>\n'


def width_of(text: str, size: int = _FONT) -> float:
    return len(text) * size * _LETTER


def rect(x: float, y: float, width: float, height: float, fill: str, line: str, stroke: float = 1) -> str:
    return (
        f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="3" fill="{fill}" '
        f'stroke="{line}" stroke-width="{_n(stroke)}"/>\n'
    )


def letters(
    x: float, y: float, text: str, *, fill: str = INK, size: int = _FONT, anchor: str = "middle", kind: str = ""
) -> str:
    """Return a line of text centred at height `y`; `anchor` is the part of the text placed at `x`."""
    attributes = f' font-size="{size}"' if size != _FONT else ""
    attributes += f' text-anchor="{anchor}"' if anchor != "start" else ""
    attributes += f' class="{kind}"' if kind else ""
    return f'<text x="{_n(x)}" y="{_n(y + size * 0.35)}" fill="{fill}"{attributes}>{escape(text)}</text>\n'


def text(words: str, *, size: int = _FONT, fill: str = INK) -> Box:
    height = size * 1.6
    return Box(
        width_of(words, size), height, lambda p: letters(0, height / 2, words, size=size, fill=fill, anchor="start")
    )


def paragraph(words: str) -> Box:
    """Return a text, broken into lines of at most `WIDTH`."""
    rows = textwrap.wrap(words, int(WIDTH / width_of("x")), break_long_words=False, break_on_hyphens=False)
    return above([text(line) for line in rows], 0)


def line(x1: float, x2: float, y: float) -> str:
    return f'<path d="M{_n(x1)} {_n(y)}H{_n(x2)}" stroke="{INK}" stroke-width="1.5"/>\n'


def arrow(word: str) -> Box:
    """Return an arrow pointing down with a label."""
    shaft = f'<path d="M16 2V24M10 18L16 25L22 18" fill="none" stroke="{INK}" stroke-width="1.5"/>\n'
    return Box(34 + width_of(word), 28, lambda p: shaft + letters(34, 14, word, fill=QUIET, anchor="start"))


def beside(boxes: Sequence[Box], gap: float = 10) -> Box:
    """Place boxes next to each other."""
    height = max(b.height for b in boxes)
    lefts = list(itertools.accumulate((b.width + gap for b in boxes), initial=0.0))

    def draw(p: Palette) -> str:
        return "".join(at(x, (height - b.height) / 2, b.draw(p)) for x, b in zip(lefts, boxes, strict=False))

    return Box(lefts[-1] - gap, height, draw)


def above(boxes: Sequence[Box], gap: float = 8) -> Box:
    """Place boxes below each other."""
    tops = list(itertools.accumulate((b.height + gap for b in boxes), initial=0.0))

    def draw(p: Palette) -> str:
        return "".join(at(0, y, b.draw(p)) for y, b in zip(tops, boxes, strict=False))

    return Box(max(b.width for b in boxes), tops[-1] - gap, draw)


def lines(boxes: Sequence[Box], gap: float = 10) -> Box:
    """Place boxes next to each other, in lines of at most `WIDTH`."""
    rows: list[list[Box]] = [[]]
    for b in boxes:
        if rows[-1] and sum(x.width + gap for x in rows[-1]) + b.width > WIDTH:
            rows.append([])
        rows[-1].append(b)
    return above([beside(line, gap) for line in rows], gap)


class Dim(NamedTuple):
    """An axis of an array of cells."""

    brand: str | None = None
    """The brand of the axis, if it has one."""
    is_varying: bool = True
    """Whether the value varies over the brand; if not, the value is repeated along the axis."""


def number(x: Any) -> str:
    """Format a cell as text."""
    if isinstance(x, np.bool_):
        return "yes" if x else "no"
    return str(int(x)) if isinstance(x, np.integer) else f"{float(x):.4g}"


def array(cells: Any, dims: Sequence[Dim], frames: int, repeated: Any = None, *, sideways: bool = True) -> Box:
    """Draw cells: the first `frames` axes as nested frames, the last one or two as a grid.

    For each cell, `repeated` contains the brand along which the cell is a repetition (`""` for an axis without a
    brand), or None.
    """
    if repeated is None:
        repeated = np.full(cells.shape, None, object)
    cell_width = max([30.0, *(width_of(number(x)) + 10 for x in cells.ravel())])
    return _array(cells, dims, max(frames, len(dims) - 2), repeated, cell_width, sideways)


def _array(cells: Any, dims: Sequence[Dim], frames: int, repeated: Any, cell_width: float, sideways: bool) -> Box:
    if not frames:
        return _grid(cells, dims, repeated, cell_width)
    inside = [
        _frame(dims[0], i, _array(cells[i, ...], dims[1:], frames - 1, repeated[i, ...], cell_width, not sideways))
        for i in range(len(cells))
    ]
    if not inside:
        return text("no examples")
    return lines(inside, 6) if sideways else above(inside, 6)


def _frame(dim: Dim, i: int, inside: Box) -> Box:
    """Draw a frame around one example of a brand, or one entry of a plain axis."""
    label = f"{dim.brand or 'axis'} {i}"
    width, height = max(inside.width, width_of(label, SMALL)) + 14, inside.height + 28

    def draw(p: Palette) -> str:
        return (
            rect(1, 1, width - 2, height - 2, p.area(dim.brand) if dim.is_varying else "none", p.line(dim.brand), 2)
            + letters(8, 12, label, fill=p.line(dim.brand), size=SMALL, anchor="start")
            + at((width - inside.width) / 2, 21, inside.draw(p))
        )

    return Box(width, height, draw)


def _grid(cells: Any, dims: Sequence[Dim], repeated: Any, cell_width: float) -> Box:
    """Draw cells in rows and columns; brand axes are numbered, coloured and framed."""
    row_dim, column_dim = [Dim(), Dim(), *dims][-2:]
    m, n = shape = (1, 1, *cells.shape)[-2:]
    cells, repeated = cells.reshape(shape), repeated.reshape(shape)
    left = width_of(f"{row_dim.brand} {max(m - 1, 0)}", SMALL) + 8 if row_dim.brand else 0.0
    top = 20.0 if column_dim.brand else 0.0
    if column_dim.brand:
        cell_width = max(cell_width, width_of(f"{column_dim.brand} {max(n - 1, 0)}", SMALL) + 10)
    owners = [d.brand for d in (row_dim, column_dim) if d.brand and d.is_varying]
    owner = owners[0] if len(owners) == 1 else None

    def draw(p: Palette) -> str:
        out = []
        for i, j in np.ndindex(m, n):
            x, y, why = left + j * cell_width, top + i * HIGH, repeated[i, j]
            out.append(rect(x, y, cell_width, HIGH, p.area(owner) if why is None else p.hatch(why), QUIET))
            ink = INK if why is None else QUIET
            out.append(letters(x + cell_width / 2, y + HIGH / 2, number(cells[i, j]), fill=ink, kind="value"))
        for i in range(m if row_dim.brand else 0):
            y, colour = top + i * HIGH, p.line(row_dim.brand)
            out.append(letters(left - 6, y + HIGH / 2, f"{row_dim.brand} {i}", fill=colour, size=SMALL, anchor="end"))
            if row_dim.is_varying and not column_dim.brand:
                out.append(rect(left, y + 1, n * cell_width, HIGH - 2, "none", colour, 2))
        for j in range(n if column_dim.brand else 0):
            x, colour = left + j * cell_width, p.line(column_dim.brand)
            out.append(letters(x + cell_width / 2, 10, f"{column_dim.brand} {j}", fill=colour, size=SMALL))
            if column_dim.is_varying and not row_dim.brand:
                out.append(rect(x + 1, top, cell_width - 2, m * HIGH, "none", colour, 2))
        return "".join(out)

    return Box(left + n * cell_width, top + m * HIGH, draw)
