"""The errors for the arguments and results of `vmap` that do not fit the axes, each with the advice that fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tinygrad import Tensor

from branded import tree
from branded.core.validation.axes_suggestions import as_one, in_axes_text, of_modules, of_optimizer, possible_axes
from branded.core.values import vec_type
from branded.errors import AxesError, AxisTypeError, SizeError, count_noun, examples


class AxisErrors(NamedTuple):
    """The errors for the arguments of one call of a mapped function, from their leaves and axes.

    vmap(f, in_axes=(0, {"w": None, "x": 1}))(a, {"w": b, "x": c})    leaves [a, b, c]    axes [0, None, 1]
    """

    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    leaves: Sequence[Any]
    axes: Sequence[tree.Axis]
    axis_size: int | None
    where: str

    def place(self, i: int) -> str:
        """Return the name of the argument with leaf `i` for messages, such as `argument 1['w']`."""
        return tree.argument_paths(self.args, self.kwargs)[i]

    def argument(self, i: int) -> tuple[Any, str]:
        """Return the argument that contains leaf `i`, and its name in messages.

        vmap(f)([a, b], k=c)    leaf 0: [a, b], "argument 1"    leaf 1: the same    leaf 2: c, "argument `k`"
        """
        names = [*(f"argument {i + 1}" for i in range(len(self.args))), *(f"argument `{k}`" for k in self.kwargs)]
        named_args = zip((*self.args, *self.kwargs.values()), names, strict=True)
        return [pair for pair in named_args for _ in tree.leaves(pair[0])][i]

    def no_axis(self, i: int, axis: int, in_axes: Any) -> AxisTypeError:
        """Return the error for leaf `i`, which is a 0-d tensor or not a tensor."""
        x = self.leaves[i]
        kind = "a 0-d tensor" if isinstance(x, Tensor) else tree.describe(x)
        whole, name = self.argument(i)
        advice = tree.advice(x)
        is_shared = isinstance(in_axes, int) and any(isinstance(v, Tensor) and v.shape for v in self.leaves)
        return AxisTypeError(
            f"in_axes: {self.place(i)} is {kind}"
            + (", not a tensor" if advice else f": there is no axis {axis} to map over"),
            ("call", self.where),
            fix=advice
            or of_optimizer(whole)
            or as_one(whole, name)
            or of_modules(whole, is_shared=is_shared)
            or self._shared(i),
        )

    def symbolic_size(self, i: int) -> AxesError:
        """Return the error for leaf `i`, whose number of examples is symbolic."""
        return AxesError(
            f"in_axes: {self.place(i)} has a symbolic size on axis {self.axes[i]}",
            ("value", vec_type(self.leaves[i])),
            fix="use a size that is known when vmap is called",
        )

    def unknown_size(self, in_axes: Any) -> AxesError:
        """Return the error for a call without a mapped argument."""
        return AxesError(
            "in_axes: nothing is mapped, so the batch size is unknown",
            ("axes", tree.short_repr(in_axes)),
            ("call", self.where),
            fix="give a mapped argument an int in in_axes, or pass axis_size=n",
        )

    def different_size(self, first: int | None, i: int, size: int, n: int) -> SizeError:
        """Return the error for leaf `i` with `n` examples; leaf `first`, or `axis_size` if None, has `size`."""

        def side(i: int) -> str:
            x = self.leaves[i]
            return f"{vec_type(x)}, axis {self.axes[i]}   ({self.place(i)})"

        call = self.where
        first_side = f"axis_size={size}   ({call})" if first is None else f"{side(first)[:-1]} of {call})"
        first_size = f"axis_size is {size}" if first is None else f"{self.place(first)} has {examples(size)}"
        return SizeError(
            f"vmap: mapped sizes differ: {first_size}, {self.place(i)} has {n}",
            ("left", first_side),
            ("right", side(i)),
            fix=self._possible_axes() or self._share_or_slice(first, i),
        )

    def _possible_axes(self) -> str | None:
        """Return the `in_axes` that the user may have meant, for an error message."""
        if self.kwargs or self.axis_size is not None:
            return None
        shapes = [None if a is None else x.shape for x, a in zip(self.leaves, self.axes, strict=True)]
        return possible_axes(self.args, shapes, self.axes)

    def _share_or_slice(self, first: int | None, i: int) -> str:
        """Return the fix: share leaf `i`, or slice the longer of two leaves unless one entry would remain."""
        sizes = {k: self.leaves[k].shape[self.axes[k]] for k in (first, i) if k is not None}
        least = min([*sizes.values(), *([] if self.axis_size is None else [self.axis_size])])
        longer = [k for k, n in sizes.items() if n > least]
        share = self._share([k == i for k in range(len(self.leaves))], i)
        share += f" if {'it' if share.endswith(self.place(i)) else self.place(i)} is shared"
        if not longer or (first is not None and least == 1):
            return share
        return f"{share}, or slice {'it' if longer == [i] else self.place(longer[0])} to {least}"

    def _share(self, is_shared: Sequence[bool], i: int) -> str:
        """Return the fix for an error: share these leaves, including leaf `i`, by `in_axes=None`."""
        if i >= len(self.leaves) - sum(len(tree.leaves(x)) for x in self.kwargs.values()):
            return "functools.partial(f, ...)"
        axes = [None if one else axis for axis, one in zip(self.axes, is_shared, strict=True)]
        return in_axes_text(self.args, axes) or f"use in_axes=None for {self.place(i)}"

    def _shared(self, i: int) -> str:
        """Return the fix that shares leaf `i` and all other leaves without axes."""
        has_axes = [isinstance(x, Tensor) and bool(x.shape) for x in self.leaves]
        return self._share([not x for x in has_axes], i) if any(has_axes) else "pass a tensor with an axis of examples"


def dict_of_axes(in_axes: object) -> AxesError:
    """Return the error for `in_axes` that is a dict."""
    return AxesError(
        "in_axes: a dict cannot give the axes of all arguments",
        ("axes", tree.short_repr(in_axes)),
        fix="in_axes=({...},), with one entry per positional argument",
    )


def wrong_count(axes: Sequence[Any], args: Sequence[Any], where: str) -> AxesError:
    """Return the error for `in_axes` of another length than the arguments."""
    return AxesError(
        f"in_axes: {count_noun(len(axes), 'axis', 'axes')} for {count_noun(len(args), 'positional argument')}",
        ("axes", tree.short_repr(axes)),
        ("call", where),
        fix="give one entry per positional argument; keyword arguments are always mapped over axis 0",
    )


def varying_result(name: str, y: Tensor, brand: str, where: str) -> AxesError:
    """Return the error for a result with `out_axes=None` that differs between examples."""
    return AxesError(
        f"out_axes: None needs a result that is the same for all examples, and {name} varies over `{brand}`",
        ("value", vec_type(y)),
        ("call", where),
        fix="give an int in out_axes, or sum over the examples outside of vmap",
    )


def not_stackable(name: str, y: Any, where: str) -> AxisTypeError:
    """Return the error for a result that is neither a tensor nor a number."""
    return AxisTypeError(
        f"out_axes: {name} is {tree.describe(y)}, which cannot be stacked",
        ("call", where),
        fix=tree.advice(y) or "return tensors, or use out_axes=None for this result",
    )
