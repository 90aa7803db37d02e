"""Suggestions for indices that depend on a per-example value: `x[i:i + 3]`, `x[int(i)]`.

The size of such a slice is known if the source text or the values give the difference of its bounds.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops

from branded.errors import source

ANY_SLICE = "x[start + Tensor.arange(n)] for n entries, or a mask and where"
"""The suggestion for a slice whose size is unknown."""


def has_tensors(index: Any) -> bool:
    return isinstance(index, slice) and any(isinstance(x, Tensor) for x in (index.start, index.stop, index.step))


def subscript() -> tuple[ast.Subscript | None, str]:
    """Return the running index expression in the user's code, and the text of the value assigned to it, if any."""
    around = source.running()[:2]
    for e in around:
        target = e.targets[0] if isinstance(e, ast.Assign) else e.target if isinstance(e, ast.AugAssign) else None
        if around[0] not in (e, target):
            continue  # a read inside the value of the assignment
        if isinstance(e, ast.Assign) and isinstance(target, ast.Subscript):
            return target, ast.unparse(e.value)
        if isinstance(e, ast.AugAssign) and isinstance(target, ast.Subscript):
            left = ast.parse(source.part(target.value), mode="eval").body
            return target, ast.unparse(ast.BinOp(left, e.op, e.value))
    return (around[0] if around and isinstance(around[0], ast.Subscript) else None), ""


def suggest_take(x: Tensor, index: Any) -> str:
    """Return a replacement for `x[index]`, which has slices with tensors as bounds."""
    parts = list(index) if isinstance(index, tuple) else [index]
    sizes = {i: _slice_size(s) for i, s in enumerate(parts) if has_tensors(s)}
    e, value = subscript()
    entries = _index_entries(e) if e is not None else []
    if e is None or len(entries) != len(parts):
        if None in sizes.values():
            return ANY_SLICE
        if len(parts) == 1:
            return f"x[i + Tensor.arange({sizes[0]})]"
        return f"dynamic_slice(x, starts, {_tuple([sizes.get(i) or 'n' for i in range(x.ndim)])})"
    if None in sizes.values():
        return (None if value else _mask(x, e)) or ANY_SLICE
    return _rewrite(e, entries, sizes, x, is_read=not value) or ANY_SLICE


def suggest_index(e: ast.Subscript, x: Tensor) -> str | None:
    """Return a replacement for an index expression that converts `x` to an int, as `xs[int(x)]` and `[1, 2][x]` do."""
    changed = _WithoutInt(x)
    entries = [changed.visit(copy.deepcopy(entry)) for entry in _index_entries(e)]
    container = source.value_of(e.value)
    is_list = isinstance(e.value, ast.List | ast.Tuple) or isinstance(container, list | tuple)
    if is_list:
        e = ast.Subscript(ast.parse(f"Tensor({ast.unparse(e.value)})", mode="eval").body, e.slice)
    sizes: dict[int, str | None] = {}
    for i, (new, old) in enumerate(zip(entries, _index_entries(e), strict=True)):
        if isinstance(new, ast.Slice) and ast.unparse(new) != ast.unparse(old):
            sizes[i] = _written_size(new)
    if not sizes:
        return f"{source.part(e.value)}[{', '.join(map(ast.unparse, entries))}]"
    if None in sizes.values():
        return ANY_SLICE
    return _rewrite(e, entries, sizes, container if isinstance(container, Tensor) else None, is_read=_is_read(e))


def _is_read(e: ast.Subscript) -> bool:
    return isinstance(getattr(e, "ctx", None), ast.Load)


def _index_entries(e: ast.Subscript) -> list[ast.expr]:
    return list(e.slice.elts) if isinstance(e.slice, ast.Tuple) else [e.slice]


def _slice_size(s: slice) -> str | None:
    """Return the number of entries of a slice if it is the same for all examples."""
    if s.start is None or s.stop is None or s.step not in (None, 1):
        return None
    length = (s.stop - s.start).uop.simplify()
    return str(length.val) if length.op is Ops.CONST and length.val > 0 else None


