"""The devices that hold a brand's examples, and the distribution of a value over them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from tinygrad import Context, Device, Tensor
from tinygrad.uop.ops import UOp

from branded.errors import OptionError, examples
from branded.errors.calls import check_calls
from branded.graph.scope import Scope
from branded.graph.uops import on_device, tensor
from branded.tinygrad_compat.context_stack import ContextStack
from branded.tinygrad_compat.private_api import canonicalize_device
from branded.tree import short_repr

Devices = tuple[str, ...]


_where: ContextStack[tuple[str, Devices]] = ContextStack("branded_shards")


@check_calls
def shard(name: str | type, devices: str | Sequence[str]) -> AbstractContextManager[Any]:
    """Distribute the examples of a brand over several devices within the `with` block, wherever the brand is opened.

    `with shard(Users, devices):` is equivalent to `devices=devices` in each `vmap(..., axis_name=Users)`.  It also
    applies to `with brand(Users, n)`, which has no such argument.

    Args:
        name: The brand: a string, or a subclass of `Brand`.
        devices: tinygrad's names of the devices: `("CUDA:0", "CUDA:1")`.

    Returns:
        A context manager.

    Raises:
        OptionError: A device does not exist or is named twice.  Also raised when a `brand` is opened whose examples
            cannot be divided evenly among the devices.

    Example:
        >>> from branded import Brand, psum, shard, vmap
        >>> from tinygrad import Tensor
        >>> class Users(Brand): ...
        >>> with shard(Users, ("CPU:0", "CPU:1")):
        ...     y = vmap(lambda x: x / psum(x, Users), axis_name=Users)(Tensor([1.0, 2.0, 3.0, 4.0]))
        >>> y.device, y.tolist()
        (('CPU', 'CPU:1'), [0.10000000149011612, 0.20000000298023224, 0.30000001192092896, 0.4000000059604645])

    Source: `jax.sharding`, where a mesh names its axes; tinygrad's `Tensor.shard`.
    """
    text: object = name
    if isinstance(name, type) and issubclass(name, Scope) and name.is_brand and Scope not in name.__bases__:
        text = name.__name__  # `Brand` itself is every brand
    if not (isinstance(text, str) and text):
        raise OptionError(f"shard: {short_repr(name)} is not a name", fix="pass a string, or a subclass of Brand")
    return _where.during((text, as_devices(devices, "shard")))


def devices_of(name: object) -> Devices:
    """Return the devices that `shard` set for a brand, given its class or name; empty if none were set."""
    text = name.__name__ if isinstance(name, type) else name if isinstance(name, str) else None
    return next((devices for n, devices in reversed(_where.get()) if n == text), ())


def as_devices(devices: Any, api_name: str) -> Devices:
    """Return the full names of the devices, after checking that each one can be opened."""
    specs = [devices] if isinstance(devices, str) else devices
    if not isinstance(specs, list | tuple) or not specs or not all(isinstance(d, str) for d in specs):
        raise OptionError(
            f"{api_name}: devices={short_repr(devices)} names no devices", fix='devices=("CUDA:0", "CUDA:1")'
        )
    names = tuple(str(canonicalize_device(d)) for d in specs)
    for d in names:
        if names.count(d) > 1:
            raise OptionError(f"{api_name}: the device {d} is named twice", fix="name each device once")
        try:
            if not re.fullmatch(r"\w+(:\d+)*", d):
                raise ValueError("a name of a device is like CUDA:1")
            # the body of a @function computes nothing, and may name devices
            with Context(ALLOW_DEVICE_USAGE=1):  # type: ignore[no-untyped-call]
                Device[d]
        except Exception as error:
            message = f"{type(error).__name__}: {error}".split("\n")[0]
            raise OptionError(
                f"{api_name}: the device {d} cannot be opened", ("reason", message), fix="use a device of this machine"
            ) from error
    return names


def evenly(size: int, devices: Devices, api_name: str) -> Devices:
    """Return the devices; raise unless each one gets the same number of examples."""
    if devices and size % (n := len(devices)):
        raise OptionError(
            f"{api_name}: {examples(size)} cannot be divided evenly among {n} devices",
            fix=f"{even_sizes(size, n)}, or use fewer devices",
        )
    return devices


def even_sizes(size: int, devices: int) -> str:
    """Return, for a message, the nearest batch sizes that can be divided evenly."""
    rest = size % devices
    return f"{size - rest} or {size - rest + devices} examples"


def home_of(b: Scope) -> str:
    """Return the device for which the body of a sharded brand is traced."""
    return b.home or b.devices[0]


def home_of_values(us: Sequence[UOp]) -> str:
    """Return the device of these values, or the first of several devices, for an operation that runs on one device."""
    devices = [d for u in us if (d := u.device) is not None]
    first = next((d for d in devices if isinstance(d, str)), devices[0])
    return first if isinstance(first, str) else str(first[0])


def shard_examples(x: Tensor, b: Scope, axis: int) -> Tensor:
    """Return `x` with its examples on the devices of the brand."""
    devices = b.devices
    if not b.home:
        b.home = x.device if isinstance(x.device, str) else devices[0]
    if len(devices) > 1 and x.device == devices and x.uop.axis == axis:
        return x
    on_one = tensor(on_device(x.uop, devices[0])) if x.device is None else x
    return on_one.to(devices[0]) if len(devices) == 1 else to_first_device(on_one).shard(devices, axis)


def to_first_device(x: Tensor) -> Tensor:
    return x.to(x.device[0]) if isinstance(x.device, tuple) else x
