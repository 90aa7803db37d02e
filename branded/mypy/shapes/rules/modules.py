"""Rules for modules of tinygrad: the shapes of their tensors, and calls with the tensors of a state dict."""

from __future__ import annotations

from mypy.nodes import Context
from mypy.types import Type

from branded.mypy.axes.types import known_length
from branded.mypy.codes import SHAPE
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.shapes.axes import axis_of_value, format_axes, shape_of
from branded.mypy.shapes.rules.resized import convolution
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    Fact,
    Function,
    LibraryName,
    Mutable,
    Shaped,
    Tuple,
    Wrapped,
    add_brands,
    as_number,
    brands_of,
    is_number,
    items_of,
)

_AFFINE = {"affine", "elementwise_affine", "track_running_stats"}
_STATISTICS = ("running_mean", "running_var")
LAYERS = ("Linear", "LayerNorm", "RMSNorm", "BatchNorm", "GroupNorm", "Embedding", "Conv1d", "Conv2d")
"""The classes of `tinygrad.nn` whose tensors have known shapes."""
WITH_SAMPLES = {"Linear", "Embedding", "Conv1d", "Conv2d", "ConvTranspose1d", "ConvTranspose2d", "LSTMCell"}
"""The classes of `tinygrad.nn` that draw their weights."""


def layer(run: FileState, name: str, given: Arguments) -> Fact:
    """Return the value of a new layer of `tinygrad.nn`, with its tensors."""
    first, second = given.get(0, _FIRST[name]), given.get(1, _SECOND.get(name, ""))
    if not given.exact or first is None or run.declared_only:
        return UNKNOWN
    if name in ("Conv1d", "Conv2d"):
        return _convolution(run, given, 1 if name == "Conv1d" else 2)
    one = shape_of(run, [first]).axes
    vector = Shaped(one)
    match name:
        case "Linear" | "Embedding":
            rows, columns = (axis_of_value(run, v) if v is not None else ANY_AXIS for v in (first, second))
            if name == "Embedding":
                return Mutable(name, {"weight": Shaped((rows, columns))})
            bias = given.get(2, "bias") or Const(True)
            has_bias = bias.value if isinstance(bias, Const) else None
            kept = Shaped((columns,)) if has_bias else NONE if has_bias is not None else UNKNOWN
            return Mutable(name, {"weight": Shaped((columns, rows)), "bias": kept})
        case "RMSNorm":
            return Mutable(name, {"weight": vector}) if len(given.positional) + len(given.keywords) == 1 else UNKNOWN
        case "GroupNorm":
            vector = shape_of(run, [second]) if second is not None else Shaped()
    if len(given.positional) > 2 or given.keywords.keys() & _AFFINE:
        return UNKNOWN
    items: dict[object, Fact] = {"weight": vector, "bias": vector}
    if name == "BatchNorm":
        items |= {**dict.fromkeys(_STATISTICS, vector), "num_batches_tracked": Shaped(())}
    return Mutable(name, items)


_FIRST = {"Linear": "in_features", "Embedding": "vocab_size", "LayerNorm": "normalized_shape", "RMSNorm": "dim"}
_FIRST |= {"BatchNorm": "sz", "GroupNorm": "num_groups"}
_FIRST |= {"Conv1d": "in_channels", "Conv2d": "in_channels"}
_SECOND = {"Linear": "out_features", "Embedding": "embed_size", "GroupNorm": "num_channels"}


_SETTINGS = ("bias", "groups", "stride", "dilation", "padding")
"""The attributes of a convolution, in the order of the arguments of `Tensor.conv2d`."""


