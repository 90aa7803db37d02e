"""The command `branded`, which is also `python -m branded`.

A command is one function here, and one line of `COMMANDS`.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import tinygrad
from tinygrad import Tensor

from branded import __version__, tree
from branded.errors import BrandedError, one_line

OK, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130


class UsageError(Exception):
    """The command line asks for what cannot be; its message is one line."""


# ---- the commands ----


def demo(args: argparse.Namespace) -> int:
    """Show vmap at work on real data."""
    from branded import demo

    # a folder that cannot be used is a mistake to hear of now, not in a minute
    out = _folder(args.out) if demo.can_draw() else Path(args.out)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode shows `?` for a shade
    demo.run(out)
    return OK


def _folder(name: str) -> Path:
    """A folder to write to, made where it is missing."""
    if not name:
        raise UsageError("'' is not the name of a folder")
    out = Path(name)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {out}: {error.strerror}") from None
    if not os.access(out, os.W_OK):
        raise UsageError(f"cannot write to the folder {out}")
    return out


def run(args: argparse.Namespace) -> int:
    """Run a file as Python does, or one function of it and print what it returns."""
    path, name = split_target(args.target)
    code = _compiled(path)
    if code is None:
        return FAILED
    # only a whole file is the main program; one function is called as if the file had been imported
    module = types.ModuleType("__main__" if name is None else "__run__")
    module.__dict__["__file__"] = str(path)
    with _surroundings(module, path, args.args):
        status = _guarded(lambda: exec(code, module.__dict__), path)
        if status != OK or name is None:
            return status
        f = _function(module, name, path)
        line = getattr(getattr(inspect.unwrap(f), "__code__", None), "co_firstlineno", 1)
        return _guarded(lambda: _print_result(f()), path, line)


def check(args: argparse.Namespace) -> int:
    """Find batching mistakes before anything runs."""
    try:
        from branded.check import check
    except ModuleNotFoundError as missing:
        raise UsageError(f"there is no {missing.name} here: pip install 'branded[mypy]'") from None
    for path in args.paths:
        if not any(word.startswith("-") for word in args.paths) and not (path and Path(path).exists()):
            raise UsageError(f"there is no file or folder {path or repr('')}")
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            text, status = check(args.paths)
    except SystemExit as stop:  # of mypy, which does not go on with its configuration, or without files
        if args.paths:
            raise UsageError(said.getvalue().strip().splitlines()[-1]) from stop
        raise UsageError("no PATH is given, and mypy's configuration names no files") from stop
    print(text)
    return status


def puzzles(args: argparse.Namespace) -> int:
    """List the puzzles, write a file to fill in, check it, or help with one."""
    from branded.puzzles import command

    return command.run(args.action, args.words)


def explain(args: argparse.Namespace) -> int:
    """Show a function step by step: what is zipped, what is broadcast, and why."""
    from branded.explain import Explanation, Growth

    path, name = split_target(args.target)
    if name is None:
        raise UsageError(f"which function of {path}? (FILE.py:function)")
    if args.html is not None:  # to hear of now, and not when all is worked out
        if not Path(args.html).absolute().parent.is_dir():
            raise UsageError(f"there is no folder {Path(args.html).parent}")
        if Path(args.html).is_dir():
            raise UsageError(f"{args.html or repr('')} is not the name of a file")
    code = _compiled(path)
    if code is None:
        return FAILED
    module = types.ModuleType("__explain__")
    module.__dict__["__file__"] = str(path)
    with _surroundings(module, path, []):
        status = _guarded(lambda: exec(code, module.__dict__), path)
        if status != OK:
            return status
        if name not in module.__dict__:
            raise UsageError(f"there is no function `{name}` in {path}")
        f = module.__dict__[name]
        line = getattr(getattr(inspect.unwrap(f), "__code__", None), "co_firstlineno", 1)
        shown = Explanation(f, _arguments(args.args, module), {}, Growth(args.warn_factor, args.warn_bytes))
        status = _guarded(shown.show if args.html is None else shown.data, path, line)
    if status == OK and args.html is not None:
        try:
            Path(args.html).write_text(shown.html(), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {args.html}: {error.strerror}") from None
        print(args.html)
    return status


def _arguments(text: str | None, module: types.ModuleType) -> tuple[Any, ...]:
    """The arguments that the command line gives, with the names of the file and of tinygrad's Tensor."""
    if text is None:
        return ()
    try:
        given: tuple[Any, ...] = eval(f"({text},)", {"Tensor": Tensor, **module.__dict__})
        return given
    except Exception as error:
        reason = str(error).replace("\n", " ")
        raise UsageError(f"--args {text!r} cannot be evaluated: {type(error).__name__}: {reason}") from None


