"""A call that raised in tinygrad: the method, its operands for one example, and its source text."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor

from branded import errors, tree
from branded.core.tracing.recorded_calls import DUNDERS
from branded.errors import BrandedError, source
from branded.graph.rows import row_of, type_text, visible
from branded.tree.formatting import short_repr

_NAMES = {"getitem": "index", "setitem": "assign", "truediv": "div", "__rtruediv__": "div"}
_LABELS = {("where", "self"): "condition", ("where", "x"): "where true", ("where", "y"): "where false"}


class Refused:
    """A call of a method of Tensor that raised an error in tinygrad."""

    def __init__(
        self, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
    ) -> None:
        self.method, self.args, self.kwargs = method, tuple(map(_of_array, args)), kwargs
        self.has_array = any(x is not y for x, y in zip(self.args, args, strict=True))
        self.cause, self.words = error, " ".join(str(error).split())
        name = method.__name__.strip("_")
        self.is_reflected = method.__name__ == f"__{name}__" and name[0] == "r" and f"__{name[1:]}__" in DUNDERS
        name = name[1:] if self.is_reflected else name
        self.op = _NAMES.get(name, name)
        self.operands = self._operands()

    def _operands(self) -> list[tuple[str, Tensor]]:
        """Return the tensors among the arguments, with their labels for a message."""
        if self.is_binary:
            both = list(self.args[:2])
            return list(zip(("left", "right"), both[::-1] if self.is_reflected else both, strict=True))
        try:
            arguments = inspect.signature(self.method).bind(*self.args, **self.kwargs).arguments
        except (TypeError, ValueError):
            arguments = {str(i + 1): x for i, x in enumerate(self.args)}
        operands = []
        for name, x in arguments.items():
            parts = x if isinstance(x, tuple | list) else (x,)
            tensors = [t for t in parts if isinstance(t, Tensor)]
            label = _LABELS.get((self.op, name)) or ("tensor" if name == "self" else name)
            operands += [(label if len(tensors) == 1 else f"{label} {i + 1}", t) for i, t in enumerate(tensors)]
        return operands[:4]

    @property
    def is_binary(self) -> bool:
        """Whether this is an operator, or a method that is equivalent to one."""
        return len(self.args) > 1 and all(isinstance(x, Tensor) for x in self.args[:2]) and len(self.tensors) == 2

    @property
    def tensors(self) -> list[Tensor]:
        return [x for x in (*self.args, *self.kwargs.values()) if isinstance(x, Tensor)]

    @property
    def given(self) -> str:
        """The text of the arguments that are not tensors."""
        rest = [short_repr(x) for x in self.args[1:] if not isinstance(x, Tensor)]
        rest += [f"{k}={short_repr(x)}" for k, x in self.kwargs.items() if not isinstance(x, Tensor)]
        return ", ".join(rest)

    def error(self, cls: type[BrandedError], api_name: str, fix: str | None) -> BrandedError:
        return error_of(cls, f"{self.op}: {api_name}", self.operands, fix)

    def works(self, run: Callable[[], Any]) -> bool:
        try:
            x = run()
            for t in x if isinstance(x, tuple | list) else (x,):
                t.shape  # noqa: B018  raises if there is none
        except Exception:  # tinygrad raises errors of any type
            return False
        return True

    def operand(self, label: str) -> str | None:
        """Return the source text of an operand, or None if it is unknown."""
        if label in ("left", "right") and (w := self.written()) is not None:
            return outside_of(w[1] if label == "right" else w[0])
        e = source.expression()
        if not isinstance(e, ast.Call) or not isinstance(e.func, ast.Attribute) or e.func.attr != self.method.__name__:
            return None
        arguments = dict(zip(inspect.signature(self.method).parameters, (e.func.value, *e.args), strict=False))
        arguments |= {k.arg: k.value for k in e.keywords if k.arg is not None}
        called = {_LABELS.get((self.op, name), name): x for name, x in arguments.items()}
        called |= dict(zip(("left", "right"), arguments.values(), strict=False)) if self.is_binary else {}
        return ast.unparse(called[label]) if label in called else None

    def written(self) -> tuple[str, str, Callable[[str, str], str]] | None:
        """Return the source texts of both operands, and a function that writes the expression with other operands."""
        e = source.expression()
        if isinstance(e, ast.BinOp) and self.method.__name__.startswith("__"):
            symbol = ast.unparse(ast.BinOp(ast.Name("a"), e.op, ast.Name("b")))[1:-1]
            return source.part(e.left), source.part(e.right), lambda a, b: f"{a}{symbol}{b}"
        if isinstance(e, ast.Compare) and len(e.ops) == 1 and self.method.__name__.startswith("__"):
            symbol = ast.unparse(ast.Compare(ast.Name("a"), e.ops, [ast.Name("b")]))[1:-1]
            return source.part(e.left), source.part(e.comparators[0]), lambda a, b: f"{a}{symbol}{b}"
        if isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and len(e.args) == 1 and not e.keywords:
            name = e.func.attr
            if name == self.method.__name__:
                return source.part(e.func.value), source.part(e.args[0]), lambda a, b: f"{a}.{name}({outside_of(b)})"
        return None


def _of_array(x: Any) -> Any:
    """Convert a numpy array to a tensor, as in a body."""
    tensor = tree.as_tensor(x) if hasattr(x, "__array__") and not isinstance(x, Tensor) else None
    return x if tensor is None else tensor


def error_of(
    cls: type[BrandedError], api_name: str, operands: Sequence[tuple[str, Tensor]], fix: str | None
) -> BrandedError:
    """Return the error with the types of the operands and the places where their brands were opened."""
    facts = [(name, type_text(t)) for name, t in operands]
    brands = {b: None for _, t in operands for b in visible(row_of(t.uop))}
    facts += [(b.name, f"opened by {b.where}") for b in brands if b.where]
    if (place := errors.place()) is not None:  # in addition to the places of the brands
        facts.append(("at", place))
    return cls(api_name, *facts, fix=fix)


def outside_of(text: str) -> str:
    """Remove the parentheses around a whole expression."""
    return text[1:-1] if text.startswith("(") and ast.unparse(ast.parse(text, mode="eval")) == text[1:-1] else text
