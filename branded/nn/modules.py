"""Modules as functions of their state: `functional_call`, and ensembles of modules: `stack_module_state`.

A module is any object that holds tensors where `tinygrad.nn.state` looks for them: in attributes, lists, tuples, dicts,
and objects in these. Its state is the dict returned by `tinygrad.nn.state.get_state_dict`. It contains both learned
parameters and buffers (the running statistics of a BatchNorm); `Tensor.is_param` distinguishes them.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, ParamSpec, Protocol, overload

from tinygrad import Tensor
from tinygrad.nn.state import get_state_dict

from branded import tree
from branded.core.brand import S, S1, T
from branded.core.entry import entry
from branded.core.validation.arguments import call_checked
from branded.core.values import vec_type
from branded.errors import StateError, StateTypeError, WriteError
from branded.graph.rows import check_live
from branded.graph.tags import is_storage, new_storage
from branded.graph.uops import tensor
from branded.nn.same_kind import check_alike
from branded.nn.stateless import with_others
from branded.tinygrad_compat.lazy_numpy import np
from branded.vec import Vec

P = ParamSpec("P")


class _Layer(Protocol):
    """A module whose result varies over the same brands as its input, like the modules of `tinygrad.nn`."""

    def __call__(self, x: Vec[S], /) -> Vec[S]: ...


@overload
def functional_call(module: _Layer, state: Mapping[str, Vec[S]], x: Vec[S1], /) -> Vec[S | S1]: ...
@overload
def functional_call(
    module: Callable[P, Vec[S1, T]], state: Mapping[str, Vec[S]], /, *args: P.args, **kwargs: P.kwargs
) -> Vec[S | S1, T]: ...
@overload
def functional_call(
    module: Callable[..., Any],
    state: Mapping[str, Any],
    /,
    *args: Any,
    mutable: Literal[True] | str | Sequence[str],
    **kwargs: Any,
) -> tuple[Any, dict[str, Any]]: ...
@overload
def functional_call(module: Callable[..., Any], state: Mapping[str, Any], /, *args: Any, **kwargs: Any) -> Any: ...
@entry
def functional_call(
    module: Callable[..., Any], state: Mapping[str, Any], /, *args: Any, mutable: Any = False, **kwargs: Any
) -> Any:
    """Call `module(x)` with the tensors of `state` instead of the module's own.

    The module is restored afterwards, even if the call raises: changes of its attributes, lists, dicts and tensors are
    undone. With `mutable` the new values are returned: a KV cache, or the statistics of a BatchNorm in training.
    Without `mutable`, a write into a tensor that was given by `state` changes that tensor, so the caller sees it and
    can return it. No weights are copied.

    Args:
        module: A callable object with tensors.
        state: Tensors by name, as in `get_state_dict(module)`, with the shapes of the module's own tensors. The
            module's own tensor is used for a missing name. A tensor with two names in the module may be given by
            either.
        args: The arguments of the call.
        mutable: The tensors of the module that the call may write, and that it returns: True for all, or names, in
            which `*` matches any text. `state` then stays unchanged. A tensor that the call creates in the module is
            returned too. The next call accepts it in `state` if `mutable` names it.
        kwargs: The keyword arguments of the call.

    Returns:
        The result of the call, which varies over the brands of `state` and the arguments. With `mutable`, a pair of
        that result and a dict of the mutable tensors by name, with their values after the call.

    Raises:
        StateTypeError: `module` cannot be called, or `state` is not a dict of tensors.
        StateError: A name is not in the module, a tensor has another shape, or one tensor is given two values.
        UnsupportedError: A `__call__` in the module is a TinyJit, which has captured the module's own tensors.
        WriteError: Under vmap, the call writes into an unbatched tensor of `state`; or it writes into a tensor that
            `mutable` does not name.

    Example:
        >>> from branded import vmap
        >>> from branded.nn.modules import functional_call, stack_module_state
        >>> from tinygrad import Tensor, nn
        >>> models, x = [nn.Linear(4, 2) for _ in range(3)], Tensor.ones(4)
        >>> ensemble = vmap(lambda s, x: functional_call(models[0], s, x), in_axes=(0, None))
        >>> ensemble(stack_module_state(models), x).shape
        (3, 2)

    Source: `torch.func.functional_call`, which may change tensors that are not in `state`.
    """
    if not callable(module):
        raise StateTypeError(
            f"functional_call: {tree.describe(module)} cannot be called", fix="pass a module, then its state"
        )
    tensors = _tensor_names(module, "functional_call")
    wanted = _mutable_patterns(mutable)
    created = _created_tensors(module, tensors, state, wanted) if wanted else []
    used_state = {name: x for name, x in state.items() if not any(name == n for n, *_ in created)} if created else state
    values = _values(tensors, used_state)
    held = {i: tensor(new_storage(x.uop)).is_param_(x.is_param) for i, x in values.items()}
    before = {i: x.uop.arg for i, x in held.items()}
    after: dict[str, Tensor] = {}

    def call() -> Any:
        for name, holder, key in created:
            setattr(holder, key, tensor(new_storage(state[name].uop)))
        out = call_checked(module, args, kwargs, "functional_call", "the arguments of the module, behind its state")
        after.update(_tensor_names(module, "functional_call") if wanted else {})
        return out

    out = with_others(module, held, call)
    changed = {i for i, x in held.items() if x.uop.arg is not before[i]}
    writes = {
        name: (x, held[id(tensors[name])])
        for name, x in used_state.items()
        if id(tensors[name]) in changed and id(x) not in values
    }
    if not wanted:
        for name, (x, new) in writes.items():
            _write(x, new, name)
        return out
    _check_mutable(writes, wanted)
    same = {id(held[i]): x for i, x in values.items() if i not in changed}
    return out, {
        name: same[id(x)] if id(x) in same else _without_storage(x)
        for name, x in after.items()
        if _matches(name, wanted)
    }


def _mutable_patterns(mutable: Any) -> list[str]:
    """Return the patterns of the names that may be written."""
    if isinstance(mutable, bool):
        return ["*"] if mutable else []
    names = [mutable] if isinstance(mutable, str) else mutable
    if not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
        raise StateTypeError(
            f"functional_call: mutable={mutable!r} is not a pattern of names",
            fix='mutable=True, "*.cache", or a list of names',
        )
    return list(names)


def _check_mutable(writes: Mapping[str, tuple[Tensor, Tensor]], wanted: Sequence[str]) -> None:
    """Raise if the call writes into a tensor that `mutable` does not name."""
    for name, (x, new) in writes.items():
        if not _matches(name, wanted):
            raise WriteError(
                f"functional_call: the call writes into `{name}`, which `mutable` does not name",
                ("state", vec_type(x)),
                ("written", vec_type(new)),
                fix=f"mutable={[*wanted, name]!r}; or leave it out of the state to discard the write",
            )


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, p) for p in patterns)


def _created_tensors(
    module: object, tensors: Mapping[str, Tensor], state: object, wanted: Sequence[str]
) -> list[tuple[str, Any, str]]:
    """Return the tensors that a previous call created in the module, each with its name, holder and key."""
    if not isinstance(state, Mapping):
        return []
    created = []
    for name, x in state.items():
        if name in tensors or not isinstance(x, Tensor) or not _matches(name, [p for p in wanted if p != "*"]):
            continue
        *path, key = str(name).split(".")
        holder: Any = module
        for step in path:
            parts = dict(enumerate(holder)) if isinstance(holder, list | tuple) else getattr(holder, "__dict__", holder)
            holder = parts.get(int(step) if isinstance(holder, list | tuple) and step.isdigit() else step)
        if hasattr(holder, "__dict__") and not hasattr(holder, key):
            check_live(x.uop, f"functional_call: `{name}`")
            created.append((name, holder, key))
    return created


def _without_storage(x: Tensor) -> Tensor:
    """Return a tensor of a module without the storage that the module writes into."""
    u = x.uop
    return tensor(u.src[0]).is_param_(x.is_param) if is_storage(u) else x


def _write(x: Tensor, new: Tensor, name: str) -> None:
    try:
        x.replace(new)
    except WriteError:
        raise WriteError(
            f"functional_call: the call writes into `{name}`, which all examples share",
            ("state", vec_type(x)),
            ("written", vec_type(new)),
            fix="map over it, or leave it out of the state to discard the write",
        ) from None


def _tensor_names(module: object, api_name: str) -> dict[str, Tensor]:
    try:
        return get_state_dict(module)
    except RecursionError:
        raise StateError(
            f"{api_name}: {tree.describe(module)} contains itself, so its tensors have endless names",
            fix="use a module that does not contain its own parent",
        ) from None


def _values(tensors: dict[str, Tensor], state: Mapping[str, Any]) -> dict[int, Tensor]:
    """Map the identity of each tensor of the module to the tensor to use instead."""
    if not isinstance(state, Mapping):
        raise StateTypeError(
            f"functional_call: the state is {tree.describe(state)}",
            fix="pass a dict of tensors: get_state_dict(module) or stack_module_state(modules)",
        )
    values = {id(t): t for t in tensors.values()}
    by: dict[int, str] = {}
    for name, x in state.items():
        if name not in tensors:
            raise StateError(
                f"functional_call: the module has no tensor `{name}`",
                ("names", _list_names(tensors)),
                fix=f"use `{close[0]}`"
                if (close := difflib.get_close_matches(str(name), tensors, 1))
                else "use the names of get_state_dict(module)",
            )
        if not isinstance(x, Tensor):
            raise StateTypeError(
                f"functional_call: `{name}` is {tree.describe(x)}",
                fix="pass Tensor(...) of the value, which can be written",
            )
        check_live(x.uop, f"functional_call: `{name}`")
        mine = tensors[name]
        if x.shape != mine.shape:
            raise StateError(
                f"functional_call: `{name}` has another shape than in the module",
                ("state", vec_type(x)),
                ("module", vec_type(mine)),
                fix="use vmap over the state" if x.shape[1:] == mine.shape else f"pass a tensor of shape {mine.shape}",
            )
        first = by.setdefault(id(mine), name)
        if first != name and x.uop is not state[first].uop:
            raise StateError(
                f"functional_call: `{first}` and `{name}` are the same tensor in the module, but two in the state",
                fix="keep one of the names, or use the same tensor for both",
            )
        values[id(mine)] = x
    return values


def _list_names(names: Mapping[str, object]) -> str:
    first = ", ".join(list(names)[:8])
    return f"{first}, … ({len(names)} in all)" if len(names) > 8 else first or "none"


@entry
def stack_module_state(modules: Sequence[object]) -> dict[str, Tensor]:
    """Stack the states of many modules of one kind, to map over them: `state[name][i]` belongs to `modules[i]`.

    Args:
        modules: Objects of one class, with tensors of the same names, shapes and dtypes. Their numbers and functions
            must be equal: they are not stacked, and the called module's own are used for all.

    Returns:
        A dict from the names of `get_state_dict` to `T[len(modules), ...]`. It contains both parameters and buffers,
        which `is_param` distinguishes as in the modules. Like any tinygrad `stack`, it is computed on first use:
        realize it before you train the modules themselves.

    Raises:
        StateTypeError: `modules` is not a list or tuple of modules.
        StateError: The list is empty, or the modules differ: in their class, in the name, shape or dtype of a tensor,
            in their tied tensors, or in a number or a function.

    Example:
        >>> from branded.nn.modules import stack_module_state
        >>> from tinygrad import nn
        >>> state = stack_module_state([nn.Linear(4, 2), nn.Linear(4, 2), nn.Linear(4, 2)])
        >>> {name: x.shape for name, x in state.items()}
        {'weight': (3, 2, 4), 'bias': (3, 2)}

    Source: `torch.func.stack_module_state`, which gives parameters and buffers apart.
    """
    if not isinstance(modules, tuple | list):
        raise StateTypeError(
            f"stack_module_state: {tree.describe(modules)} is not a list of modules", fix="pass a list: [m1, m2, m3]"
        )
    if not modules:
        raise StateError("stack_module_state: there are no modules", fix="pass a list with at least one module")
    for m in modules:
        if m is None or isinstance(m, int | float | complex | str | bytes | np.ndarray | np.generic):
            raise StateTypeError(
                f"stack_module_state: {tree.describe(m)} is not a module",
                fix="pass objects whose attributes are tensors",
            )
    states = [_tensor_names(m, "stack_module_state") for m in modules]
    for i in range(1, len(modules)):
        check_alike(modules, states, i)
    stacked: dict[int, Tensor] = {}  # keyed by the first module's tensor, so that tied tensors stay tied
    for name, x in states[0].items():
        if id(x) not in stacked:
            stacked[id(x)] = x.stack(*(s[name] for s in states[1:])).is_param_(x.is_param)
    return {name: stacked[id(x)] for name, x in states[0].items()}