def _convolution(run: FileState, given: Arguments, rank: int) -> Fact:
    """Return the value of a new convolution: its tensors, and the settings that determine the shape of its output."""
    channels, out, size = given.get(0, "in_channels"), given.get(1, "out_channels"), given.get(2, "kernel_size")
    padding, bias = given.get(4, "padding") or Const(0), given.get(7, "bias") or Const(True)
    is_text = isinstance(padding, Const) and isinstance(padding.value, str)
    settings = {
        "stride": given.get(3, "stride"),
        "dilation": given.get(5, "dilation"),
        "groups": given.get(6, "groups"),
    }
    groups, n = as_number(settings["groups"] or Const(1)), as_number(channels)
    if out is None or size is None or not isinstance(bias, Const):
        return UNKNOWN
    windows = items_of(size) or [size] * rank
    inner = run.length(n // groups) if n is not None and groups else ANY_AXIS
    outer = axis_of_value(run, out)
    items: dict[object, Fact] = {k: Const(1) if v is None else v for k, v in settings.items()}
    items |= {"weight": Shaped((outer, inner, *(axis_of_value(run, w) for w in windows)))}
    items |= {"bias": Shaped((outer,)) if bias.value else NONE, "padding": UNKNOWN if is_text else padding}
    return Mutable("Conv2d", items)


def call_layer(run: FileState, owner: Mutable, x: Fact, at: Context) -> Fact:
    """Return the output of a layer for an input."""
    held = owner.items or {}
    weight, brands = held.get("weight", UNKNOWN), brands_of(Tuple((x, *held.values())))
    axes, known = (v.axes if isinstance(v, Shaped) else None for v in (x, weight))
    if axes is None or (owner.kind in ("Linear", "Embedding") and (known is None or len(known) != 2)):
        return Shaped(None, brands)
    if owner.kind == "Conv2d":
        settings = Arguments([weight, *(held.get(k, UNKNOWN) for k in _SETTINGS)])
        return add_brands(convolution(run, axes, known, settings, at) if known is not None else Shaped(), brands)
    if owner.kind == "Linear" and known is not None:
        n, wanted = known_length(axes[-1]) if axes else None, known_length(known[1])
        if n is not None and wanted is not None and n != wanted:
            wrong = f"Linear: the input has {n} features, and the layer wants {wanted}"
            run.report(at, SHAPE, wrong, f"given: shape {format_axes(axes)}")
            return Shaped(None, brands)
        return Shaped((*axes[:-1], known[0]) if axes else None, brands)
    return Shaped((*axes, known[1]) if owner.kind == "Embedding" and known is not None else axes, brands)


# ---- states ----


def state_dict(value: Fact, prefix: str = "") -> dict[str, Fact] | None:
    """Return the tensors of an object by name, as `get_state_dict` does; None if they are unknown."""
    if isinstance(value, Shaped):
        return {prefix: value}
    if isinstance(value, Const | Function | LibraryName | Wrapped) or is_number(value):
        return {}
    children: dict[object, Fact] | None = None
    if isinstance(value, Mutable):
        children = value.items
    elif (items := items_of(value)) is not None:
        children = dict(enumerate(items))
    if children is None:
        return None
    found: dict[str, Fact] = {}
    for name, child in children.items():
        inner = state_dict(child, _below(prefix, name))
        if inner is None:
            return None
        found |= inner
    return found


def get_state_dict(given: Arguments) -> Fact:
    found = state_dict(given.positional[0]) if len(given.positional) == 1 and given.exact else None
    return Mutable("dict", None if found is None else dict(found.items()))


def stack_module_state(run: FileState, given: Arguments) -> Fact:
    """Return the tensors of modules of one class, stacked along a new first axis."""
    modules = run.iterate(given.get(0, "modules") or UNKNOWN)
    every = modules if isinstance(modules, list) else [modules] if modules is not None else []
    states = [state_dict(m) for m in every]
    known = [s for s in states if s is not None]
    if not known or len(known) != len(states) or any(s.keys() != known[0].keys() for s in known):
        return Mutable("dict", None)
    n = run.length(len(every)) if isinstance(modules, list) else ANY_AXIS
    return Mutable("dict", {k: _stack(n, [s[k] for s in known]) for k in known[0]})


def _stack(n: Type, each: list[Fact]) -> Fact:
    first = each[0].axes if isinstance(each[0], Shaped) else None
    return Shaped((n, *first) if first is not None and all(x == each[0] for x in each) else None)


def functional_call(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the result of `functional_call(module, state, ...)`."""
    if len(given.positional) < 2 or not given.exact:
        return UNKNOWN
    module, state, *args = given.positional
    mutable = given.keywords.get("mutable", Const(False))
    names = state_dict(module)
    held = state.items if isinstance(state, Mutable) and state.kind == "dict" else None
    if not isinstance(module, Mutable) or names is None:
        return UNKNOWN
    replaced = _with_state(module, "", held)
    keywords = {k: v for k, v in given.keywords.items() if k != "mutable"}
    result = run.call(replaced, Arguments(args, keywords), at)
    return result if mutable == Const(False) else Tuple((result, UNKNOWN))


def _with_state(value: Fact, prefix: str, state: dict[object, Fact] | None) -> Fact:
    """Return a copy of a module with the tensors of a state; if the state is unknown, so are their shapes."""
    if isinstance(value, Shaped):
        return Shaped() if state is None else state.get(prefix, value)
    if isinstance(value, Tuple):
        return Tuple(tuple(_with_state(v, _below(prefix, i), state) for i, v in enumerate(value.items)))
    if isinstance(value, Mutable) and value.items is not None:
        items = {k: _with_state(v, _below(prefix, k), state) for k, v in value.items.items()}
        return value.with_items(items)
    return value


def _below(prefix: str, name: object) -> str:
    return f"{prefix}.{name}" if prefix else str(name)
