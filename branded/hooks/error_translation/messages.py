"""Messages for tinygrad's errors: the operation, its operands for one example, the line, and a suggestion.

A suggestion is shown only if it runs: each one is tried here on the operands of the failed call.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor, dtypes

from branded.core.tracing.state import is_tracing
from branded.errors import ArgumentError, AxisRangeError, BrandedError, CallError, ShapeError, count_noun, source
from branded.graph.rows import row_of, visible
from branded.graph.scope import open_brands
from branded.hooks.error_translation.failed_call import Refused, error_of
from branded.hooks.error_translation.slices import has_tensors, subscript, suggest_take
from branded.tree.formatting import short_repr

_BROADCAST = re.compile(r"cannot be broadcast to a single shape")
_DOT = re.compile(r"cannot dot")
_AXIS = re.compile(r"dim=(-?\d+) out of range \[(-?\d+), (-?\d+)\]")
_RESHAPE = re.compile(r"size mismatch, can't reshape .* -> \((.*?),?\)\)?$")
_MANY = re.compile(r"too many indices \((\d+)\) for (\d+)D")
_BOUNDS = re.compile(r"index=(-?\d+) is out of bounds with size=(\d+)")
_FEW = re.compile(
    r"ndim=\d+ != len\(arg\)=(\d+)|expected (two) or more dimensions|not enough .*expected at least (\d+)"
)
_DTYPE = re.compile(r"dtype|[Ii]nvalid type|unsupported size")
_INSIDE = re.compile(r"UOp|Ops\.|<class|object at 0x")


def the_value() -> str:
    """Return the noun for the value whose axes a message describes."""
    return "one example" if is_tracing() else "the tensor"


def of_example() -> str:
    return " of one example" if is_tracing() else ""


def translate_call(r: Refused) -> BrandedError:
    """Return the translated error for a failed call."""
    for pattern, tell in _CASES:
        match = pattern.search(r.words)
        if match is not None and (translation := tell(r, match)) is not None:
            return translation
    if (named := _BY_NAME.get(r.op)) is not None and (translation := named(r)) is not None:
        return translation
    words = r.words.replace("self.", "") if r.words and not _INSIDE.search(r.words) else "these operands do not fit"
    if r.given and len(r.given) < 60 and r.given not in words:
        words += f", given {r.given}"
    if isinstance(r.cause, AttributeError | TypeError):
        return r.error(CallError, _not_taken(r) or words, _suggest_scaling(r))
    if (fewer := _one_less(r)) is None and (few_axes := _too_few_axes(r)) is not None:
        return few_axes
    return r.error(ArgumentError if _DTYPE.search(words) else ShapeError, words, fewer)


def _too_few_axes(r: Refused, m: re.Match[str] | None = None) -> BrandedError | None:
    """Return the error for a method of operands with more axes, as many as tinygrad names or as make it work."""
    axes = max((t.ndim for _, t in r.operands), default=0)

    def fits(missing: int) -> bool:
        return r.works(functools.partial(r.method, *_with_axes(r.args, axes, (1,) * missing), **r.kwargs))

    wanted = next(n for n in m.groups() if n) if m else ""
    tries = range(1, 4) if m is None else [(2 if wanted == "two" else int(wanted)) - axes]
    missing = next((n for n in tries if n > 0 and (m is not None or fits(n))), 0)
    if not missing:
        return None
    label, x = r.operands[0]
    text = r.operand(label) or "x"
    fixes = [f"{text}.reshape({', '.join(map(str, (1,) * missing + x.shape))})"] if m is None or fits(missing) else []
    if any(visible(row_of(t.uop)) for _, t in r.operands):
        fixes.append("map fewer axes: vmap has removed one from each example")
    message = f"it takes {axes + missing} or more axes, and {the_value()} has {axes}"
    return r.error(ShapeError, message, ", or ".join(fixes) or None)


def _with_axes(args: tuple[Any, ...], axes: int, more: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the arguments with leading axes added to the tensors of the most axes."""
    return tuple(x.reshape(*more, *x.shape) if isinstance(x, Tensor) and x.ndim == axes else x for x in args)


def _not_taken(r: Refused) -> str:
    """Return a message about arguments that are not tensors, if tinygrad rejects the type of one."""
    args = [*r.args[1:], *r.kwargs.values()]
    rest = [f"the {type(x).__name__} {short_repr(x)}" for x in args if not isinstance(x, Tensor)]
    return f"it does not take {' and '.join(rest)}" if rest else ""


def _suggest_scaling(r: Refused) -> str | None:
    """Suggest `*` for a matrix product with a number."""
    if r.op not in ("dot", "matmul") or len(r.args) != 2 or not isinstance(r.args[1], int | float):
        return None
    if (texts := r.written()) is None:
        return f"x * {r.args[1]}"
    return f"{texts[0]} * {texts[1]}"


