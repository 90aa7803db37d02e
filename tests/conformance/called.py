"""Find the covered names that a case really calls."""

from __future__ import annotations

import contextlib
import copy
import inspect
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import tinygrad
from tinygrad import Context, Tensor, nn

import branded
from branded.hooks.elementwise import METHODS

from .table import Case

HERE = str(Path(__file__).parent)
BRANDED = str(Path(branded.__file__).parent)
NUMERICS = str(Path(branded.__file__).parent / "tinygrad_compat" / "fixes" / "numerics")


def code_of(name: str) -> CodeType:
    """Return the code of a method of `Tensor`, or of a layer of `tinygrad.nn`."""
    if name.startswith("nn."):
        layer = getattr(nn, name.removeprefix("nn.").replace("1d", "2d"))  # Conv1d returns a Conv2d
        return layer.__call__.__code__  # type: ignore[no-any-return]
    if name == "function":
        return tinygrad.function.__globals__["_function"].__call__.__code__  # type: ignore[no-any-return]
    if name in METHODS:
        return METHODS[name].__code__
    found = inspect.getattr_static(Tensor, name)
    found = getattr(found, "fget", None) or getattr(found, "__func__", found)
    return inspect.unwrap(getattr(found, "ours", found)).__code__  # type: ignore[no-any-return]


def replacements(name: str) -> set[CodeType]:
    """Return the code of the fixes that replace a method and may not call tinygrad's version."""
    found: Any = inspect.getattr_static(Tensor, name, None)
    found = getattr(found, "__func__", found)  # of a classmethod
    found = getattr(found, "ours", found)
    chain = list[CodeType]()
    while hasattr(found, "__wrapped__"):
        chain.append(found.__code__)
        found = found.__wrapped__
    return {code for code in chain if code.co_filename.startswith(NUMERICS)}


def called(case: Case) -> set[str]:
    """Return the covered names that the function of a case calls itself on one example.

    Only tinygrad's own methods count: on the CPU, numpy sorts instead of them.
    """
    wanted = {code: name for name in case.covers for code in (code_of(name), *replacements(name))}
    seen: set[str] = set()

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (name := wanted.get(frame.f_code)) is not None and by_the_case(frame, name):
            seen.add(name)

    rng = np.random.default_rng(0)
    args = [arg.tensor(arg.sample(rng, 1)[0]) for arg in case.args]
    before = sys.getprofile()
    with Context(BRANDED_CPU=0):
        sys.setprofile(look)
        try:
            case.f(*args)
        finally:
            sys.setprofile(before)
    return seen


def wraps_a_method(code: CodeType) -> bool:
    return code.co_name == "_wrapper" or code.co_filename.startswith((BRANDED, contextlib.__file__, copy.__file__))


def by_the_case(frame: FrameType, name: str) -> bool:
    """Tell whether the case makes the call, possibly through wrappers of the method."""
    if name.startswith("nn."):
        return True
    above = frame.f_back
    while above is not None and wraps_a_method(above.f_code):
        above = above.f_back
    return above is not None and above.f_code.co_filename.startswith(HERE)
