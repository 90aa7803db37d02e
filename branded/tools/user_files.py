"""The user's files: found, compiled, run as Python runs them, and what goes wrong in them told as Python tells it.

What a command that runs a file needs: `branded run`, `explain`, `puzzles`.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tinygrad
from tinygrad import Tensor
from tinygrad.helpers import DEBUG

from branded import tree
from branded.errors import BrandedError

OK, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130
"""The exit status of a command."""


class UsageError(Exception):
    """The command line asks for what cannot be; its message is one line."""


def split_target(target: str) -> tuple[Path, str | None]:
    """`FILE.py:function` as a file and the name of a function; `FILE.py` alone has None.

    Only a `:` after `.py` splits, so folders and drives may have one.

    Raises:
        UsageError: There is no such file, or no name after the `:`.

    Example:
        >>> from branded.cli import files
        >>> files.split_target(files.__file__ + ":load")[1]
        'load'
    """
    file, name = target, None
    if not Path(target).is_file():
        head, found, tail = target.rpartition(".py:")
        if found and "/" not in tail and os.sep not in tail:
            file, name = head + ".py", tail
    path = Path(file)
    if not path.exists():
        raise UsageError(f"there is no file {file}")
    if not path.is_file():
        raise UsageError(f"{file or repr('')} is not a file")
    if name is not None and not name.isidentifier():
        raise UsageError(f"{name!r} is not the name of a function (FILE.py:function)")
    return path, name


def compiled(path: Path) -> types.CodeType | None:
    """The code of a file; None if it is not Python, which is said."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    try:
        return compile(source, str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        if getattr(error, "filename", None) is None:
            raise UsageError(f"{path} is not Python: {error}") from None
        _show(error, None)
        return None


def load(path: Path, name: str) -> dict[str, Any] | None:
    """The names that a file has when it has run as the module `name`; None if it does not run, which is said.

    Raises:
        UsageError: The file cannot be read.
    """
    if (code := compiled(path)) is None:
        return None
    module = types.ModuleType(name)
    module.__dict__["__file__"] = str(path)
    with surroundings(module, path, []):
        status = executed(code, module, path)
    return module.__dict__ if status == OK else None


def executed(code: types.CodeType, module: types.ModuleType, path: Path) -> int:
    """Run the code of a file as a module."""
    return guarded(lambda: exec(code, module.__dict__), path)


@contextmanager
def surroundings(module: types.ModuleType, path: Path, args: Sequence[str]) -> Iterator[None]:
    """What a program finds around it when Python runs it: its arguments, its folder, and itself in sys.modules."""
    kept = sys.argv, sys.path, sys.modules.get(module.__name__)
    sys.argv, sys.path = [str(path), *args], [str(path.resolve().parent), *sys.path]
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        sys.argv, sys.path, before = kept
        if before is None:
            del sys.modules[module.__name__]
        else:
            sys.modules[module.__name__] = before


# ---- a function of it ----


def function(module: types.ModuleType, name: str, path: Path) -> Callable[[], Any]:
    """The function of this name, which takes no arguments."""
    if name not in module.__dict__:
        raise UsageError(f"there is no function `{name}` in {path}")
    f: Callable[[], Any] = module.__dict__[name]
    if not callable(f):
        raise UsageError(f"`{name}` in {path} is not a function, but {tree.describe(f)}")
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):  # written in C, without a signature: calling it will tell
        return f
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if needed := [p.name for p in parameters if p.default is p.empty and p.kind not in optional]:
        raise UsageError(f"`{name}` in {path} needs arguments: {', '.join(needed)}")
    return f


def functions_of(path: Path) -> list[str]:
    """The functions that a file defines, but for those whose names begin with `_`; none where it is not Python."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return []
    return [s.name for s in body if isinstance(s, ast.FunctionDef) and not s.name.startswith("_")]


def first_line(f: object) -> int:
    """The line where a function begins."""
    return getattr(getattr(inspect.unwrap(f), "__code__", None), "co_firstlineno", 1)  # type: ignore[arg-type]


def called(f: Callable[[], Any], path: Path) -> int:
    """Call a function, and print what it returns."""
    return guarded(lambda: _print_result(f()), path, first_line(f))


def _print_result(result: Any) -> None:
    """Print what a function returned, the tensors in it as nested lists."""
    if result is not None:
        values = [x.tolist() if isinstance(x, Tensor) else x for x in tree.leaves(result)]
        print(tree.rebuild(result, iter(values)))


# ---- what goes wrong in the user's code ----

_ROOTS = (str(Path(__file__).parent), tinygrad.__file__, os.__file__)
_PACKAGES = tuple(str(Path(file).parent) + os.sep for file in _ROOTS if file)
"""Where the code is that is not the user's: branded, tinygrad, and Python's library."""


def guarded(action: Callable[[], object], path: Path, line: int = 1) -> int:
    """Run the user's code, and tell of an error as Python does, but of ours by its place and message only."""
    try:
        action()
    except BrandedError as error:
        print(f"{_place(error, path, line)}\n{message(error)}", file=sys.stderr)
        return FAILED
    except (Exception, KeyboardInterrupt) as error:
        _show(error, _users(error.__traceback__))
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED
    return OK


def message(error: BrandedError) -> str:
    """What an error says, with the line that a traceback has beside it."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def _show(error: BaseException, trace: types.TracebackType | None) -> None:
    """Print an error as Python does at the end of a program, with these frames only."""
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def _frames(trace: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _users(trace: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback from the first frame on that is the user's; else from the first one that is not of this file.

    It ends at the user's line: what stands between and behind them in branded and tinygrad is shown with DEBUG=1.
    """
    files = [(t, t.tb_frame.f_code.co_filename) for t in _frames(trace)]
    own = [t for t, file in files if not file.startswith((*_PACKAGES, "<frozen"))]
    if not own:
        return next((t for t, file in files if file != __file__), None)
    if DEBUG.value > 0:
        return own[0]
    shown = [t for t in _frames(own[0]) if not t.tb_frame.f_code.co_filename.startswith(_PACKAGES[:2])]
    found: types.TracebackType | None = None
    for t in reversed(shown):
        found = types.TracebackType(found, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return found


def _place(error: BrandedError, path: Path, line: int) -> str:
    """The innermost line of the user's code that the error came through, `app.py:12`; else the line given."""
    places = [(t.tb_frame.f_code.co_filename, t.tb_lineno) for t in _frames(error.__traceback__)]
    users = [(file, at) for file, at in places if file == str(path) or not file.startswith((*_PACKAGES, "<frozen"))]
    file, at = users[-1] if users else (path, line)
    return f"{file}:{at}"