def _written_size(s: ast.Slice) -> str | None:
    """Return the difference of the bounds as source text: `3` for `i:i + 3`, `k` for `i - 1:i + k - 1`."""
    step = s.step.value if isinstance(s.step, ast.Constant) else s.step
    if s.lower is None or s.upper is None or step not in (None, 1):
        return None
    terms: dict[str, int] = {}
    _collect(s.upper, 1, terms)
    _collect(s.lower, -1, terms)
    number = terms.pop("", 0)
    rest = [text for text, n in terms.items() if n]
    if any(terms[text] != 1 or not _is_int(text) for text in rest):
        return None
    if not rest:
        return str(number) if number > 0 else None
    return " + ".join(rest) + (f" {'+' if number > 0 else '-'} {abs(number)}" if number else "")


def _collect(e: ast.expr, sign: int, terms: dict[str, int]) -> None:
    """Add the terms of a sum to `terms`, which has the factor of each text; the empty text is the number 1."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Add | ast.Sub):
        _collect(e.left, sign, terms)
        _collect(e.right, sign if isinstance(e.op, ast.Add) else -sign, terms)
    elif isinstance(e, ast.Constant) and type(e.value) is int:
        terms[""] = terms.get("", 0) + sign * e.value
    else:
        terms[ast.unparse(e)] = terms.get(ast.unparse(e), 0) + sign


def _is_int(name: str) -> bool:
    e = ast.parse(name, mode="eval").body
    return type(source.value_of(e)) is int


def _rewrite(
    e: ast.Subscript, entries: Sequence[ast.expr], sizes: Mapping[int, str | None], x: Tensor | None, *, is_read: bool
) -> str | None:
    """Rewrite slices of known sizes: one as `x[i + Tensor.arange(3)]`, several as a `dynamic_slice`.

    A write to several slices has one index for each, along its own axis: `x[(i + Tensor.arange(3))[:, None], ...]`.
    """
    starts: dict[int, ast.expr] = {}
    for i in sizes:
        s = entries[i]
        if not isinstance(s, ast.Slice) or s.lower is None:
            return None
        starts[i] = s.lower
    name = source.part(e.value)
    is_slice = [isinstance(entry, ast.Slice) for entry in entries]
    if len(sizes) > 1 and is_read and all(is_slice) and x is not None and len(entries) <= x.ndim:
        full = [":"] * (x.ndim - len(entries))
        written = [*map(ast.unparse, entries), *full]
        if all(text == ":" for i, text in enumerate(written) if i not in sizes):
            begin = [ast.unparse(starts[i]) if i in starts else "0" for i in range(x.ndim)]
            extent = [sizes.get(i) or str(n) for i, n in enumerate(x.shape)]
            return f"dynamic_slice({name}, {_tuple(begin)}, {_tuple(extent)})"
    order = sorted(sizes)
    if not all(is_slice[i] for i in range(order[0], order[-1] + 1)) or order[-1] - order[0] >= len(order):
        return None  # numpy would move the axes of separate indices to the front
    texts = [ast.unparse(entry) for entry in entries]
    for k, i in enumerate(order):
        texts[i] = ast.unparse(ast.BinOp(starts[i], ast.Add(), ast.Name(f"Tensor.arange({sizes[i]})")))
        if after := len(order) - 1 - k:
            texts[i] = f"({texts[i]})[:{', None' * after}]"
    return f"{name}[{', '.join(texts)}]"


def _mask(x: Tensor, e: ast.Subscript) -> str | None:
    """Return the entries of a vector before or after a position, with zeros instead of the others."""
    s = e.slice
    if x.ndim != 1 or not isinstance(s, ast.Slice) or s.step is not None or (s.lower is None) == (s.upper is None):
        return None
    bound, symbol = (s.upper, "<") if s.upper is not None else (s.lower, ">=")
    assert bound is not None
    return f"(Tensor.arange({x.shape[0]}) {symbol} {source.part(bound)}).where({ast.unparse(e.value)}, 0)"


def _tuple(texts: Sequence[str]) -> str:
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


class _WithoutInt(ast.NodeTransformer):
    """Replaces `int(i)` by `i`, or by `i.int()` if the value is not an int tensor."""

    def __init__(self, x: Tensor) -> None:
        self.x = x

    def visit_Call(self, e: ast.Call) -> ast.AST:
        self.generic_visit(e)
        if not isinstance(e.func, ast.Name) or e.func.id != "int" or len(e.args) != 1 or e.keywords:
            return e
        value = source.value_of(e.args[0])
        if value is not None and not isinstance(value, Tensor):
            return e  # a number
        dtype = value.dtype if isinstance(value, Tensor) else self.x.dtype
        text = source.part(e.args[0])
        return ast.parse(text if dtypes.is_int(dtype) else f"{text}.int()", mode="eval").body
