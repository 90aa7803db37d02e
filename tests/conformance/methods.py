"""The public names of `Tensor`, each with a case, an error, or a reason why it is not per example."""

from __future__ import annotations

import ctypes
import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tinygrad import Context, Tensor, Variable, nn
from tinygrad.uop.ops import UOp

from branded.errors import (
    BrandedError,
    OperandError,
    RandomnessError,
    ReadError,
    ShapeError,
    UnsupportedError,
    WriteError,
)


def names() -> list[str]:
    """Return every public name of `Tensor`, and every special method that it or its mixins define."""
    public = {name for name in dir(Tensor) if not name.startswith("_")}
    special = {
        name
        for cls in Tensor.__mro__
        if cls is not object
        for name, value in vars(cls).items()
        if name.startswith("__") and (inspect.isfunction(value) or value is object.__hash__)
    }
    return sorted(public | special)


def layers() -> list[str]:
    """Return every public layer of `tinygrad.nn`; `BatchNorm2d` and `BatchNorm3d` are aliases of one layer."""
    return sorted(
        f"nn.{name}"
        for name, x in vars(nn).items()
        if name[0].isupper() and getattr(x, "__module__", "") == "tinygrad.nn" and x.__name__ == name
    )


@dataclass(frozen=True)
class Refusal:
    """A use that vmap rejects.

    Attributes:
        why: The reason, for the reader.
        error: The class of the error.
        call: A rejected call on a per-example tensor of shape (4,).
        when: The rejected use, if cases cover other uses.
    """

    why: str
    error: type[BrandedError]
    call: Callable[[Tensor], Any]
    when: str = "always"


SHARED = Tensor([1.0, 2.0, 3.0, 4.0]).realize()
SHARED_INTS = Tensor([1, 2, 3, 4]).realize()
NORM = nn.BatchNorm(4, affine=False)
SHARE = "into a shared tensor"
BOUND = Variable("frame", 0, 3).bind(2)
READ = "a value that differs from example to example has no single value to read"
DRAW = 'a random sample: needs `randomness="same"` or `"different"`'
WRITE = "a write into a tensor that all examples share"
LATER = "a hand-written kernel has no batching rule"
NUMPY = "a value that differs from example to example cannot be read by numpy"
IN_SHAPE = "a shape or an offset that differs from example to example"


def bound(name: str) -> Callable[[Tensor], Any]:
    return lambda x: getattr(x, name)()


def drawn(name: str, *args: Any) -> Callable[[Tensor], Any]:
    return lambda x: getattr(Tensor, name)(*args)


def number(name: str) -> Callable[[Tensor], Any]:
    return lambda x: getattr(x.sum(), name)()


def dropout(x: Tensor) -> Tensor:
    with Context(TRAINING=1):
        return x.dropout(0.5)


def trained_batch_norm(x: Tensor) -> Tensor:
    with Context(TRAINING=1):
        return NORM(x.reshape(1, 4))


def write(x: Tensor) -> None:
    SHARED[0] = x[0]


def in_place(name: str, shared: Tensor) -> Callable[[Tensor], Any]:
    return lambda x: getattr(operator, name)(shared, x.cast(shared.dtype) if name != "imatmul" else x.diag())


IN_PLACE = ("iadd", "isub", "imul", "itruediv", "ipow", "imatmul")
IN_PLACE_OF_INTS = ("iand", "ior", "ixor", "ilshift", "irshift", "ifloordiv")


def kernel(out: UOp) -> UOp:
    return out.sink()


