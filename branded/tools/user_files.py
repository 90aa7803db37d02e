"""Loading and running user files, and reporting their errors, as Python does.

The commands that run a file use it: `branded run`, `explain`, `puzzles`.
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
"""The exit statuses of a command."""


class UsageError(Exception):
    """The command line is invalid; the message has one line."""


def split_target(target: str) -> tuple[Path, str | None]:
    """Split `FILE.py:function` into a file and the name of a function, which is None for `FILE.py` alone.

    Only a `:` after `.py` splits, so folders and drives may contain one.

    Raises:
        UsageError: The file does not exist, or no valid name follows the `:`.

    Example:
        >>> from branded.tools import user_files as files
        >>> files.split_target(files.__file__ + ":function")[1]
        'function'
    """
    file, name = target, None
    if not Path(target).is_file():
        head, separator, tail = target.rpartition(".py:")
        if separator and "/" not in tail and os.sep not in tail:
            file, name = head + ".py", tail
    path = Path(file)
    if not path.exists():
        raise UsageError(f"there is no file {file}")
    if not path.is_file():
        raise UsageError(f"{file or repr('')} is not a file")
    if name is not None and not name.isidentifier():
        raise UsageError(f"{name!r} is not the name of a function (FILE.py:function)")
    return path, name


def compile_file(path: Path) -> types.CodeType | None:
    """Return the code of a file, or print the error and return None if it is not valid Python."""
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


def with_module(path: Path, name: str, args: Sequence[str], action: Callable[[types.ModuleType], int]) -> int:
    """Run a file as the module `name` with these arguments, then `action`; return its exit status, or the file's."""
    if (code := compile_file(path)) is None:
        return FAILED
    module = types.ModuleType(name)
    module.__dict__["__file__"] = str(path)
    with surroundings(module, path, args):
        status = run_guarded(lambda: exec(code, module.__dict__), path)
        return action(module) if status == OK else status


@contextmanager
def surroundings(module: types.ModuleType, path: Path, args: Sequence[str]) -> Iterator[None]:
    """Set `sys.argv`, `sys.path` and `sys.modules` as Python does when it runs a file; restore them afterwards."""
    previous = sys.argv, sys.path, sys.modules.get(module.__name__)
    sys.argv, sys.path = [str(path), *args], [str(path.resolve().parent), *sys.path]
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        sys.argv, sys.path, before = previous
        if before is None:
            del sys.modules[module.__name__]
        else:
            sys.modules[module.__name__] = before


def look_up(module: types.ModuleType, name: str, path: Path) -> Any:
    """Return the value of a name of a file; raise `UsageError` if there is none."""
    if name not in module.__dict__:
        raise UsageError(f"there is no function `{name}` in {path}")
    return module.__dict__[name]


def function(module: types.ModuleType, name: str, path: Path) -> Callable[[], Any]:
    """Return the function of this name; raise `UsageError` if it needs arguments."""
    f: Callable[[], Any] = look_up(module, name, path)
    if not callable(f):
        raise UsageError(f"`{name}` in {path} is not a function, but {tree.describe(f)}")
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):  # a C function without a signature: the call shows whether it needs arguments
        return f
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if needed := [p.name for p in parameters if p.default is p.empty and p.kind not in optional]:
        raise UsageError(f"`{name}` in {path} needs arguments: {', '.join(needed)}")
    return f


def functions_of(path: Path) -> list[str]:
    """Return the names of a file's functions that do not begin with `_`, or an empty list if it is not Python."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return []
    return [s.name for s in body if isinstance(s, ast.FunctionDef) and not s.name.startswith("_")]


def first_line(f: object) -> int:
    """Return the line where a function begins, or 1 if it is unknown."""
    return getattr(getattr(inspect.unwrap(f), "__code__", None), "co_firstlineno", 1)  # type: ignore[arg-type]


def call_and_print(f: Callable[[], Any], path: Path) -> int:
    """Call a function and print its result."""
    results: list[object] = []
    status = run_guarded(lambda: results.append(_as_lists(f())), path, first_line(f))
    for result in results:
        if result is not None:
            print(result)
    return status


def _as_lists(result: Any) -> Any:
    """Return a result with its tensors as nested lists."""
    values = [x.tolist() if isinstance(x, Tensor) else x for x in tree.leaves(result)]
    return result if result is None else tree.rebuild(result, iter(values))


_ROOTS = (str(Path(__file__).parent), tinygrad.__file__, os.__file__)
_PACKAGES = tuple(str(Path(file).parent) + os.sep for file in _ROOTS if file)
"""The folders of code that is not the user's: branded, tinygrad, and Python's library."""


def run_guarded(action: Callable[[], object], path: Path, line: int = 1) -> int:
    """Run the user's code; print an error as Python does, but a `BrandedError` only by its place and message."""
    try:
        action()
    except BrandedError as error:
        print(f"{_place(error, path, line)}\n{message(error)}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # as in `branded explain FILE | head`; the command line ends quietly
        raise
    except (Exception, KeyboardInterrupt) as error:
        _show(error, _users(error.__traceback__))
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED
    return OK


def message(error: BrandedError) -> str:
    """Return the text of an error with its notes, as at the end of a traceback."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def _show(error: BaseException, trace: types.TracebackType | None) -> None:
    """Print an error as Python does at the end of a program, with these frames only."""
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def _frames(trace: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _users(trace: types.TracebackType | None) -> types.TracebackType | None:
    """Return the traceback from the user's first frame on, or else from the first frame outside this file.

    It ends at the user's last line.  Frames of branded and tinygrad are left out unless DEBUG=1 is set.
    """
    files = [(t, t.tb_frame.f_code.co_filename) for t in _frames(trace)]
    users = [t for t, file in files if not file.startswith((*_PACKAGES, "<frozen"))]
    if not users:
        return next((t for t, file in files if file != __file__), None)
    if DEBUG.value > 0:
        return users[0]
    shown = [t for t in _frames(users[0]) if not t.tb_frame.f_code.co_filename.startswith(_PACKAGES[:2])]
    result: types.TracebackType | None = None
    for t in reversed(shown):
        result = types.TracebackType(result, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return result


def _place(error: BrandedError, path: Path, line: int) -> str:
    """Return the user's innermost line in the traceback, as `app.py:12`, or else the given line."""
    places = [(t.tb_frame.f_code.co_filename, t.tb_lineno) for t in _frames(error.__traceback__)]
    users = [(file, n) for file, n in places if file == str(path) or not file.startswith((*_PACKAGES, "<frozen"))]
    file, lineno = users[-1] if users else (path, line)
    return f"{file}:{lineno}"
