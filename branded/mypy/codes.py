"""Error codes: `brand-read` reports an error that has the code `read` at run time (`python -m branded why read`).

Errors without a run-time counterpart have the code `brand`. All other codes are its sub-codes, so `# type:
ignore[brand]` suppresses any of them.
"""

from __future__ import annotations

from mypy.errorcodes import ErrorCode

ERROR = ErrorCode("brand", "Check that a brand stays inside its vmap", "branded")
CODES: dict[str, ErrorCode] = {}
"""The sub-codes, by their code at run time."""


def _part(code: str) -> ErrorCode:
    CODES[code] = ErrorCode(f"brand-{code}", f"python -m branded why {code}", "branded", sub_code_of=ERROR)
    return CODES[code]


OPERAND = _part("operand")
READ = _part("read")
SHAPE = _part("shape")
ESCAPE = _part("escape")
WRITE = _part("write")
NAME_TAKEN = _part("name-taken")
NAME_UNBOUND = _part("name-unbound")
AXIS_RANGE = _part("axis-range")
AXIS_TYPE = _part("axis-type")
AXES = _part("axes")
OPTION = _part("option")
CALL = _part("call")
SIZE = _part("size")
CARRY = _part("carry")
DERIVATIVE = _part("derivative")
MATRIX = _part("matrix")


def is_ours(code: ErrorCode | None) -> bool:
    return code is ERROR or (code is not None and code.sub_code_of is ERROR)