def explorer(args: argparse.Namespace) -> int:
    """Write the explorer, a web page that needs no server, to a folder."""
    from branded import explorer

    out = _folder(args.out)
    pyodide = None if args.pyodide is None else Path(args.pyodide)
    print(explorer.write(out, pyodide, edit=not args.no_edit))
    return OK


class Command(NamedTuple):
    """A line of the table: the function, what `--help` says of it, and its arguments for argparse."""

    function: Callable[[argparse.Namespace], int]
    help: str
    arguments: tuple[tuple[str, dict[str, Any]], ...] = ()


_OUT = {"metavar": "DIR", "default": "demo-pictures", "help": "the folder for the pictures (default: %(default)s)"}
_TARGET = {"metavar": "FILE.py[:function]", "help": "a file, or a function of it that needs no arguments"}
_ARGS = {"nargs": argparse.REMAINDER, "metavar": "...", "help": "what the file finds in sys.argv"}

_PATHS = {"nargs": "*", "metavar": "PATH", "help": "a file or a folder; without one, those of mypy's configuration"}

_ACTION = {"nargs": "?", "metavar": "ACTION", "help": "start, check, hint or solution; without one, the list"}
_WORDS = {"nargs": "*", "metavar": "FILE|N", "help": "the file (default: puzzles.py), the number of a puzzle, or both"}

_SITE = {"metavar": "OUT", "help": "the folder for the page, index.html, and the parts that `edit` needs beside it"}
_PYODIDE = {"metavar": "DIR", "help": "the npm package pyodide, unpacked; without it, npm is asked for it"}
_NO_EDIT = {"action": "store_true", "help": "leave out what runs programs in the browser, 9 MB"}

_FUNCTION = {"metavar": "FILE.py:function", "help": "a function of a file"}
_GIVEN = {
    "metavar": "VALUES",
    "help": 'its arguments, "Tensor([1, 2]), 3"; without them, the defaults of its parameters',
}
_HTML = {"metavar": "OUT", "help": "write it as one HTML file"}


def _above_0(text: str) -> float:
    try:
        n = float(text)
    except ValueError:
        n = 0.0
    if not n > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return n


_FACTOR = {"metavar": "N", "type": _above_0, "default": 8.0, "help": "warn of a broadcast from N times on (default: 8)"}
_BYTES = {"metavar": "N", "type": int, "default": 1 << 20, "help": "and from N bytes on (default: 1 MiB)"}
_EXPLAIN = (
    ("target", _FUNCTION),
    ("--html", _HTML),
    ("--args", _GIVEN),
    ("--warn-factor", _FACTOR),
    ("--warn-bytes", _BYTES),
)

