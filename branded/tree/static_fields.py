"""Static fields: the fields of dataclasses and NamedTuples that are part of the structure of a tree, not leaves."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import types
import typing
import weakref
from collections.abc import Sequence
from typing import Any, Final

from tinygrad import Tensor

from branded.errors import TreeError
from branded.tree.formatting import describe, short_repr


class _Static:
    """A marker in the annotation of a field that is not a leaf: `name: Annotated[str, static]`.

    A static field of a dataclass or a NamedTuple is part of the structure of the tree, so `vmap` does not map it, and
    `tree.map` keeps it.  Trees whose static fields differ have different structures.  JAX's and equinox's forms,
    `field(metadata={"static": True})` and `field(static=True)`, mean the same.

    Raises:
        TreeError: The value of a static field is a tensor, or has no hash.

    Example:
        >>> from dataclasses import dataclass
        >>> from typing import Annotated
        >>> from branded import static, vmap
        >>> from tinygrad import Tensor
        >>> @dataclass
        ... class Layer:
        ...     w: Tensor
        ...     activation: Annotated[str, static]
        >>> layers = Layer(Tensor([[0.0, 1.0], [2.0, 3.0]]), "relu")
        >>> vmap(lambda layer: getattr(layer.w.sum(), layer.activation)())(layers).tolist()
        [1.0, 5.0]

    Source: `jax.tree_util.register_dataclass`; equinox, `equinox.field`.
    """

    def __repr__(self) -> str:
        return "branded.static"


static: Final = _Static()

_known: weakref.WeakKeyDictionary[type, tuple[str, ...]] = weakref.WeakKeyDictionary()


def static_fields(cls: Any) -> tuple[str, ...]:
    """Return the names of the static fields of a dataclass or a NamedTuple."""
    if (known := _known.get(cls)) is None:
        is_dataclass = dataclasses.is_dataclass(cls)
        fields = {f.name: f.metadata for f in dataclasses.fields(cls)} if is_dataclass else {}
        marked = {name for name, metadata in fields.items() if metadata.get("static", False)}
        for base in cls.__mro__:
            marked |= {name for name, t in inspect.get_annotations(base).items() if _has_mark(base, t)}
        known = _known[cls] = tuple(name for name in (fields if is_dataclass else cls._fields) if name in marked)
    return known


def _has_mark(cls: type, annotation: Any) -> bool:
    """Return whether an annotation has the marker `static`; it may be a string that cannot be evaluated here."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", None)
    if text is not None:
        one: Any = types.SimpleNamespace(__annotations__={"it": text})
        module = vars(sys.modules.get(cls.__module__, sys))
        try:
            annotation = typing.get_type_hints(one, module, dict(vars(cls)), include_extras=True)["it"]
        except Exception:  # the name exists only for type checkers, or inside the function that defines the class
            return re.search(r"\bAnnotated\[.*\bstatic\b", text) is not None
    return any(mark is static for mark in getattr(annotation, "__metadata__", ()))


def static_values(x: Any, names: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    """Return the static fields of a tree with their values, which become part of its structure."""
    values = tuple([(name, getattr(x, name)) for name in names])
    for name, value in values:
        _check_value(x, name, value)
    return values


def static_texts(x: Any) -> list[str]:
    """Return the static fields of a container as text: `activation='relu'`."""
    cls: Any = type(x)
    is_class = hasattr(cls, "_fields") if isinstance(x, tuple) else dataclasses.is_dataclass(cls)
    return [f"{name}={short_repr(getattr(x, name))}" for name in static_fields(cls)] if is_class else []


def _check_value(x: Any, name: str, value: Any) -> None:
    """Raise TreeError if a value cannot be part of a structure: structures are hashed and compared."""
    cls = type(x).__name__
    if isinstance(value, Tensor):
        raise TreeError(f"tree: the static field `{name}` of {cls} is a tensor", fix=f"annotate it as {name}: Tensor")
    try:
        hash(value)
    except TypeError:
        raise TreeError(
            f"tree: the static field `{name}` of {cls} is {describe(value)}, which has no hash",
            fix="use a tuple, a str or another hashable value",
        ) from None
