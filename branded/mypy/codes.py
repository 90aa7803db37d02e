"""Error codes: `brand-read` reports an error that has the code `read` at run time (`python -m branded why read`).

Errors without a run-time counterpart have the code `brand`. All other codes are its sub-codes, so `# type:
ignore[brand]` suppresses any of them.
"""

from __future__ import annotations

from mypy.errorcodes import ErrorCode

ERROR = ErrorCode("brand", "Check that a brand stays inside its vmap", "branded")
CODES: dict[str, ErrorCode] = {}
"""The sub-codes, by their code at run time."""


def _sub_code(code: str) -> ErrorCode:
    CODES[code] = ErrorCode(f"brand-{code}", f"python -m branded why {code}", "branded", sub_code_of=ERROR)
    return CODES[code]


OPERAND = _sub_code("operand")
ARGUMENT = _sub_code("argument")
READ = _sub_code("read")
SHAPE = _sub_code("shape")
ESCAPE = _sub_code("escape")
WRITE = _sub_code("write")
NAME_TAKEN = _sub_code("name-taken")
NAME_UNBOUND = _sub_code("name-unbound")
AXIS_RANGE = _sub_code("axis-range")
AXIS_TYPE = _sub_code("axis-type")
AXES = _sub_code("axes")
OPTION = _sub_code("option")
CALL = _sub_code("call")
SIZE = _sub_code("size")
CARRY = _sub_code("carry")
DERIVATIVE = _sub_code("derivative")
MATRIX = _sub_code("matrix")
RANDOMNESS = _sub_code("randomness")
TREE = _sub_code("tree")
DRAW_TYPE = _sub_code("draw-type")


def is_brand_code(code: ErrorCode | None) -> bool:
    return code is ERROR or (code is not None and code.sub_code_of is ERROR)