COMMANDS = {
    "check": Command(check, "find batching mistakes with mypy", (("paths", _PATHS),)),
    "demo": Command(demo, "show vmap at work on 1,797 handwritten digits", (("--out", _OUT),)),
    "explain": Command(explain, "show a function step by step", _EXPLAIN),
    "explorer": Command(
        explorer, "write a web page that shows vmap", (("out", _SITE), ("--pyodide", _PYODIDE), ("--no-edit", _NO_EDIT))
    ),
    "puzzles": Command(puzzles, "exercises that check themselves", (("action", _ACTION), ("words", _WORDS))),
    "run": Command(run, "run a file, or one function of it", (("target", _TARGET), ("args", _ARGS))),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
        argv: The words after the name of the program; None takes those of this process.

    Returns:
        The exit status: 0, or 1 if what was run failed, or 2 if the command line makes no sense.

    Raises:
        SystemExit: A file that was run calls `sys.exit`.

    Example:
        >>> from branded.cli import main
        >>> main(["--version"])
        branded 0.1.0
        0
    """
    try:
        if any("\0" in word for word in (sys.argv[1:] if argv is None else argv)):
            _parser().error("a NUL stands in an argument, and in no name")
        args = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has said what there is to say
        return stop.code if isinstance(stop.code, int) else MISUSED
    try:
        return COMMANDS[args.command].function(args)
    except UsageError as error:
        print(f"branded {args.command}: {one_line(str(error))}", file=sys.stderr)
        return MISUSED
    except BrandedError as error:
        print(error, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("branded: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has gone, as in `branded demo | head`; the flush at exit must not say so
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:  # of a name on the command line: what the user's code raises has been told
        name = "" if error.filename is None else f": {str(error.filename)[:80]}"
        print(f"branded {args.command}: {one_line(f'{error.strerror}{name}')}", file=sys.stderr)
        return MISUSED


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say it in one line, without the usage before it."""
        needed = message.removesuffix(", ...")  # argparse of Python 3.11 lists what may also be empty
        self.exit(MISUSED, f"{self.prog}: {needed} (see {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="branded", description="A type-directed vmap for tinygrad.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"branded {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, title="commands")
    for name, command in COMMANDS.items():
        sub = commands.add_parser(name, help=command.help, description=command.function.__doc__, allow_abbrev=False)
        for argument, options in command.arguments:
            sub.add_argument(argument, **options)
    return parser


# ---- run: the file ----


def split_target(target: str) -> tuple[Path, str | None]:
    """`FILE.py:function` as a file and the name of a function; `FILE.py` alone has None.

    Only a `:` after `.py` splits, so folders and drives may have one.

    Raises:
        UsageError: There is no such file, or no name after the `:`.

    Example:
        >>> from branded.cli import split_target
        >>> from branded.demo import digits
        >>> split_target(digits.__file__ + ":load")[1]
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


def _compiled(path: Path) -> types.CodeType | None:
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
    if (code := _compiled(path)) is None:
        return None
    module = types.ModuleType(name)
    module.__dict__["__file__"] = str(path)
    with _surroundings(module, path, []):
        status = _guarded(lambda: exec(code, module.__dict__), path)
    return module.__dict__ if status == OK else None


@contextmanager
def _surroundings(module: types.ModuleType, path: Path, args: Sequence[str]) -> Iterator[None]:
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


# ---- run: the function ----


def _function(module: types.ModuleType, name: str, path: Path) -> Callable[[], Any]:
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


def _print_result(result: Any) -> None:
    """Print what a function returned, the tensors in it as nested lists."""
    if result is not None:
        values = [x.tolist() if isinstance(x, Tensor) else x for x in tree.leaves(result)]
        print(tree.rebuild(result, iter(values)))


# ---- run: what goes wrong in the user's code ----

_PACKAGES = tuple(str(Path(file).parent) + os.sep for file in (__file__, tinygrad.__file__, os.__file__) if file)
"""Where the code is that is not the user's: branded, tinygrad, and Python's library."""


def _guarded(action: Callable[[], object], path: Path, line: int = 1) -> int:
    """Run the user's code, and tell of an error as Python does, but of ours by its place and message only."""
    try:
        action()
    except BrandedError as error:
        print(f"{_place(error, path, line)}\n{error}", file=sys.stderr)
        return FAILED
    except (Exception, KeyboardInterrupt) as error:
        _show(error, _users(error.__traceback__))
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED
    return OK


def _show(error: BaseException, trace: types.TracebackType | None) -> None:
    """Print an error as Python does at the end of a program, with these frames only."""
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def _frames(trace: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _users(trace: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback from the first frame on that is the user's; else from the first one that is not of this file."""
    files = [(t, t.tb_frame.f_code.co_filename) for t in _frames(trace)]
    own = [t for t, file in files if not file.startswith((*_PACKAGES, "<frozen"))]
    return next(iter([*own, *(t for t, file in files if file != __file__)]), None)


def _place(error: BrandedError, path: Path, line: int) -> str:
    """The innermost line of the user's code that the error came through, `app.py:12`; else the line given."""
    places = [(t.tb_frame.f_code.co_filename, t.tb_lineno) for t in _frames(error.__traceback__)]
    users = [(file, at) for file, at in places if file == str(path) or not file.startswith((*_PACKAGES, "<frozen"))]
    file, at = users[-1] if users else (path, line)
    return f"{file}:{at}"
