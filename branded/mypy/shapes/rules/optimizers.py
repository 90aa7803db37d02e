"""Optimizers of `branded.optim`: the shapes of updates and solutions."""

from __future__ import annotations

from branded.mypy.shapes.brands import map_leaves
from branded.mypy.shapes.values import (
    UNKNOWN,
    Arguments,
    Fact,
    FollowedBrand,
    Mutable,
    Shaped,
    Tuple,
    Wrapped,
    add_brands,
    brands_of,
    is_number,
)

_OPTIMIZERS = {"adagrad", "adam", "adamw", "lamb", "lion", "rmsprop", "sgd", "chain", "identity"}
_SOLVERS = {"minimize", "root", "fixed_point"}
_OPTIONS = "options"


def of_optim(name: str, given: Arguments) -> Fact:
    """Return an optimizer, a schedule, the solution of a solver, or updated parameters."""
    first = given.positional[0] if given.positional else UNKNOWN
    if name in _OPTIMIZERS or name.startswith(("scale", "clip", "add_decayed")):
        return _optimizer(given)
    if name == "apply_updates":
        return _with_brands(first, brands_of(Tuple(tuple(given.all()))))
    if "schedule" in name or name == "exponential_decay":
        return Wrapped(lambda more: _rate(more.positional[0]) if more.positional else UNKNOWN)
    if name in _SOLVERS and (start := given.get(1, "x0")) is not None:
        return Mutable("object", {"x": start})
    return UNKNOWN


def _optimizer(given: Arguments) -> Fact:
    """Return an optimizer with the brands of its options, which its updates get."""
    parts = [v.items.get(_OPTIONS, UNKNOWN) for v in given.all() if isinstance(v, Mutable) and v.items is not None]
    brands = brands_of(Tuple((*given.all(), *parts)))

    def update(more: Arguments) -> Fact:
        gradients = more.positional[0] if more.positional else more.keywords.get("updates", UNKNOWN)
        return Tuple((_with_brands(gradients, brands | brands_of(Tuple(tuple(more.all())))), UNKNOWN))

    init = Wrapped(lambda more: UNKNOWN)
    items: dict[object, Fact] = {"init": init, "update": Wrapped(update), _OPTIONS: Shaped(None, brands)}
    return Mutable("object", items)


def _with_brands(value: Fact, brands: frozenset[FollowedBrand]) -> Fact:
    return map_leaves(value, lambda leaf: add_brands(leaf, brands))


def _rate(step: Fact) -> Fact:
    return Shaped(()) if is_number(step) else step
