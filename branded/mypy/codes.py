"""The code of a mistake: `brand-read` is what runs into the error of the code `read`; `python -m branded why read`.

What has no error at run time has the code `brand`, of which the others are parts: `# type: ignore[brand]` is for all.
"""

from __future__ import annotations

import re

from mypy.errorcodes import ErrorCode

ERROR = ErrorCode("brand", "Check that a brand stays inside its vmap", "branded")

_WORDS = {
    "operand": r"Tensor: (?:values that vary over|.* has tensors in it)"
    r"|(?:round|numpy[.\w]*): a value that varies over .* (?:is no single|has no values)",
    "read": r"\w[\w. ]*: a value that varies over .* (?:has no single|is no single|has a gradient)",
    "shape": r"slice: a bound that varies",
    "escape": r"escape: ",
    "write": r"\S+: a value that varies over .* cannot go into ",
    "name-taken": r"axis_name: brand .* is open already",
    "name-unbound": r"\w+: (?:no brand .* is open here|.* is no name of a brand)",
    "axis-range": r"in_axes: (?:axis -?\d+ of .*, which has|.* is out of range)|\w+: axis -?\d+ of a tensor with",
    "axis-type": r"(?:in|out)_axes: .*"
    r"(?:the axis of |there is no axis|each item of|cannot be stacked|no axis: |not an axis)"
    r'|p\w+: the value is .*, not a tensor|vmap: ".*" not callable',
    "axes": r"(?:in|out)_axes: ",
    "option": r"(?:axis_name|randomness|chunk_size|progress|memory_limit): .* (?:is no |is not a |is every brand)",
    "call": r"vmap: (?:missing|too many|unexpected|no overload)",
    "size": r"\w+: nothing says how many steps",
    "carry": r"(?:scan|map|while_loop|fori_loop|cond|switch|associative_scan): "
    r"(?:the carry|the body|the condition|the branches|there are no branches|the predicate|the index|.*not a tensor)",
    "derivative": r"(?:grad|value_and_grad|jvp|vjp|jacfwd|jacrev|hessian): ",
    "matrix": r"\w+: a matrix has two axes",
}
"""How the messages begin that have each code; the first that fits counts."""

CODES = {
    code: ErrorCode(f"brand-{code}", f"python -m branded why {code}", "branded", sub_code_of=ERROR) for code in _WORDS
}


def code_of(message: str) -> ErrorCode:
    """The code of an error of ours, by what it says."""
    return next((CODES[code] for code, words in _WORDS.items() if re.match(words, message)), ERROR)


def is_ours(code: ErrorCode | None) -> bool:
    return code is ERROR or (code is not None and code.sub_code_of is ERROR)