def _one_less(r: Refused) -> str | None:
    """Suggest the shape of one example if the shape of a batch was given."""
    shape = r.args[1] if len(r.args) == 2 else r.args[1:]
    if not r.operands or not isinstance(shape, tuple | list) or not visible(row_of(r.operands[0][1].uop)):
        return None
    x, less = r.operands[0][1], tuple(shape[1:])
    if r.op in _SHAPED and len(shape) == x.ndim + 1 and r.works(lambda: getattr(x, r.op)(less)):
        return f"{r.op}({less}): inside vmap there is no batch axis"
    return None


_SHAPED = ("expand", "pad", "shrink", "permute")


def _broadcast(r: Refused, _m: re.Match[str]) -> BrandedError | None:
    shapes = [t.shape for _, t in r.operands]
    for k in range(1, max(map(len, shapes), default=0) + 1):
        sizes = list(dict.fromkeys(s[-k] for s in shapes if len(s) >= k and s[-k] != 1))
        if len(sizes) > 1:
            api_name = f"axis -{k} has {sizes[0]} entries in one operand and {sizes[1]} in another"
            return r.error(ShapeError, api_name, _of_examples(r) or _suggest_pairing(r) or "use equal sizes, or 1")
    return None


def _of_examples(r: Refused) -> str | None:
    """Suggest mapping an operand that has an element for each example."""
    for label, t in r.operands:
        rest = [x.shape for _, x in r.operands if x is not t]
        for b in visible(open_brands()):
            fits = t.shape and t.shape[0] == b.size and b not in row_of(t.uop) and _fit(*rest, t.shape[1:])
            if fits and any(b in row_of(x.uop) for _, x in r.operands):
                api_name = f"`{text}`" if (text := r.operand(label)) else f"the {label}"
                return f"pass {api_name} as an argument of vmap: it has one entry for each of the {b.size} examples"
    return None


def _fit(*shapes: tuple[Any, ...]) -> bool:
    most = max(map(len, shapes))
    return all(len({s[-k] for s in shapes if len(s) >= k and s[-k] != 1}) < 2 for k in range(1, most + 1))


def _suggest_pairing(r: Refused) -> str | None:
    """Suggest all pairs for two vectors, or the transpose of the right operand."""
    if (w := r.written()) is None or len(r.operands) != 2:
        return None
    a, b = (t for _, t in r.operands)
    left, right, both = w
    if b.ndim == 2 and r.works(lambda: a + b.T):
        return f"{both(left, f'{right}.T')}, if the axes of the right are the other way round"
    if b.ndim == 1 and r.works(lambda: a + b.unsqueeze(-1)):
        column = "[:, None]" if r.has_array and not r.is_reflected else ".unsqueeze(-1)"
        return f"{both(left, right + column)} for every pair of entries, or as many entries in both"
    return None


def _dot(r: Refused, _m: re.Match[str]) -> BrandedError | None:
    if len(r.operands) < 2:
        return None
    (_, a), (_, b) = r.operands[:2]
    if not a.shape or not b.shape:
        return r.error(
            ShapeError, f"a scalar{of_example()} is not a vector or a matrix", "use `*` for a product with a scalar"
        )
    axis = -1 if b.ndim == 1 else -2
    api_name = f"axis -1 of the first has {a.shape[-1]} entries, and axis {axis} of the second {b.shape[axis]}"
    if r.op == "linear" and b.ndim == 2:
        fix = f"Linear({a.shape[-1]}, {b.shape[-1]}), or pass examples of {b.shape[0]} entries"
        return r.error(ShapeError, api_name, fix)
    return r.error(ShapeError, api_name, _suggest_transpose(r, a, b) or "use the same number of entries on both sides")


def _suggest_transpose(r: Refused, a: Tensor, b: Tensor) -> str | None:
    if (w := r.written()) is None:
        return None
    left, right, both = w
    ways = (
        (lambda: a.dot(b.transpose(-1, -2)), both(left, f"{right}.transpose(-1, -2)")),
        (lambda: b.dot(a), both(right, left)),
        (lambda: a.transpose(-1, -2).dot(b), both(f"{left}.transpose(-1, -2)", right)),
    )
    return next((text for run, text in ways if r.works(run)), None)


