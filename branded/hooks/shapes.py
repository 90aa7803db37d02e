"""Hooks for shapes, which are the same for all examples and cannot depend on a per-example value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from tinygrad import Tensor, dtypes

from branded.core.validation.arguments import normalize_axis
from branded.core.values import vec_type
from branded.errors import EscapeError, ShapeError, count_noun
from branded.graph.rows import row_of
from branded.hooks.reads import repeating, static_fix
from branded.tinygrad_compat import tensor_methods
from branded.tinygrad_compat.tensor_methods import Method, wrap

_SAME = "use the same sizes for all, and mask with where"
_SHAPED = ("reshape", "expand", "shrink", "pad", "repeat", "unfold", "view", "split", "unflatten")


def _per_example(x: Any) -> Tensor | None:
    """Return the first per-example value in an argument that should be a shape."""
    if isinstance(x, Tensor):
        return x if row_of(x.uop) else None
    parts = (x.start, x.stop, x.step) if isinstance(x, slice) else x if isinstance(x, tuple | list) else ()
    return next((t for t in map(_per_example, parts) if t is not None), None)


def _per_example_slice(index: Any) -> Tensor | None:
    """Return the first per-example value in the slices of an index, which may contain tensors elsewhere."""
    parts = index if isinstance(index, tuple | list) else (index,)
    return _per_example([i for i in parts if isinstance(i, slice)])


def _check_shapes(find: Callable[[Any], Tensor | None]) -> Callable[[Method], Method]:
    def make(original: Method) -> Method:
        inner, running = tensor_methods.inner_method(original), tensor_methods.running()

        def shaped(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            try:
                return (original if running() is None else inner)(self, *args, **kwargs)
            except Exception as error:
                tensor = next((t for t in map(find, (*args, *kwargs.values())) if t is not None), None)
                if tensor is None or isinstance(error, EscapeError):
                    raise
                from branded.hooks.error_translation.slices import suggest_take  # imported only for an error

                api_name = "slice" if "item" in original.__name__ else original.__name__
                fix = suggest_take(self, args[0]) if api_name == "slice" else _SAME
                turn = repeating(row_of(tensor.uop)).turn
                raise ShapeError(
                    f"{api_name}: a shape or an offset differs from {turn} to {turn}",
                    ("tensor", vec_type(self)),
                    ("shape", f"depends on {vec_type(tensor)}"),
                    fix=static_fix(tensor) or fix,
                ) from None

        return shaped

    return make


def _wrap_roll(original: Method) -> Method:
    """Support tensors as shifts, as `jax.numpy.roll` does."""

    def roll(self: Tensor, shifts: Any, dims: Any = None) -> Tensor:
        each = shifts if isinstance(shifts, tuple | list) else (shifts,)
        if not any(isinstance(s, Tensor) for s in each):
            return cast(Tensor, original(self, shifts, dims))
        if dims is None:
            return roll(self.flatten(), shifts, 0).reshape(self.shape)
        along = dims if isinstance(dims, tuple | list) else (dims,)
        for s in each:
            if isinstance(s, Tensor) and (s.shape or not dtypes.is_int(s.dtype)):
                raise ShapeError(
                    "roll: a shift must be a scalar int", ("shift", vec_type(s)), fix="use a 0-d int tensor"
                )
        if len(each) != len(along):
            axes = count_noun(len(along), "axis", "axes")
            raise ShapeError(f"roll: {count_noun(len(each), 'shift')} for {axes}", fix="give one shift per axis")
        out = self
        for s, d in zip(each, along, strict=True):
            axis = normalize_axis(d, self, "roll: dims")
            n = self.shape[axis]
            index = (Tensor.arange(n) - s) % n
            out = out[(*(slice(None),) * axis, index)] if n else out
        return out

    return roll


def install() -> None:
    wrap("roll", _wrap_roll)
    for name in _SHAPED:
        wrap(name, _check_shapes(_per_example))
    for name in ("__getitem__", "__setitem__"):
        wrap(name, _check_shapes(_per_example_slice))
