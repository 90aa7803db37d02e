"""Short descriptions of values, for messages."""

from __future__ import annotations

from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import UOp

from branded.graph.rows import type_text
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import srender

_OTHERS = {"jaxlib": "jax"}
_ARRAYS = frozenset({"torch", "jax", "tensorflow", "cupy", "mlx", "pandas", "polars", "xarray"})


def package_of(x: object) -> str:
    """Return the package of a foreign array, found by its module name; empty for other values."""
    top = (getattr(type(x), "__module__", None) or "").partition(".")[0]
    name = _OTHERS.get(top, top)
    return name if name in _ARRAYS else ""


def describe(x: Any) -> str:
    """Describe a value in a few words, for messages: `f32[3, 8]`, `the str 'train'`, `a Linear`."""
    if isinstance(x, Tensor):
        return type_text(x)
    if isinstance(x, np.ndarray):
        masked = "masked " if isinstance(x, np.ma.MaskedArray) else ""
        return f"numpy {masked}{x.dtype}[{', '.join(map(str, x.shape))}]"
    if isinstance(x, np.generic):
        return f"the {type(x).__name__} {x}"
    if isinstance(x, int | float | complex | str | bytes | bool):
        return f"the {type(x).__name__} {_short(x)}"
    if x is None:
        return "None"
    if isinstance(x, UOp) and dtypes.is_int(x.dtype) and x.shape == ():
        return f"the symbolic number {srender(x)}"
    if isinstance(x, type):
        return f"the class {x.__name__}"
    name = type(x).__name__
    origin = f" of {package}" if (package := package_of(x)) else ""
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}{origin}"


def short_repr(x: Any) -> str:
    """Return the repr of a value if it is short, else its description."""
    if x is None or isinstance(x, int | float | complex | str | bytes):
        text = _short(x)
        return f"an int {text}" if text.startswith("of about") else text
    if isinstance(x, tuple | list | dict | set):
        try:
            text = repr(x)
        except Exception:  # an error in the repr of an element
            return describe(x)
        return text if len(text) < 80 and "<" not in text else describe(x)
    return describe(x)


def _short(x: object) -> str:
    if isinstance(x, int) and abs(x) >= 10**40:
        return f"of about {abs(x).bit_length() * 301 // 1000} digits"
    text = repr(x)
    return text if len(text) < 40 else text[:36] + "..."