REFUSED: dict[str, Refusal] = {
    **{name: Refusal(READ, ReadError, bound(name)) for name in (
        "numpy", "data", "tolist", "callify", "linear_with_vars", "schedule_linear")},
    "item": Refusal(READ, ReadError, number("item")),
    **{name: Refusal(READ, ReadError, number(name)) for name in (
        "__bool__", "__int__", "__float__", "__complex__", "__index__")},
    **{name: Refusal("use the method of Tensor: `round`, `trunc`", OperandError, number(name)) for name in (
        "__round__", "__trunc__")},
    "__format__": Refusal(READ, ReadError, lambda x: format(x.sum(), ".2f")),
    "__array_ufunc__": Refusal(NUMPY, OperandError, np.sin),
    "__array_function__": Refusal(NUMPY, OperandError, np.sum),
    "backward": Refusal(
        "`backward` stores into one tensor, and each example has its own gradient: use `gradient`",
        ReadError, number("backward")),
    "__iter__": Refusal("a 0-d value has no entries", ReadError, lambda x: list(x.sum()), "for a 0-d value"),
    **{name: Refusal(DRAW, RandomnessError, drawn(name, 2, 3)) for name in (
        "rand", "randn", "randint", "normal", "uniform", "scaled_uniform", "glorot_uniform", "kaiming_uniform",
        "kaiming_normal")},
    "randperm": Refusal(DRAW, RandomnessError, drawn("randperm", 3)),
    **{name: Refusal(DRAW, RandomnessError, bound(name)) for name in ("rand_like", "randn_like", "multinomial")},
    "dropout": Refusal(DRAW, RandomnessError, dropout, "in training"),
    "custom_kernel": Refusal(LATER, UnsupportedError, lambda x: x.custom_kernel(fxn=kernel)),
    "decode_hevc_frame": Refusal(LATER, UnsupportedError, lambda x: x.decode_hevc_frame(BOUND, (2, 2), x)),
    "nonzero": Refusal(IN_SHAPE, ShapeError, bound("nonzero"), "without a size"),
    "masked_select": Refusal(IN_SHAPE, ShapeError, lambda x: x.masked_select(x > 0), "without a size"),
    "__getitem__": Refusal(IN_SHAPE, ShapeError, lambda x: SHARED[: x[0].int()], "with a slice to a per-example value"),
    "__setitem__": Refusal(WRITE, WriteError, write, SHARE),
    "assign": Refusal(WRITE, WriteError, lambda x: SHARED.assign(x), SHARE),
    **{f"__{name}__": Refusal(WRITE, WriteError, in_place(name, SHARED), SHARE) for name in IN_PLACE},
    **{f"__{name}__": Refusal(WRITE, WriteError, in_place(name, SHARED_INTS), SHARE) for name in IN_PLACE_OF_INTS},
    "replace": Refusal(WRITE, WriteError, lambda x: SHARED.replace(x), SHARE),
    "nn.BatchNorm": Refusal(WRITE, WriteError, trained_batch_norm, "in training with running statistics"),
}  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """The reason why a name is not per example.

    Attributes:
        why: The reason.
        probe: A function of a tensor of shape (4,) with a plain result that is the same inside and outside vmap.
    """

    why: str
    probe: Callable[[Tensor], Any] | None = None


SHAPE = "a fact about the shape of one example"
DTYPE = "a fact about the dtype of one example"
MAKES = "makes an unbatched tensor, which broadcasts"
PYTHON = "of Python's object, not of its values"
FLOATS = (ctypes.c_float * 4)(1, 2, 3, 4)
FLOATS_AT = ctypes.addressof(FLOATS)

NOT_PER_EXAMPLE: dict[str, Fact] = {
    "shape": Fact(SHAPE, lambda x: x.shape),
    "max_shape": Fact(SHAPE, lambda x: x.max_shape),
    "ndim": Fact(SHAPE, lambda x: x.ndim),
    "size": Fact(SHAPE, lambda x: (x.size(), x.size(0))),
    "numel": Fact(SHAPE, lambda x: x.numel()),
    "max_numel": Fact(SHAPE, lambda x: x.max_numel()),
    "__len__": Fact(SHAPE, len),
    "nbytes": Fact(SHAPE, lambda x: x.nbytes()),
    "element_size": Fact(DTYPE, lambda x: x.element_size()),
    "dtype": Fact(DTYPE, lambda x: x.dtype),
    "is_floating_point": Fact(DTYPE, lambda x: (x.is_floating_point(), x.int().is_floating_point())),
    "device": Fact("where the values are", lambda x: x.device),
    "uop": Fact("the graph itself; its open `RANGE`s are the brands", lambda x: x.uop.shape),
    "grad": Fact("filled by `backward`, which raises an error", lambda x: x.grad),
    "is_param": Fact("a mark for optimizers", lambda x: x.is_param),
    "is_param_": Fact("sets the mark for optimizers", lambda x: (x * 1).is_param_(False).is_param),
    "arange": Fact(MAKES, lambda x: Tensor.arange(1, 7, 2).tolist()),
    "linspace": Fact(MAKES, lambda x: Tensor.linspace(0, 1, 3).tolist()),
    "eye": Fact(MAKES, lambda x: Tensor.eye(2, 3).tolist()),
    "full": Fact(MAKES, lambda x: Tensor.full((2, 2), 7).tolist()),
    "ones": Fact(MAKES, lambda x: Tensor.ones(2).tolist()),
    "const": Fact(MAKES, lambda x: Tensor.const(2.5).item()),
    "invalids": Fact("creates a tensor of undefined values", lambda x: Tensor.invalids(2, 3).shape),
    "from_blob": Fact("creates a tensor over existing memory", lambda x: Tensor.from_blob(FLOATS_AT, (4,)).tolist()),
    "from_url": Fact("reads a file or the network", lambda x: Tensor.from_url(__file__).nbytes()),
    "manual_seed": Fact("sets the seed of all samples", lambda x: Tensor.manual_seed(3)),
    "__init__": Fact(MAKES, lambda x: (Tensor([1, 2]).tolist(), Tensor(3).item())),
    "__del__": Fact(PYTHON),
    "__hash__": Fact(PYTHON, lambda x: hash(x) == id(x)),
    "__repr__": Fact("prints the brands and the type of one example"),
    "__delitem__": Fact("tinygrad raises an error for every tensor", lambda x: refusal(lambda: x.__delitem__(0))),
}  # fmt: skip


def refusal(f: Callable[[], Any]) -> str:
    try:
        f()
    except TypeError as error:
        return str(error)
    return "accepted"
