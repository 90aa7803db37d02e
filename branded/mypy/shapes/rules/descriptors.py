"""Attributes that a class computes: properties with setters, descriptors, and `__getattr__`."""

from __future__ import annotations

from mypy.nodes import Context, Decorator, FuncDef, OverloadedFuncDef, SymbolNode, Var
from mypy.types import Instance, get_proper_type

from branded.mypy.shapes.rules.special_methods import first_special
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import UNKNOWN, Arguments, Class, Const, Fact, Function, Mutable


def _descriptor(run: FileState, owner: Mutable, name: str) -> tuple[Mutable, bool] | None:
    """Return the descriptor that a class has for an attribute, and whether it also sets the attribute."""
    symbol = owner.info.get(name) if owner.info is not None else None
    node = symbol.node if symbol is not None else None
    t = get_proper_type(node.type) if isinstance(node, Var) and node.is_initialized_in_class else None
    if not isinstance(t, Instance) or not any(t.type.get(method) for method in ("__get__", "__set__")):
        return None
    value = run.class_value(node, is_descriptor=True)
    return (value, t.type.get("__set__") is not None) if isinstance(value, Mutable) else None


def read(run: FileState, owner: Mutable, name: str, at: Context) -> Fact | None:
    """Return an attribute that a descriptor of the class computes; None if there is none."""
    found = _descriptor(run, owner, name)
    if found is None or owner.info is None or (not found[1] and name in (owner.items or {})):
        return None
    return run.special(found[0], "__get__", [owner, Class(owner.info)], at)


def write(run: FileState, owner: Mutable, name: str, value: Fact, at: Context) -> bool:
    """Call the setter of a property, or the descriptor, that an assignment to an attribute runs."""
    symbol = owner.info.get(name) if owner.info is not None else None
    if (setter := _setter(symbol.node if symbol is not None else None)) is not None:
        f = run.body_of(setter)
        if f is not None:
            run.call_function(Function(f.node, f.frame, (owner,)), Arguments([value]), at)
        return True
    found = _descriptor(run, owner, name)
    return found is not None and first_special(run, found[0], ["__set__"], at, [owner, value]) is not None


def _setter(node: SymbolNode | None) -> FuncDef | None:
    if not isinstance(node, OverloadedFuncDef) or not node.is_property:
        return None
    setters = (f for f in node.items[1:] if isinstance(f, Decorator))
    return next((f.func for f in setters if any(getattr(d, "name", "") == "setter" for d in f.decorators)), None)


def missing(run: FileState, owner: Mutable, name: str, at: Context) -> Fact:
    """Return the attribute that `__getattr__` computes."""
    if name.startswith("__") or owner.items is None:
        return UNKNOWN
    result = run.special(owner, "__getattr__", [Const(name)], at)
    return UNKNOWN if result is None else result