def _conv(r: Refused) -> BrandedError | None:
    (_, x), *rest = r.operands
    weight = rest[0][1] if rest else None
    if weight is None or x.ndim >= weight.ndim:
        return None
    missing = weight.ndim - x.ndim
    api_name = f"it takes axes for a batch and for channels, and {the_value()} has {x.ndim} of {weight.ndim} axes"
    if missing > 2 or (missing == 1 and x.shape[0] != weight.shape[1]):
        return r.error(ShapeError, api_name, None)
    one, back = (f".reshape({', '.join(map(str, (1,) * missing + x.shape))})", ".squeeze(0)")
    e = copy.deepcopy(source.expression())
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and e.func.attr == r.method.__name__:
        e.func.value = ast.parse(f"{source.part(e.func.value)}{one}", mode="eval").body
    elif isinstance(e, ast.Call) and len(e.args) == 1:
        e.args[0] = ast.parse(f"{source.part(e.args[0])}{one}", mode="eval").body
    else:
        return r.error(ShapeError, api_name, f"x{one}")
    return r.error(ShapeError, api_name, f"{ast.unparse(e)}{back}")


def letters(formula: str, operands: Sequence[Any]) -> BrandedError | None:
    """Return the error for an einsum with an operand that does not match its letters, or a letter with two sizes."""
    groups = formula.replace(" ", "").partition("->")[0].split(",")
    tensors = [(f"`{g}`", x) for g, x in zip(groups, operands, strict=False) if isinstance(x, Tensor)]
    sizes: dict[str, Any] = {}
    if len(groups) != len(operands) == len(tensors):
        api_name = f"einsum: `{formula}` is of {count_noun(len(groups), 'operand')}, and {len(tensors)} came"
        return error_of(
            ShapeError, api_name, [(str(i + 1), x) for i, x in enumerate(operands)], "give letters for each operand"
        )
    if "." in formula or not len(tensors) == len(groups) == len(operands):
        return None
    for group, (_, x) in zip(groups, tensors, strict=True):
        if len(group) != x.ndim:
            axes = count_noun(x.ndim, "axis", "axes")
            api_name = f"einsum: `{group}` has {len(group)} letters, and {the_value()} {axes}"
            return error_of(ShapeError, api_name, tensors, f"give a letter for each axis{of_example()}")
        for c, n in zip(group, x.shape, strict=True):
            if sizes.setdefault(c, n) != n:
                api_name = f"einsum: `{c}` is an axis of {sizes[c]} entries, and one of {n}"
                return error_of(ShapeError, api_name, tensors, "use a letter for each size")
    return None


def _axis(r: Refused, m: re.Match[str]) -> BrandedError:
    dim, low, high = map(int, m.groups())
    api_name = f"axis {dim} is out of range for {the_value()}"
    if dim > 0 and low <= dim - 1 <= high and visible(row_of(r.operands[0][1].uop)):
        return r.error(AxisRangeError, api_name, f"axis {dim - 1}: inside vmap there is no batch axis")
    return r.error(AxisRangeError, api_name, f"use an axis from {low} to {high}")


def _reshape(r: Refused, m: re.Match[str]) -> BrandedError | None:
    x = r.operands[0][1]
    try:
        to = tuple(int(n) for n in m[1].strip("()").split(",") if n.strip())
    except ValueError:  # the sizes are not concrete
        return None
    api_name = f"{the_value()} has {math.prod(x.shape)} entries, and {to} has {math.prod(to)}"
    n = math.prod(x.shape)
    for b in visible(row_of(x.uop)):
        if to and to[0] == b.size and math.prod(to[1:]) == n:
            return r.error(ShapeError, api_name, f"{_call(r, to[1:])}: inside vmap there is no batch axis")
    for i in reversed(range(len(to))):
        others = math.prod(to[:i] + to[i + 1 :])
        if others and n % others == 0:
            return r.error(ShapeError, api_name, _call(r, (*to[:i], -1, *to[i + 1 :])))
    return r.error(ShapeError, api_name, _call(r, (-1,)))


def _call(r: Refused, sizes: Sequence[int]) -> str:
    name = r.op if r.op in ("reshape", "view") else "reshape"
    return f"{name}({', '.join(map(str, sizes)) or '()'})"


def _many(r: Refused, m: re.Match[str]) -> BrandedError:
    count, rank = map(int, m.groups())
    api_name = f"{count} indices for {the_value()}, which has {count_noun(rank, 'axis', 'axes')}"
    fix = f"use at most {rank}"
    index = r.args[1]
    fewer = index[count - rank :] if isinstance(index, tuple) else ()
    if fewer and is_tracing() and r.op == "index" and r.works(lambda: r.args[0][fewer]):
        fix = f"{_drop_indices(count - rank)}: inside vmap there is no batch axis"
    return r.error(ShapeError, api_name, fix)


def _drop_indices(skipped: int) -> str:
    """Return the user's index expression without the first indices."""
    e = source.expression()
    if isinstance(e, ast.Subscript) and isinstance(e.slice, ast.Tuple):
        rest = e.slice.elts[skipped:]
        return f"{source.part(e.value)}[{', '.join(map(ast.unparse, rest))}]"
    return f"remove the first {skipped}"


