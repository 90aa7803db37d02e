"""Rules for `branded.optim`: the shapes of updates, states and solutions."""

from __future__ import annotations

from branded.mypy.shapes.brands import map_leaves
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Fact,
    FollowedBrand,
    Function,
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
_COPIES = {"adagrad": 1, "adam": 2, "adamw": 2, "lamb": 2, "lion": 1, "rmsprop": 1}
_COPIES |= {"scale_by_adam": 2, "scale_by_lion": 1, "clip": 0, "clip_by_global_norm": 0, "identity": 0, "scale": 0}
"""For each optimizer, the number of pytrees in its state that have the shapes of the parameters."""
_UNCOUNTED = {"adagrad", "clip", "clip_by_global_norm", "identity", "rmsprop", "scale"}
"""Optimizers whose state does not count steps."""


def of_optim(run: FileState, name: str, given: Arguments) -> Fact:
    """Return the result of a function of `branded.optim`: an optimizer, a schedule, a solution, or new parameters."""
    first = given.positional[0] if given.positional else UNKNOWN
    if name in _OPTIMIZERS or name.startswith(("scale", "clip", "add_decayed")):
        return _optimizer(run, name, given)
    if name == "apply_updates":
        return _with_brands(first, brands_of(Tuple(tuple(given.all()))))
    if "schedule" in name or name == "exponential_decay":
        return Wrapped(lambda more: _rate(more.positional[0]) if more.positional else UNKNOWN)
    if name in _SOLVERS and (start := given.get(1, "x0")) is not None:
        return Mutable("object", {"x": start})
    return UNKNOWN


def _optimizer(run: FileState, name: str, given: Arguments) -> Fact:
    """Return an optimizer whose updates have the brands of its options."""
    parts = [v.items.get(_OPTIONS, UNKNOWN) for v in given.all() if isinstance(v, Mutable) and v.items is not None]
    brands = brands_of(Tuple((*given.all(), *parts)))

    def update(more: Arguments) -> Fact:
        gradients, state = more.get(0, "updates") or UNKNOWN, more.get(1, "state") or UNKNOWN
        found = brands | brands_of(Tuple(tuple(more.all())))
        return Tuple((_with_brands(gradients, found), _with_brands(state, found)))

    def init(more: Arguments) -> Fact:
        params = more.get(0, "params")
        return UNKNOWN if params is None or run.declared_only else _state(name, given, params)

    items: dict[object, Fact] = {"init": Wrapped(init), "update": Wrapped(update), _OPTIONS: Shaped(None, brands)}
    return Mutable("object", items)


def _state(name: str, given: Arguments, params: Fact) -> Fact:
    """Return the initial state of an optimizer: a step count, and tensors with the shapes of the parameters."""
    if name == "chain":
        inits = [v.items.get("init") if isinstance(v, Mutable) and v.items is not None else None for v in given.all()]
        return Tuple(tuple(f.call(Arguments([params])) if isinstance(f, Wrapped) else UNKNOWN for f in inits))
    if name == "sgd":
        has_momentum = given.get(1, "momentum") not in (None, NONE)
        is_scheduled = isinstance(given.get(0, "learning_rate"), Wrapped | Function)
        return Tuple((*([params] if has_momentum else []), *([Shaped(())] if is_scheduled else [])))
    copies = _COPIES.get(name)
    if copies is None:
        return UNKNOWN
    return Tuple((*([Shaped(())] if name not in _UNCOUNTED else []), *[params] * copies))


def _with_brands(value: Fact, brands: frozenset[FollowedBrand]) -> Fact:
    return map_leaves(value, lambda leaf: add_brands(leaf, brands))


def _rate(step: Fact) -> Fact:
    return Shaped(()) if is_number(step) else step
