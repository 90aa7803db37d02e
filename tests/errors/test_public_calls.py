"""Calls of public functions with arguments that the functions do not have: no error is Python's own."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
from tinygrad import Tensor

import branded
from branded import ShapeDtypeStruct, brand, custom_jvp, debug, lift, optim, tree, vmap
from branded.errors import BrandedError, CallError

MODULES = ("dask", "debug", "functions", "linalg", "optim", "random", "tree")


def public_functions() -> dict[str, Callable[..., Any]]:
    modules = {name: getattr(branded, name, None) or importlib.import_module(f"branded.{name}") for name in MODULES}
    names = {"branded": branded, **modules}
    found = {f"{m}.{name}": getattr(module, name) for m, module in names.items() for name in module.__all__}
    return {name: f for name, f in found.items() if isinstance(f, FunctionType) or name.split(".")[1].islower()}


FUNCTIONS = {name: f for name, f in public_functions().items() if callable(f)}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kwargs", [{}, {"no_such_option": 1}], ids=["too many", "unknown"])
def test_error_of_a_call_is_not_pythons_own(name: str, kwargs: dict[str, int]) -> None:
    with pytest.raises(BrandedError):
        FUNCTIONS[name](*[3] * (3 if kwargs else 30), **kwargs)


MESSAGES: dict[str, tuple[Callable[[], object], str]] = {
    "too many": (
        lambda: vmap(abs, 0, 0, "i"),  # type: ignore[call-overload]
        """\
vmap: too many positional arguments
  parameters: f, in_axes, out_axes, *, axis_name, axis_size, chunk_size, randomness, memory_limit, progress, save, \
devices, strict
  try:        pass options by keyword: axis_name=...""",
    ),
    "an option of torch": (
        lambda: brand("users", 3, rng="same"),  # type: ignore[call-overload]
        """\
brand: got an unexpected keyword argument 'rng'
  parameters: name, size, *, randomness""",
    ),
    "a function of a module": (
        lambda: tree.map(abs, [1], is_lef=bool),  # type: ignore[call-arg]
        """\
tree.map: got an unexpected keyword argument 'is_lef'
  parameters: f, tree, *rest, is_leaf""",
    ),
    "no text": (
        lambda: debug.print(x=3),  # type: ignore[call-arg]
        """\
debug.print: missing a required argument: 'fmt'
  parameters: fmt, /, *args, ordered, **kwargs""",
    ),
    "an unknown name for a parameter": (
        lambda: optim.adam(lr=0.1),  # type: ignore[call-arg]
        """\
adam: got an unexpected keyword argument 'lr'
  parameters: learning_rate, b1, b2, eps, eps_root, mu_dtype, *, nesterov""",
    ),
    "a function that a function returns": (
        lambda: optim.adam(0.1).update(Tensor([1.0])),  # type: ignore[call-arg]
        """\
update: missing a required argument: 'state'
  parameters: updates, state, params""",
    ),
    "a class": (
        lambda: ShapeDtypeStruct((1,), "float32", None),  # type: ignore[call-arg]
        """\
ShapeDtypeStruct: too many positional arguments
  parameters: shape, dtype""",
    ),
    "a method": (
        lambda: custom_jvp(abs).defjvp(),  # type: ignore[call-arg]
        """\
custom_jvp.defjvp: missing a required argument: 'jvp'
  parameters: jvp""",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_message_lists_the_parameters(name: str) -> None:
    call, message = MESSAGES[name]
    with pytest.raises(CallError) as raised:
        call()
    assert str(raised.value) == message


def test_errors_of_a_users_function_are_unchanged() -> None:
    """The function that `lift` returns has the name and signature of the user's, and passes its errors on."""

    @functools.wraps(abs)
    def add_one(x: Tensor, y: Tensor) -> Tensor:
        return x + len(3)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="has no len") as raised:
        lift(add_one)(Tensor([1.0]), Tensor([2.0]))
    assert not isinstance(raised.value, BrandedError)
