"""Methods of tensors whose results have other lengths: `chunk`, `repeat`, `pad`, `topk`, convolutions and losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from mypy.nodes import ARG_STAR, ARG_STAR2, CallExpr, Context
from mypy.types import Type

from branded.mypy.axes.rules import length_text
from branded.mypy.axes.types import known_length
from branded.mypy.codes import AXIS_RANGE, SHAPE
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.shapes.axes import axis_of, axis_of_value, format_axes
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    Fact,
    Shaped,
    Stream,
    Tuple,
    as_number,
    is_int,
    items_of,
)

Axes = tuple[Type, ...]
Rule = Callable[[FileState, Axes, Arguments, Context], Fact]


def method_result(run: FileState, own: Shaped, name: str, at: CallExpr, values: dict[int, Fact]) -> Fact | None:
    """Return the result of a method of a tensor; None if this module does not know the method."""
    rule = _RULES.get(name)
    if rule is None:
        return None
    if own.axes is None or run.declared_only or any(kind in (ARG_STAR, ARG_STAR2) for kind in at.arg_kinds):
        return UNKNOWN if name in _OF_SEVERAL else Shaped()
    given = Arguments()
    for i, keyword in enumerate(at.arg_names):
        if keyword is None:
            given.positional.append(values[i])
        else:
            given.keywords[keyword] = values[i]
    for position, keyword, default in _AXIS_ARGUMENTS.get(name, ()):
        n = _int(given, position, keyword, default)
        if n is not None and not -max(len(own.axes), 1) <= n < max(len(own.axes), 1):
            wrong = f"{name}: axis {n} of a tensor with {length_text(own.axes)}"
            run.report(at, AXIS_RANGE, wrong, f"value: shape {format_axes(own.axes)}")
            return UNKNOWN if name in _OF_SEVERAL else Shaped()
    return rule(run, own.axes, given, at)


def has_enough_axes(run: FileState, own: Shaped, name: str, at: Context) -> bool:
    """Return whether a method can be called for a tensor; report a tensor with too few axes."""
    if own.axes is None or len(own.axes) >= (least := LEAST.get(name, 0)) or run.declared_only:
        return True
    needed = f"{least} {'axis' if least == 1 else 'axes'} or more"
    run.report(at, SHAPE, f"{name}: it takes {needed}, and this tensor has {length_text(own.axes)}")
    return False


LEAST = {
    **dict.fromkeys(("argsort", "cat", "chunk", "diag", "sort", "split", "topk", "cross_entropy"), 1),
    **dict.fromkeys(("avg_pool2d", "max_pool2d", "qr", "scaled_dot_product_attention", "svd", "tril", "triu"), 2),
}
"""The number of axes that a tensor must have at least, for methods that choose no axis."""


def _int(given: Arguments, position: int, name: str, default: int | None = None) -> int | None:
    """Return an argument that is an int; None if its value is unknown."""
    value = given.get(position, name)
    return default if value is None else as_number(value)


def _position(given: Arguments, position: int, name: str, default: int | None, axes: Axes) -> int | None:
    """Return the axis that an argument chooses, from 0; None if it is unknown or there is none."""
    dim = _int(given, position, name, default)
    return dim % len(axes) if dim is not None and -len(axes) <= dim < len(axes) else None


def _with_axis(axes: Axes, i: int, axis: Type) -> Shaped:
    return Shaped((*axes[:i], axis, *axes[i + 1 :]))


# ---- parts ----


def _chunk(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    n, count, i = _length_and_part(axes, given, "chunks")
    return _parts(run, axes, i, n, -(-n // count) if n is not None and count is not None and count > 0 else None)


def _split_parts(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    n, size, i = _length_and_part(axes, given, "sizes")
    sizes = items_of(given.get(0, "sizes"))
    if sizes is not None and i is not None:
        known = [as_number(s) for s in sizes]
        if n is not None and None not in known and (total := sum(s or 0 for s in known)) != n:
            run.report(at, SHAPE, f"split: the sizes add up to {total}, and axis {i} has {n} entries")
        return Tuple(tuple(_with_axis(axes, i, axis_of_value(run, s)) for s in sizes))
    return _parts(run, axes, i, n, size)


def _length_and_part(axes: Axes, given: Arguments, name: str) -> tuple[int | None, int | None, int | None]:
    """Return the length of the axis that is cut, the first argument, and the axis."""
    i = _position(given, 1, "dim", 0, axes)
    return known_length(axes[i]) if i is not None else None, _int(given, 0, name), i


def _parts(run: FileState, axes: Axes, i: int | None, n: int | None, size: int | None) -> Fact:
    """Return the parts of `size` entries each of an axis; the last one may be shorter."""
    if i is None or n is None or not size or size < 0 or not n:
        return Stream(Shaped() if i is None else _with_axis(axes, i, ANY_AXIS))
    return Tuple(tuple(_with_axis(axes, i, run.length(min(size, n - start))) for start in range(0, n, size)))


def topk(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    i, k = _position(given, 1, "dim", -1, axes), given.get(0, "k")
    part = _with_axis(axes, i, axis_of_value(run, k)) if i is not None and k is not None else Shaped()
    n, count = known_length(axes[i]) if i is not None else None, as_number(k)
    if n is not None and count is not None and count > n and isinstance(at, CallExpr) and not run.declared_only:
        run.report(at, SHAPE, f"topk: there are no {count} largest of {n} entries", f"value: shape {format_axes(axes)}")
    return Tuple((part, part))


def _diagonal(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    i, j = _position(given, 1, "dim1", 0, axes), _position(given, 2, "dim2", 1, axes)
    if i is None or j is None or i == j:
        return Shaped()
    lengths = [n for n in (known_length(axes[i]), known_length(axes[j])) if n is not None]
    is_main = _int(given, 0, "offset", 0) == 0
    shortest = run.length(min(lengths)) if is_main and len(lengths) == 2 else ANY_AXIS
    return Shaped((*(a for d, a in enumerate(axes) if d not in (i, j)), shortest))


def _unfold(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    i, size, step = _position(given, 0, "dim", None, axes), _int(given, 1, "size"), _int(given, 2, "step")
    if i is None:
        return Shaped()
    n = known_length(axes[i])
    count = (n - size) // step + 1 if n is not None and size is not None and step else None
    return Shaped((*axes[:i], axis_of(run, count), *axes[i + 1 :], axis_of(run, size)))


def _shrink(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    entries = items_of(given.get(0, "arg"))
    if entries is None or len(entries) != len(axes):
        return Shaped()
    return Shaped(tuple(a if e == NONE else axis_of(run, _extent(e)) for a, e in zip(axes, entries, strict=True)))


def _extent(bounds: Fact) -> int | None:
    ends = [as_number(b) for b in items_of(bounds) or []]
    return ends[1] - ends[0] if len(ends) == 2 and ends[0] is not None and ends[1] is not None else None


def _flatten(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    first, last = _position(given, 0, "start_dim", 0, axes), _position(given, 1, "end_dim", -1, axes)
    if first is None or last is None or first > last:
        return Shaped()
    lengths = [known_length(a) for a in axes[first : last + 1]]
    known = [n for n in lengths if n is not None]
    joined = axes[first] if first == last else axis_of(run, math.prod(known) if len(known) == len(lengths) else None)
    return Shaped((*axes[:first], joined, *axes[last + 1 :]))


# ---- more entries ----


def _repeat(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    entries = items_of(given.get(0, "repeats"))
    counts = [as_number(v) for v in (given.positional if entries is None else entries)]
    if given.keywords and entries is None:
        return Shaped()
    counts = [*[1] * (len(axes) - len(counts)), *counts]
    padded = [run.length(1)] * (len(counts) - len(axes)) + [*axes]
    return Shaped(tuple(_times(run, a, n) for a, n in zip(padded, counts, strict=True)))


def _times(run: FileState, axis: Type, count: int | None) -> Type:
    n = known_length(axis)
    return axis if count == 1 else axis_of(run, n * count if n is not None and count is not None else None)


def _repeat_interleave(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    count, dim = _int(given, 0, "repeats"), given.get(1, "dim")
    if dim is None or dim == NONE:
        lengths = [known_length(a) for a in axes]
        total = None if None in lengths or count is None else math.prod(n for n in lengths if n is not None) * count
        return Shaped((axis_of(run, total),))
    i = _position(given, 1, "dim", None, axes)
    return Shaped() if i is None else _with_axis(axes, i, _times(run, axes[i], count))


def _pad(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    entries = items_of(given.get(0, "padding"))
    if not entries:
        return Shaped()
    if all(items_of(e) is None and e != NONE for e in entries):  # pairs of ints, from the last axis to the first
        pairs = [Tuple((a, b)) for a, b in zip(entries[::2], entries[1::2], strict=False)][::-1]
        if 2 * len(pairs) != len(entries) or len(pairs) > len(axes):
            return _wrong_padding(run, len(pairs), axes, at) if all(map(is_int, entries)) else Shaped()
        entries = [*[NONE] * (len(axes) - len(pairs)), *pairs]
    if len(entries) != len(axes):
        is_certain = all(e == NONE or items_of(e) is not None for e in entries)
        return _wrong_padding(run, len(entries), axes, at) if is_certain else Shaped()
    return Shaped(tuple(a if e == NONE else _padded_axis(run, a, e) for a, e in zip(axes, entries, strict=True)))


def _wrong_padding(run: FileState, count: int, axes: Axes, at: Context) -> Fact:
    wrong = (
        f"pad: there is padding for {count} {'axis' if count == 1 else 'axes'}, and the tensor has {length_text(axes)}"
    )
    run.report(at, SHAPE, wrong, f"value: shape {format_axes(axes)}")
    return Shaped()


def _padded_axis(run: FileState, axis: Type, pair: Fact) -> Type:
    n, added = known_length(axis), [as_number(v) for v in items_of(pair) or [UNKNOWN]]
    known = [a for a in added if a is not None]
    return axis_of(run, n + sum(known) if n is not None and len(known) == len(added) else None)


def _diag(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    return Shaped((axes[0], axes[0])) if len(axes) == 1 else Shaped()


def _unflatten(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    i, sizes = _position(given, 0, "dim", None, axes), items_of(given.get(1, "sizes"))
    if i is None or sizes is None:
        return Shaped()
    n, lengths = known_length(axes[i]), [as_number(s) for s in sizes]
    known = math.prod(s for s in lengths if s is not None and s != -1)
    rest = n // known if n is not None and None not in lengths and known else None
    if rest is not None and (rest * known != n or (rest != 1 and -1 not in lengths)):
        run.report(at, SHAPE, f"unflatten: axis {i} has {n} entries, and the sizes are for {known}")
    inner = [axis_of(run, rest) if s == -1 else axis_of_value(run, v) for s, v in zip(lengths, sizes, strict=True)]
    return Shaped((*axes[:i], *inner, *axes[i + 1 :]))


def _interpolate(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    size = items_of(given.get(0, "size"))
    if size is None or len(size) > len(axes):
        return Shaped()
    return Shaped((*axes[: len(axes) - len(size)], *(axis_of_value(run, n) for n in size)))


def _same_shape(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    return Shaped(axes)


# ---- networks ----


def convolution(run: FileState, x: Axes, weight: Axes, given: Arguments, at: Context) -> Fact:
    """Return the result of `x.conv2d(weight, bias, groups, stride, dilation, padding)`."""
    given_shapes = f"given: shape {format_axes(x)} and {format_axes(weight)}"
    if len(x) != len(weight):
        says = f"conv2d: the input has {len(x)} axes, and the weight {len(weight)}"
        run.report(at, SHAPE, says, given_shapes, "try:   x.unsqueeze(0) for a batch of one")
        return Shaped()
    groups, channels, wanted = _int(given, 2, "groups", 1), known_length(x[1]), known_length(weight[1])
    if groups is not None and channels is not None and wanted is not None and channels != wanted * groups:
        says = f"conv2d: the input has {channels} channels, and the weight wants {wanted * groups}"
        run.report(at, SHAPE, says, given_shapes)
        return Shaped()
    windows = [known_length(a) for a in weight[2:]]
    moved = _windows(run, x[2:], windows, given.get(3, "stride"), given.get(4, "dilation"), given.get(5, "padding"))
    return Shaped((x[0], weight[0], *moved))


def _conv2d(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    weight = given.get(0, "weight")
    known = weight.axes if isinstance(weight, Shaped) else None
    return Shaped() if known is None else convolution(run, axes, known, given, at)


def _pool(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    size = given.get(0, "kernel_size")
    windows = [2, 2] if size is None else [as_number(n) for n in items_of(size) or [UNKNOWN]]
    window = as_number(size)
    windows = windows if window is None else [window] * 2
    stride, ceil = given.get(1, "stride"), given.get(4, "ceil_mode")
    if len(windows) > len(axes) or (size is not None and window is None and items_of(size) is None):
        return Shaped()
    steps = Tuple(tuple(map(Const, windows))) if stride is None or stride == NONE else stride
    first = axes[: len(axes) - len(windows)]
    moved = _windows(run, axes[len(first) :], windows, steps, given.get(2, "dilation"), given.get(3, "padding"))
    if ceil is not None and ceil != Const(False):
        moved = [ANY_AXIS] * len(moved)
    return Shaped((*first, *moved))


def _max_pool(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    pooled, with_indices = _pool(run, axes, given, at), given.get(5, "return_indices")
    if with_indices is None or with_indices == Const(False):
        return pooled
    return Tuple((pooled, pooled)) if with_indices == Const(True) else UNKNOWN


def _windows(
    run: FileState,
    axes: Axes,
    sizes: Sequence[int | None],
    stride: Fact | None,
    dilation: Fact | None,
    padding: Fact | None,
) -> list[Type]:
    """Return the axes of the windows that slide over `axes`."""
    n = len(axes)
    steps, gaps = _for_each(stride, n, 1), _for_each(dilation, n, 1)
    added = _paddings(padding, n)
    moved: list[Type] = []
    for axis, size, step, gap, more in zip(axes, sizes, steps, gaps, added, strict=True):
        length = known_length(axis)
        if length is None or size is None or not step or gap is None or more is None:
            moved.append(ANY_AXIS)
        else:
            moved.append(axis_of(run, (length + more - gap * (size - 1) - 1) // step + 1))
    return moved


def _for_each(value: Fact | None, n: int, default: int) -> list[int | None]:
    """Return a setting for each axis: an int for all of them, or one for each."""
    if value is None or value == NONE:
        return [default] * n
    entries = items_of(value)
    if entries is None:
        return [as_number(value)] * n
    return [as_number(e) for e in entries] if len(entries) == n else [None] * n


def _paddings(value: Fact | None, n: int) -> list[int | None]:
    """Return the number of entries that a padding adds to each axis; pairs are from the last axis to the first."""
    entries = items_of(value)
    if entries is None or len(entries) == n:
        return [2 * p if p is not None else None for p in _for_each(value, n, 0)]
    ends = [as_number(e) for e in entries]
    if len(ends) != 2 * n:
        return [None] * n
    return [a + b if a is not None and b is not None else None for a, b in zip(ends[::2], ends[1::2], strict=True)][
        ::-1
    ]


def _attention(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
    value = given.get(1, "value")
    known = value.axes if isinstance(value, Shaped) else None
    return Shaped((*axes[:-1], known[-1])) if known and axes else Shaped()


def _loss(position: int) -> Rule:
    """Return the rule of a loss, whose argument `reduction` stands at a position."""

    def rule(run: FileState, axes: Axes, given: Arguments, at: Context) -> Fact:
        reduction = given.get(position, "reduction") or Const("mean")
        return Shaped(()) if reduction in (Const("mean"), Const("sum")) else Shaped()

    return rule


_AXIS_ARGUMENTS: dict[str, tuple[tuple[int, str, int | None], ...]] = {
    "chunk": ((1, "dim", 0),),
    "diagonal": ((1, "dim1", 0), (2, "dim2", 1)),
    "flatten": ((0, "start_dim", 0), (1, "end_dim", -1)),
    "repeat_interleave": ((1, "dim", None),),
    "split": ((1, "dim", 0),),
    "topk": ((1, "dim", -1),),
    "unflatten": ((0, "dim", None),),
    "unfold": ((0, "dim", None),),
}
"""The arguments that choose an axis: position, name and default."""
_OF_SEVERAL = {"chunk", "split", "topk"}
"""Methods that return several tensors."""

_RULES: dict[str, Rule] = {
    "avg_pool2d": _pool,
    "binary_crossentropy": _loss(1),
    "binary_crossentropy_logits": _loss(1),
    "chunk": _chunk,
    "conv2d": _conv2d,
    "cross_entropy": _loss(1),
    "diag": _diag,
    "diagonal": _diagonal,
    "flatten": _flatten,
    "interpolate": _interpolate,
    "max_pool2d": _max_pool,
    "nll_loss": _loss(3),
    "pad": _pad,
    "repeat": _repeat,
    "repeat_interleave": _repeat_interleave,
    "scaled_dot_product_attention": _attention,
    "scatter": _same_shape,
    "scatter_reduce": _same_shape,
    "shrink": _shrink,
    "sparse_categorical_crossentropy": _loss(3),
    "split": _split_parts,
    "topk": topk,
    "unflatten": _unflatten,
    "unfold": _unfold,
}