def _mask(r: Refused) -> BrandedError | None:
    index = r.args[1]
    if r.op == "index" and any(map(has_tensors, index if isinstance(index, tuple) else (index,))):
        fix = suggest_take(r.args[0], index)
        return r.error(ShapeError, "the bounds of a slice must be Python ints, and this is a tensor", fix)
    e, value_text = subscript()
    indices = index if isinstance(index, tuple) else (index,)
    if floats := [k for k, i in enumerate(indices) if isinstance(i, Tensor) and dtypes.is_float(i.dtype)]:
        parts = [] if e is None else e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
        part = source.part(parts[floats[0]]) if len(parts) == len(indices) else "index"
        return r.error(ArgumentError, "a tensor of floats is not an index", f"{part}.int()")
    if not isinstance(index, Tensor) or index.dtype != dtypes.bool:
        return None
    x, mask = ("x", "mask") if e is None else (source.part(e.value), ast.unparse(e.slice))
    if r.op == "assign" or value_text:
        self, axes = r.args[0], r.args[0].ndim - index.ndim
        where = f"({mask})"
        if axes:
            index = index.reshape(*index.shape, *(1,) * axes)
            where = f"({mask}).reshape({', '.join(map(str, index.shape))})"
        value = r.args[2] if r.op == "assign" else self
        fits = r.works(lambda: index.where(value, self))
        fix = f"{x} = {where}.where({value_text or 'value'}, {x})" if fits else "use where, with a value for each entry"
        return r.error(ShapeError, "a mask cannot select the entries to write, because their number is unknown", fix)
    fix = f"({mask}).where({x}, 0), or {x}.masked_select({mask}, size=n) with the maximum number of entries"
    return r.error(ShapeError, "the number of entries that a mask selects depends on its values", fix)


def _bounds(r: Refused, m: re.Match[str]) -> BrandedError:
    i, n = map(int, m.groups())
    axis = f"an axis of {count_noun(n, 'entry', 'entries')}"
    return r.error(ShapeError, f"{i} is out of bounds for {axis}", f"use an index from {-n} to {n - 1}" if n else None)


def _concat_error(r: Refused) -> BrandedError | None:
    shapes = [t.shape for _, t in r.operands]
    if len({*map(len, shapes)}) > 1:
        return r.error(
            ShapeError,
            "the operands have different numbers of axes",
            "reshape one of them, so that the ranks are equal",
        )
    dim = r.kwargs.get("dim", 0)
    dim = dim if type(dim) is int else 0
    for k in range(len(shapes[0])):
        if len({s[k] for s in shapes}) > 1 and (r.op == "stack" or k != dim % len(shapes[0])):
            sizes = list(dict.fromkeys(s[k] for s in shapes))
            api_name = f"axis {k} has {sizes[0]} entries in one operand and {sizes[1]} in another"
            dims = range(len(shapes[0])) if r.op == "cat" else ()
            fits = [d for d in dims if len({s[:d] + s[d + 1 :] for s in shapes}) == 1]
            return r.error(
                ShapeError,
                api_name,
                f"dim={fits[0]}, along which they fit" if fits else "use equal sizes in all operands",
            )
    return None


def _transpose_error(r: Refused) -> BrandedError | None:
    x, n = r.operands[0][1], len(r.operands[0][1].shape)
    call = inspect.signature(r.method).bind(*r.args, **r.kwargs)
    call.apply_defaults()  # for `x.T`
    axes = [a for a in call.arguments.values() if type(a) is int and not -max(n, 1) <= a < max(n, 1)]
    if not axes:
        return None
    return r.error(
        AxisRangeError,
        f"axis {axes[0]} is out of range for {the_value()}",
        f"use axes from {-n} to {n - 1}" if x.shape and r.args[1:] else _suggest_without_transpose(x),
    )


def _suggest_without_transpose(x: Tensor) -> str:
    """Return what to use instead of `x.T` if there are no two axes."""
    e = source.expression()
    text = source.part(e.value) if isinstance(e, ast.Attribute) and e.attr == "T" else "x"
    return f"{text}.unsqueeze(1) for a column, or {text} itself" if x.shape else f"{text} itself, which has no axes"


_CASES: tuple[tuple[re.Pattern[str], Callable[[Refused, re.Match[str]], BrandedError | None]], ...] = (
    (_BROADCAST, _broadcast),
    (_DOT, _dot),
    (_AXIS, _axis),
    (_RESHAPE, _reshape),
    (_MANY, _many),
    (_BOUNDS, _bounds),
    (_FEW, _too_few_axes),
)
_BY_NAME: dict[str, Callable[[Refused], BrandedError | None]] = {
    "index": _mask,
    "assign": _mask,
    "cat": _concat_error,
    "stack": _concat_error,
    "transpose": _transpose_error,
    "conv2d": _conv,
    "conv_transpose2d": _conv,
}
