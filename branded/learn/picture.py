"""SVG pictures of brands and axes, with real values.

Each brand has a colour and, for colour-blind readers, a label.  Cells repeated for the examples of a brand are hatched.
Every picture has a title and a description in words.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from branded import tree as trees
from branded.core.validation.arguments import normalize_axis
from branded.core.validation.axes_suggestions import argument
from branded.core.vmap import vmap
from branded.dispatch import kind
from branded.errors import PictureError
from branded.graph.rows import row_of, type_text, visible
from branded.graph.scope import Row, Scope, union
from branded.learn import drawing as d
from branded.learn.picture_values import Picture as Picture
from branded.learn.picture_values import Value, drawable, value


def cells(x: object, name: str = "", *, axis: int | None = None, brand: str = "") -> Picture:
    """Draw a value as a grid of cells, with a frame around each example of each of its brands.

    Args:
        x: A tensor, or a `Vec` whose brands are open.
        name: The name of the value.
        axis: An axis to colour like a brand: vmap will map it, or has mapped it.
        brand: The name of this brand.

    Returns:
        The `Picture`.

    Raises:
        AxisRangeError: `x` has no such axis.
        EscapeError: `x` belongs to a brand that is closed.
        PictureError: There are too many cells to read.

    Example:
        >>> from branded.learn import picture
        >>> from tinygrad import Tensor
        >>> drawn = picture.cells(Tensor([[1, 2], [3, 4]]), "X", axis=1, brand="x")
        >>> print(drawn.description)
        X: i32[2, 2] = 1, 2, 3, 4; axis 1 is x.

    Source: the drawings of array axes in NumPy's introduction for beginners.
    """
    v = value(x)
    dims, what = v.dims, ""
    if axis is not None:
        at = normalize_axis(axis, x, "picture")
        dims[len(v.brands) + at] = d.Dim(brand or "example")
        what = f"; axis {at} is {brand or 'the examples'}"
    named = f"{name}: " if name else ""
    drawn = d.above([d.paragraph(named + v.type), d.array(v.cells, dims, len(v.brands))], 4)
    return Picture(named + v.type, f"{named}{v.words}{what}.", drawn)


def operation(operands: Mapping[str, object], sign: str, result: object) -> Picture:
    """Draw an elementwise operation: operands are broadcast to the result, with repeated cells hatched.

    Args:
        operands: The operands by name.
        sign: The operator to print between the operands, such as `"+"`.
        result: The result of the operation.

    Returns:
        The `Picture`.

    Raises:
        EscapeError: A value belongs to a brand that is closed.
        PictureError: There are too many cells to read, or an operand does not broadcast to the result.

    Example:
        >>> from branded import brand
        >>> from branded.learn import picture
        >>> from tinygrad import Tensor
        >>> with brand("x", 2) as x:
        ...     a, b = x.vec(Tensor([1, 2])), Tensor(5)
        ...     print(picture.operation({"a": a, "b": b}, "+", a + b).description)
        a: Vec[x:2, i32[]] = 1, 2; b: int[] = 5; a + b: Vec[x:2, i32[]] = 6, 7.

    Source: the drawings of stretched operands in NumPy's broadcasting guide.
    """
    formula, out = f" {sign} ".join(operands), value(result)
    values = {name: value(x) for name, x in operands.items()}
    parts = [_part(name, *_broadcast_to_result(v, out)) for name, v in values.items()]
    parts.append(_part(formula, out.cells, out.dims))
    signs = [d.text(mark) for mark in (*[sign] * (len(operands) - 1), "=")]
    one_line = sum(p.width for p in (*parts, *signs)) + 20 * len(signs) <= d.WIDTH
    start = parts[0] if one_line else d.beside([d.Box(signs[0].width, 0, lambda _: ""), parts[0]])
    others = [d.beside([mark, part]) for mark, part in zip(signs, parts[1:], strict=True)]
    descriptions = [f"{name}: {v.words}" for name, v in (*values.items(), (formula, out))]
    return Picture(formula, "; ".join(descriptions) + ".", (d.beside if one_line else d.above)([start, *others]))


def _part(name: str, cells: Any, dims: Sequence[d.Dim], repeated: Any = None) -> d.Box:
    return d.above([d.text(name), d.array(cells, dims, 0, repeated)], 2)


def _broadcast_to_result(v: Value, out: Value) -> tuple[Any, list[d.Dim], Any]:
    """Broadcast `v` to the axes of `out`; return cells, axes, and the brand along which each cell is a repetition."""
    example_shape = v.cells.shape[len(v.brands) :]
    missing = len(out.cells.shape) - len(out.brands) - len(example_shape)
    if missing < 0 or not set(v.brands) <= set(out.brands):
        raise PictureError(
            "picture: an operand has a brand or an axis that the result lacks",
            ("operand", v.type),
            ("result", out.type),
            fix="use rows(), which draws each brand",
        )
    order = [v.brands.index(b) for b in out.brands if b in v.brands]
    shape = [out.cells.shape[i] if b in v.brands else 1 for i, b in enumerate(out.brands)] + [1] * missing
    x = v.cells.transpose([*order, *range(len(order), v.cells.ndim)]).reshape([*shape, *example_shape])
    if any(n not in (1, m) for n, m in zip(x.shape, out.cells.shape, strict=True)):
        raise PictureError(
            "picture: an operand does not broadcast to the result",
            ("operand", v.type),
            ("result", out.type),
            fix="pass the operands and the result of one operation",
        )
    repeated = np.full(out.cells.shape, None, object)
    for i, (n, m) in enumerate(zip(x.shape, out.cells.shape, strict=True)):
        if n == 1 < m:
            repeated[(slice(None),) * i + (slice(1, None),)] = out.dims[i].brand or ""
    dims = [dim._replace(is_varying=dim.brand in v.brands) for dim in out.dims]
    return np.broadcast_to(x, out.cells.shape), dims, repeated


def rows(operands: Mapping[str, object], result: Mapping[str, object]) -> Picture:
    """Draw the brands of operands and results, a column for each brand, with a label such as zip or broadcast.

    Args:
        operands: The operands by name, tensors and `Vec`s of any size.
        result: One or more results by name.

    Returns:
        The `Picture`.

    Raises:
        EscapeError: A value belongs to a brand that is closed.

    Example:
        >>> from branded import brand
        >>> from branded.learn import picture
        >>> from tinygrad import Tensor
        >>> with brand("x", 3) as x, brand("y", 2) as y:
        ...     a, b = x.vec(Tensor([1, 2, 3])), y.vec(Tensor([10, 20]))
        ...     print(picture.rows({"a": a, "b": b}, {"a + b": a + b}).description)
        a: Vec[x:3, i32[]]; b: Vec[y:2, i32[]]; a + b: Vec[x:3 | y:2, i32[]]. x: broadcast; y: broadcast.

    Source: the alignment of shapes in NumPy's broadcasting guide, with brands instead of positions.
    """
    lines = [_Line.of(name, x) for name, x in (*operands.items(), *result.items())]
    above, below = lines[: len(operands)], lines[len(operands) :]
    row: Row = functools.reduce(union, [x.row for x in lines])
    how = {b: _kind(b, above, below) for b in row}
    descriptions = "; ".join(f"{x.name}: {x.type}" for x in lines)
    told = "; ".join(f"{b.name}: {h}" for b, h in how.items()) or "no brands"
    title = f"The rows of {', '.join(result)}"
    return Picture(title, f"{descriptions}. {told}.", _columns(above, below, how))


class _Line(NamedTuple):
    """A line of a picture made by `rows`."""

    name: str
    row: Row
    per_example: str
    type: str

    @classmethod
    def of(cls, name: str, x: object) -> _Line:
        u = drawable(x).uop
        return cls(name, visible(row_of(u)), type_text(u, ()), type_text(u))


def _kind(b: Scope, operands: Sequence[_Line], results: Sequence[_Line]) -> str:
    if kind(b, [x.row for x in results]) == "none":
        return "leaves"
    operand_kind = kind(b, [x.row for x in operands])
    return "enters" if operand_kind == "none" else operand_kind


def _columns(above: Sequence[_Line], below: Sequence[_Line], how: Mapping[Scope, str]) -> d.Box:
    lines, step = [*above, *below], d.HIGH + 8
    first = max(d.width_of(x.name) for x in lines) + 12
    wide = max([76.0, *(d.width_of(repr(b)) + 16 for b in how)])
    lefts = {b: first + i * (wide + 6) for i, b in enumerate(how)}
    last = first + len(how) * (wide + 6) + 6
    width = last + max(d.width_of(x.per_example) for x in lines)

    def draw(p: d.Palette) -> str:
        out = [d.line(0, width, len(above) * step + 2)]
        for i, x in enumerate(lines):
            y = i * step + (12 if i >= len(above) else 0)
            out.append(d.letters(0, y + d.HIGH / 2, x.name, anchor="start"))
            out.append(d.letters(last, y + d.HIGH / 2, x.per_example, anchor="start"))
            for b, left in lefts.items():
                if b in x.row:
                    out.append(d.rect(left, y, wide, d.HIGH, p.area(b.name), p.line(b.name), 2))
                    out.append(d.letters(left + wide / 2, y + d.HIGH / 2, repr(b)))
                elif how[b] == "broadcast" and i < len(above):
                    out.append(d.rect(left, y, wide, d.HIGH, p.hatch(b.name), p.line(b.name)))
                    out.append(d.letters(left + wide / 2, y + d.HIGH / 2, "repeated", fill=d.QUIET, size=d.SMALL))
        for b, left in lefts.items():
            out.append(d.letters(left + wide / 2, len(lines) * step + 18, how[b], fill=p.line(b.name), size=d.SMALL))
        return "".join(out)

    return d.Box(width, len(lines) * step + 28, draw)


def tree(x: object, axes: Any = 0, *, name: str = "tree", brand: str = "x") -> Picture:
    """Draw a line for each leaf of a tree: its axes as boxes, the mapped axis in colour, and its entry of `in_axes`.

    Args:
        x: A tree of tensors.
        axes: A prefix tree of axes, as for `in_axes`.
        name: The name of the tree.
        brand: The name of the brand.

    Returns:
        The `Picture`.

    Raises:
        AxesError: The axes do not fit the tree.
        AxisRangeError: A leaf has no such axis.

    Example:
        >>> from branded.learn import picture
        >>> from tinygrad import Tensor
        >>> params = {"w": Tensor.ones(5, 4), "b": Tensor(0.5)}
        >>> print(picture.tree(params, {"b": None, "w": 0}, name="params").description)
        params['b']: float[], shared by all examples of x; params['w']: f32[5, 4], axis 0 is x.

    Source: `jax.tree_util`; the trees of parameters that `jax.vmap` takes with `in_axes`.
    """
    paths, spread = trees.paths(x, name), trees.broadcast_prefix(axes, x, "in_axes", name)
    first = max(map(d.width_of, paths), default=0) + 14
    boxes: list[d.Box] = []
    descriptions = []
    for leaf, path, axis in zip(map(drawable, trees.leaves(x)), paths, spread, strict=True):
        at = None if axis is None else normalize_axis(axis, leaf, "picture")
        what = f"shared by all examples of {brand}" if at is None else f"axis {at} is {brand}"
        descriptions.append(f"{path}: {type_text(leaf.uop)}, {what}")
        boxes.append(_leaf(path, first, leaf.shape, at, brand))
    return Picture(f"The axes of {name}", "; ".join(descriptions) + ".", d.above(boxes or [d.text("no leaves")], 10))


def _leaf(path: str, first: float, shape: Sequence[Any], at: int | None, brand: str) -> d.Box:
    sizes = [f"{brand}:{n}" if i == at else str(n) for i, n in enumerate(shape)] or ["number"]
    widths = [max(40.0, d.width_of(n) + 14) for n in sizes]
    lefts = list(itertools.accumulate(widths, initial=first))
    note = f"axis {at}" if at is not None else "None: shared"

    def draw(p: d.Palette) -> str:
        out = [d.letters(0, d.HIGH / 2, path, anchor="start")]
        for i, (n, wide, left) in enumerate(zip(sizes, widths, lefts, strict=False)):
            mapped = brand if i == at else None
            fill = p.hatch(brand) if at is None else p.area(mapped)
            out.append(d.rect(left, 0, wide, d.HIGH, fill, p.line(mapped), 2 if mapped else 1))
            out.append(d.letters(left + wide / 2, d.HIGH / 2, n))
        ink = d.QUIET if at is None else p.line(brand)
        out.append(d.letters(lefts[-1] + 12, d.HIGH / 2, note, fill=ink, size=d.SMALL, anchor="start"))
        return "".join(out)

    return d.Box(lefts[-1] + 12 + d.width_of(note, d.SMALL), d.HIGH, draw)


def journey(f: Callable[..., Any], *args: object, in_axes: Any = 0, out_axes: Any = 0, brand: str = "x") -> Picture:
    """Draw the steps of `vmap(f, in_axes, out_axes)(*args)`: unbatch the arguments, call `f`, and batch the results.

    Args:
        f: A function of tensors, which is called.
        args: Its arguments, trees of tensors.
        in_axes: As in `vmap`.
        out_axes: As in `vmap`.
        brand: The name of the brand.

    Returns:
        The `Picture`.

    Raises:
        BrandedError: As in `vmap`; PictureError if there are too many cells to read.

    Example:
        >>> from branded.learn import picture
        >>> from tinygrad import Tensor
        >>> drawn = picture.journey(lambda x: x * 10, Tensor([[1, 2], [3, 4]]), in_axes=1, out_axes=0)
        >>> print(drawn.description)
        x: i32[2, 2] = 1, 2, 3, 4; axis 1 is x. Then:
        inside, x: Vec[x:2, i32[2]] = 1, 3, 2, 4. Then:
        inside, result: Vec[x:2, i32[2]] = 10, 30, 20, 40. Then:
        result: i32[2, 2] = 10, 30, 20, 40; axis 0 is x.

    Source: the question of users of `jax.vmap`, "what does out_axes do?" (jax-ml/jax#1368).
    """
    names, inside = [argument(f, i) or f"argument {i + 1}" for i in range(len(args))], []

    @functools.wraps(f)
    def seen(*xs: Any) -> Any:
        inside.append(beside(*(p for n, x in zip(names, xs, strict=True) for p in _leaves(x, f"inside, {n}"))))
        out = f(*xs)
        inside.append(beside(*_leaves(out, "inside, result")))
        return out

    mapped: Callable[..., Any] = vmap(seen, in_axes, out_axes, axis_name=brand)
    out = mapped(*args)
    axes = in_axes if isinstance(in_axes, tuple | list) else [in_axes] * len(args)
    before = beside(*(p for n, x, a in zip(names, args, axes, strict=True) for p in _leaves(x, n, a, brand)))
    after = beside(*_leaves(out, "result", out_axes, brand))
    steps = [f"in_axes={in_axes}: take it apart", "the function, on one example", f"out_axes={out_axes}: put together"]
    return flow(before, *inside, after, arrows=steps, title="An axis leaves and comes back")


def _leaves(x: object, name: str, axes: Any = None, brand: str = "") -> list[Picture]:
    """Draw each leaf of a tree."""
    each = zip(trees.leaves(x), trees.paths(x, name), trees.broadcast_prefix(axes, x, "axes", name), strict=True)
    return [cells(leaf, path, axis=axis, brand=brand) for leaf, path, axis in each]


def flow(*pictures: Picture, arrows: Sequence[str] = (), title: str = "") -> Picture:
    """Place pictures below each other, with arrows between them.

    Args:
        pictures: The steps, in order.
        arrows: A label for each arrow.
        title: The title; by default the titles of the pictures.

    Returns:
        The `Picture`.

    Raises:
        ValueError: The number of labels does not match the number of arrows.

    Example:
        >>> from branded.learn import picture
        >>> from tinygrad import Tensor
        >>> x = Tensor([1, 2])
        >>> print(picture.flow(picture.cells(x), picture.cells(x.sum()), arrows=["sum"]).description)
        i32[2] = 1, 2. Then:
        i32[] = 3.

    Source: the boxes and arrows of dataflow graphs.
    """
    words = list(arrows) or [""] * (len(pictures) - 1)
    boxes = [pictures[0]._box]
    for word, p in zip(words, pictures[1:], strict=True):
        boxes += [d.arrow(word), p._box]
    descriptions = " Then:\n".join(p.description for p in pictures)
    return Picture(title or ", then ".join(p.title for p in pictures), descriptions, d.above(boxes, 6))


def beside(*pictures: Picture, title: str = "") -> Picture:
    """Place pictures next to each other, in as many lines as needed.

    Args:
        pictures: The pictures to show together.
        title: The title; by default the titles of the pictures.

    Returns:
        The `Picture`.

    Example:
        >>> from branded.learn import picture
        >>> from tinygrad import Tensor
        >>> print(picture.beside(picture.cells(Tensor(1), "a"), picture.cells(Tensor(2), "b")).title)
        a: int[]; b: int[]

    Source: small multiples (E. R. Tufte, "Envisioning Information").
    """
    descriptions = " ".join(p.description for p in pictures)
    return Picture(title or "; ".join(p.title for p in pictures), descriptions, d.lines([p._box for p in pictures], 24))
