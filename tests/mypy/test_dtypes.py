"""The dtypes that the plugin derives are those of tinygrad."""

from __future__ import annotations

import itertools

import pytest
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from branded.mypy.shapes.rules.dtypes import RULES, result_dtype
from branded.mypy.shapes.values import Const, Shaped

VALUES = {"bool": Tensor([[True, False]] * 2), "int": Tensor([[1, 0]] * 2), "float": Tensor([[0.5, 1.0]] * 2)}
VALUES["weakint"] = Tensor(1).expand(2, 2)
NAMES = sorted({name for rule in RULES.values() for name in rule.split()})
OPERATORS = {"truediv", "floordiv", "and", "or", "xor", "invert", "neg", "lt", "le", "gt", "ge", "matmul", "getitem"}
ARGUMENTS: dict[str, tuple[object, ...]] = {"reshape": (4,), "view": (4,), "flip": (0,), "unsqueeze": (0,)}
ARGUMENTS |= {
    "expand": (2, 2),
    "shrink": (((0, 1), (0, 1)),),
    "repeat": (2,),
    "permute": (1, 0),
    "unflatten": (0, (1, 2)),
}
ARGUMENTS |= {"transpose": (0, 1), "roll": (1, 0), "pad": ((1, 1),), "getitem": (0,), "full_like": (1,), "to": ("CPU",)}


def kind(dtype: DType) -> str:
    if dtype == dtypes.weakint:
        return "weakint"
    return "float" if dtypes.is_float(dtype) else "bool" if dtype == dtypes.bool else "int"


def fact(x: Tensor | float) -> Shaped | Const:
    return Shaped(dtype=kind(x.dtype)) if isinstance(x, Tensor) else Const(x)


@pytest.mark.by_numpy
@pytest.mark.parametrize("name", NAMES)
def test_methods(name: str) -> None:
    """A method returns the dtype that the plugin derives, for operands of each dtype for which it returns a tensor."""
    method = getattr(Tensor, f"__{name}__" if name in OPERATORS else name, None)
    if method is None:
        pytest.skip("not a method of tensors")
    for own, other in itertools.product(VALUES, VALUES):
        numbers: list[tuple[object, ...]] = [(True,), (2,), (-1,), (0.5,)]
        numbers += [(0.5, 1), (VALUES[other], 0.5)] if name in ("clip", "clamp", "where") else []
        for more in (ARGUMENTS.get(name, ()), (VALUES[other],), (VALUES[other], VALUES[own]), *numbers):
            try:
                result = method(VALUES[own], *more)
            except (TypeError, ValueError, RuntimeError, AssertionError, AttributeError, KeyError, IndexError):
                continue
            if not isinstance(result, Tensor):
                continue
            operands = [fact(x) for x in (VALUES[own], *more) if isinstance(x, Tensor | bool | int | float)]
            found = result_dtype(name, *operands)
            assert found in ("", kind(result.dtype)), (own, other, len(more))
