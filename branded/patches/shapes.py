"""Shapes: they are the same for all examples, so no value of an example can be one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinygrad import Tensor

from branded.errors import EscapeError, ShapeError
from branded.patches import methods
from branded.patches.methods import Method, wrap
from branded.rows import row_of
from branded.values import vec_type

_SHAPED = ("reshape", "expand", "shrink", "pad", "repeat", "unfold", "view", "split", "unflatten")


def _per_example(x: Any) -> Tensor | None:
    """The first per-example value in an argument that ought to be a shape."""
    if isinstance(x, Tensor):
        return x if row_of(x.uop) else None
    parts = (x.start, x.stop, x.step) if isinstance(x, slice) else x if isinstance(x, tuple | list) else ()
    return next((t for t in map(_per_example, parts) if t is not None), None)


def _per_example_slice(index: Any) -> Tensor | None:
    """The same for an index, where a tensor may stand, but not in a slice."""
    parts = index if isinstance(index, tuple | list) else (index,)
    return _per_example([i for i in parts if isinstance(i, slice)])


def _shaped(find: Callable[[Any], Tensor | None]) -> Callable[[Method], Method]:
    def make(original: Method) -> Method:
        inner, running = methods.nested(original), methods.running()

        def shaped(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            try:
                return (original if running() is None else inner)(self, *args, **kwargs)
            except Exception as error:
                found = next((t for t in map(find, (*args, *kwargs.values())) if t is not None), None)
                if found is None or isinstance(error, EscapeError):
                    raise
                what = "slice" if "item" in original.__name__ else original.__name__
                each = "step to step" if any(not b.is_brand for b in row_of(found.uop)) else "example to example"
                raise ShapeError(
                    f"{what}: a shape or an offset differs from {each}",
                    ("tensor", vec_type(self)),
                    ("shape", f"depends on {vec_type(found)}"),
                    fix="index with a tensor, or mask with where",
                ) from None

        return shaped

    return make


def install() -> None:
    for name in _SHAPED:
        wrap(name, _shaped(_per_example))
    for name in ("__getitem__", "__setitem__"):
        wrap(name, _shaped(_per_example_slice))
