"""Translation of Python's errors for a tensor where a number is required, in terms of the user's code."""

from __future__ import annotations

import ast
import dis
import re
import sysconfig
from collections.abc import Iterator
from types import FrameType, TracebackType

from tinygrad import Tensor

from branded.errors import BrandedError, OperandError, source

_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_OF_TENSORS = re.compile(r"\bTensor\b(?!\.)|^only integers, slices|^setting an array element with a sequence")
_CALLED = re.compile(r"is not callable|has no len|positional argument|keyword argument")
"""Messages that do not concern numbers: Python raises them for any object."""


def translate_error(error: Exception, api_name: str) -> BrandedError | None:
    """Return the error that replaces one raised in a function given to the API; None if the user raised it."""
    if isinstance(error, BrandedError):
        return None
    of_key = isinstance(error, KeyError) and len(error.args) == 1 and isinstance(error.args[0], Tensor)
    words = str(error).partition("\n")[0]
    missing = _missing(error, words)
    if not (
        missing
        or of_key
        or (_OF_TENSORS.search(words) and not _CALLED.search(words) and not isinstance(error, AttributeError))
    ):
        return None
    frames = list(_frames(error.__traceback__))
    last, users = frames[-1], [f for f in frames if not _is_of_others(f[0])]
    if not users or (last == users[-1] and _raises(*last[:2])):
        return None
    if missing is None and source.is_ours(last[0].f_code.co_filename):
        return None
    frame, _, line = users[-1]
    code = frame.f_code
    facts = [("given", "a tensor")] if of_key else [("python", words)]
    if not code.co_filename.startswith("<"):
        facts.append(("at", source.place(code.co_filename, line)))
    if missing is not None:
        return OperandError(
            f"{api_name}: {missing[0]}",
            *facts[1:],
            fix=_suggest_update(frame) or _with_tinygrad_name(missing[1], source.expression(frame)),
        )
    if of_key:
        return OperandError(
            f"{api_name}: a tensor cannot be the key of a dict",
            *facts,
            fix="put the values into a Tensor([...]), and index it with the position of the key",
        )
    return OperandError(f"{api_name}: a Python function that takes numbers got a tensor", *facts, fix=_advice(frame))


_ATTRIBUTES = {
    "astype": '{}.cast("int32")',
    "ravel": "{}.flatten()",
    "copy": "{}.clone()",
    "swapaxes": "{}.transpose(0, 1)",
    "at": "index_update({}, i, value)",
}
"""tinygrad's equivalents of methods of numpy and JAX."""
_UPDATES = {"set": "update", "add": "add", "mul": "mul", "multiply": "mul", "min": "min", "max": "max"}
"""The functions `index_...` for the methods of JAX's `x.at[i]`."""
_KEYWORDS = {"keepdims": "keepdim", "dim": "axis", "axis": "dim", "ddof": "correction"}
_REFUSED = re.compile(r"^(?:Tensor|\w+Mixin)\.(\w+)\(\) got an unexpected keyword argument '(\w+)'")


def _missing(error: Exception, words: str) -> tuple[str, str] | None:
    """Return the message and the name if a tensor or method lacks a name of numpy, JAX or PyTorch."""
    if isinstance(error, AttributeError):
        name = error.name or ""
        is_known = isinstance(error.obj, Tensor) and name in _ATTRIBUTES
        return (f"a tensor has no method `{name}`", name) if is_known else None
    match = _REFUSED.match(words)
    return (f"`{match[1]}` has no parameter `{match[2]}`", match[2]) if match and match[2] in _KEYWORDS else None


def _suggest_update(frame: FrameType) -> str | None:
    """Return `index_update(x, i, y)` for `x.at[i].set(y)`, and None for other code."""
    match source.running(frame)[:4]:
        case [
            ast.Attribute(attr="at", value=x),
            ast.Subscript(slice=index),
            ast.Attribute(attr=method),
            ast.Call(args=[value], keywords=[]),
        ] if method in _UPDATES and not any(isinstance(e, ast.Slice) for e in ast.walk(index)):
            return f"index_{_UPDATES[method]}({', '.join(map(ast.unparse, (x, index, value)))})"
    return None


def _with_tinygrad_name(name: str, e: ast.expr | None) -> str:
    """Return the expression with tinygrad's name."""
    if name in _ATTRIBUTES:
        return _ATTRIBUTES[name].format(source.part(e.value) if isinstance(e, ast.Attribute) else "x")
    if not isinstance(e, ast.Call):
        return f"`{_KEYWORDS[name]}`"
    keywords = [ast.keyword(_KEYWORDS[name] if k.arg == name else k.arg, k.value) for k in e.keywords]
    return ast.unparse(ast.Call(e.func, e.args, keywords))


Step = tuple[FrameType, int, int]
"""A frame, its instruction, and its line."""


def _frames(trace: TracebackType | None) -> Iterator[Step]:
    while trace is not None:
        yield trace.tb_frame, trace.tb_lasti, trace.tb_lineno
        trace = trace.tb_next


def _is_of_others(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return source.is_ours(file) or file.startswith((*_LIBRARIES, "<frozen")) or file.endswith(".pyx")


def _raises(frame: FrameType, offset: int) -> bool:
    """Return whether the instruction is a `raise` statement."""
    return frame.f_code.co_code[offset] == dis.opmap["RAISE_VARARGS"]


def _advice(frame: FrameType) -> str:
    e = source.expression(frame)
    if isinstance(e, ast.Subscript):
        return f"Tensor({ast.unparse(e.value)})[{ast.unparse(e.slice)}]"
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mod):
        return f'debug.print("{{x}}", x={"x" if isinstance(e.right, ast.Tuple) else ast.unparse(e.right)})'
    return "return the tensor and call the function on the result, or use debug.callback(f, x)"
