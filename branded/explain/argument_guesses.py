"""Example arguments for parameters without defaults, guessed from annotations and from the docstring.

A tensor gets axes of sizes 2, 3 and 4. Its rank is the first one with which the function runs, unless `f32[n, d]` in
the annotation or in the docstring, or `Axes[Users, Features]`, determines the axes. Annotations are read from the
source if possible, because `Axes[Users]` is only `Tensor` at run time.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tinygrad import Tensor

from branded.ir import make_expr

SIZES = (2, 3, 4)
_RANKS = (1, 2, 3, 0)
_MAX_TRIES = 48
"""The maximum number of combinations of shapes to try."""
_TENSOR = re.compile(r"\b(?:Tensor|Vec|Axes)\b")
_SHAPE = re.compile(r"\b(f(?:16|32|64)|i(?:8|16|32|64)|u(?:8|16|32|64)|bool)\[([\w\s,]*)\]")
_NUMBERS: dict[str, Any] = {"float": 2.0, "int": 2, "bool": True}

Shape = tuple[int, ...]


def guess_arguments(f: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> dict[str, Any] | None:
    """Return arguments for the parameters without defaults, by name, or None if they cannot be guessed.

    If all axes are known, the guess is returned even if the function fails with it: the error is in the function then.
    """
    source_texts = _source_annotations(f)
    annotations = {p.name: source_texts.get(p.name) or _annotation_text(p.annotation) for p in parameters}
    numbers = {name: _NUMBERS[text] for name, text in annotations.items() if text in _NUMBERS}
    tensors = [name for name, text in annotations.items() if _TENSOR.search(text)]
    if len(numbers) + len(tensors) < len(annotations):
        return None
    known = _known_axes(inspect.getdoc(f) or "", {name: annotations[name] for name in tensors})
    for shapes in itertools.islice(_shapes(tensors, known), _MAX_TRIES):
        guess = {
            n: numbers.get(n, _example_tensor(shapes[n], known.get(n, ("", ()))[0]) if n in shapes else None)
            for n in annotations
        }
        if _runs(f, parameters, guess) or {*known} == {*tensors}:
            return guess
    return None


def _source_annotations(f: Callable[..., Any]) -> dict[str, str]:
    """Return the annotations of a function by parameter name, as written in its source."""
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(f)))).body
    except (OSError, TypeError, SyntaxError, ValueError):  # no source, or more than a function
        return {}
    if not isinstance(definition, ast.FunctionDef):
        return {}
    parameters = definition.args.posonlyargs + definition.args.args + definition.args.kwonlyargs
    return {a.arg: ast.unparse(a.annotation) for a in parameters if a.annotation is not None}


def _annotation_text(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


KnownAxes = dict[str, tuple[str, tuple[str, ...]]]
"""For each parameter, its dtype and the names of its axes."""


def _known_axes(doc: str, annotations: Mapping[str, str]) -> KnownAxes:
    axes_of: KnownAxes = {}
    for name, text in annotations.items():
        if (shape := _SHAPE.search(text)) is not None:
            axes_of[name] = shape[1], _axis_names(shape[2])
        elif (axes := _axes(text)) is not None:
            axes_of[name] = "f32", axes
        elif (in_doc := re.search(rf"\b{name}\b`?:?[^\n]*?{_SHAPE.pattern}", doc)) is not None:
            axes_of[name] = in_doc[1], _axis_names(in_doc[2])
    if not axes_of and (shape := _SHAPE.search(doc)) is not None and len(_SHAPE.findall(doc)) == 1:
        axes_of = dict.fromkeys(annotations, (shape[1], _axis_names(shape[2])))
    return axes_of


def _axes(text: str) -> tuple[str, ...] | None:
    """Return the axes that an annotation names: `Users` and `3` for `Axes[Users, Literal[3]]`."""
    try:
        parts = [x for x in ast.walk(ast.parse(text, mode="eval")) if isinstance(x, ast.Subscript)]
    except SyntaxError:
        return None
    subscript = next((x for x in parts if ast.unparse(x.value).split(".")[-1] == "Axes"), None)
    if subscript is None:
        return None
    names = subscript.slice.elts if isinstance(subscript.slice, ast.Tuple) else [subscript.slice]
    return tuple(ast.unparse(x.slice if isinstance(x, ast.Subscript) else x) for x in names)


def _axis_names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _shapes(tensors: Sequence[str], known: KnownAxes) -> Iterator[dict[str, Shape]]:
    """Yield combinations of shapes to try.  Tensors with unknown axes first all get the same rank, then other ranks."""
    axes = list(dict.fromkeys(a for name in tensors if name in known for a in known[name][1]))
    sizes = {a: SIZES[0] + i for i, a in enumerate(a for a in axes if not a.isdigit())}
    sizes |= {a: int(a) for a in axes if a.isdigit()}
    known_shapes = {name: tuple(sizes[a] for a in known[name][1]) for name in tensors if name in known}
    unknown_names = [name for name in tensors if name not in known]
    ranks = [(r,) * len(unknown_names) for r in _RANKS]
    ranks += [
        r for r in sorted(itertools.product(_RANKS, repeat=min(len(unknown_names), 4)), key=sum) if r not in ranks
    ]
    for rank in ranks if unknown_names else [()]:
        for shape_rule in _SHAPE_RULES:
            yield {**known_shapes, **{name: shape_rule(r) for name, r in zip(unknown_names, rank, strict=False)}}


_SHAPE_RULES: tuple[Callable[[int], Shape], ...] = (
    lambda rank: SIZES[len(SIZES) - rank :],
    lambda rank: SIZES[:rank],
    lambda rank: (SIZES[1],) * rank,
)
"""The shapes to try for a rank: sizes that agree at the last axis, sizes that agree at the first axis, equal sizes."""


def _example_tensor(shape: Shape, dtype: str) -> Tensor:
    """Return a tensor of small numbers that are not all the same; floats are never 0."""
    cells = range(math.prod(shape))
    if dtype == "bool":
        return Tensor([i % 2 == 0 for i in cells]).reshape(shape)
    if dtype[:1] in ("i", "u"):
        return Tensor([i % 2 for i in cells]).reshape(shape)
    return Tensor([(3 * i % 7 + 1) / 4 for i in cells]).reshape(shape)


def _runs(f: Callable[..., Any], parameters: Sequence[inspect.Parameter], arguments: Mapping[str, Any]) -> bool:
    first = [arguments[p.name] for p in parameters if p.kind is not p.KEYWORD_ONLY]
    named = {p.name: arguments[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY}
    fixed = [i for i, x in enumerate(first) if not isinstance(x, Tensor)]
    try:
        make_expr(f, static_argnums=fixed)(*first, **named)
    except Exception:  # the user's code may raise anything for unexpected arguments
        return False
    return True
