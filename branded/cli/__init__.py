"""The command line of `branded`, also run as `python -m branded`.

Each command is a function in this module and an entry of `COMMANDS`.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import gc
import importlib.util
import io
import os
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from tinygrad import Tensor

from branded import __version__
from branded.errors import BrandedError, one_line
from branded.tinygrad_compat.activation import enable
from branded.tools.user_files import (
    FAILED,
    INTERRUPTED,
    MISUSED,
    OK,
    UsageError,
    call_and_print,
    first_line,
    function,
    functions_of,
    look_up,
    message,
    run_guarded,
    split_target,
    with_module,
)


def demo(args: argparse.Namespace) -> int:
    """Show vmap at work on real data; with --cluster, on several processes."""
    if args.cluster:
        if args.out is not None:
            raise UsageError("--out has no effect with --cluster, which draws no pictures")
        return _cluster("256MB" if args.memory is None else args.memory)
    if args.memory is not None:
        raise UsageError("--memory has no effect without --cluster")
    enable("cpu")  # the loops by hand run the same kernels, so that a long training gives the same numbers
    from branded.learn import demo

    # report an unusable folder now, not after a minute of work
    name = "demo-pictures" if args.out is None else args.out
    out = _folder(name) if demo.can_draw() else Path(name)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode shows `?` for a shade
    demo.run(out)
    return OK


def _cluster(memory: str) -> int:
    for package in ("dask", "distributed"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"{package} is not installed: pip install 'branded[dask]'")
    from branded.core.chunks import as_limit
    from branded.learn.demo import cluster

    try:
        as_limit(memory)
    except BrandedError:
        raise UsageError(f"{memory!r} is not a memory size such as 256MB") from None
    cluster.run(memory)
    return OK


def _folder(name: str) -> Path:
    """Return the folder to write to, creating it if it is missing."""
    if not name:
        raise UsageError("'' is not the name of a folder")
    out = Path(name)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot create the folder {out}: {error.strerror}") from None
    if not os.access(out, os.W_OK):
        raise UsageError(f"cannot write to the folder {out}")
    return out


def run(args: argparse.Namespace) -> int:
    """Run a file as Python does, or call one function of it and print the result."""
    path, name = split_target(args.target)
    enable("cpu")

    def call_function(module: types.ModuleType) -> int:
        return OK if name is None else call_and_print(function(module, name, path), path)

    # a whole file is the main program; for one function the file runs as if imported
    return with_module(path, "__main__" if name is None else "__run__", args.args, call_function)


def check(args: argparse.Namespace) -> int:
    """Find batching mistakes (status 0: none, 1: errors, 2: could not check)."""
    try:
        from branded.mypy.check import check, without_effect
    except ModuleNotFoundError as missing:
        raise UsageError(f"{missing.name} is not installed: pip install 'branded[mypy]'") from None
    for word in args.paths:
        if (reason := without_effect(word)) is not None:
            raise UsageError(f"{word.partition('=')[0]} has no effect here: {reason}")
        if not any(word.startswith("-") for word in args.paths) and not (word and Path(word).exists()):
            raise UsageError(f"there is no file or folder {word or repr('')}")
    _reject_combinations(args)
    pretty = args.pretty if args.pretty is not None else args.output == "text" and sys.stdout.isatty()
    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output):
            if args.suggest:
                from branded.mypy.shapes.suggest import suggest

                text, status = suggest(args.paths), OK
            else:
                text, status = check(args.paths, args.output, pretty=pretty)
        gc.freeze()  # skips the collection of mypy's objects at exit, a third of the run time
    except SystemExit as stop:  # mypy exits on an invalid configuration or without files
        if stop.code in (None, 0):  # --help and --version
            return OK
        if args.paths:
            raise UsageError(output.getvalue().strip().splitlines()[-1]) from stop
        raise UsageError("no PATH is given, and mypy's configuration names no files") from stop
    print(text)
    return status


def _reject_combinations(args: argparse.Namespace) -> None:
    """Raise an error for options of `check` of which one would be ignored."""
    if args.pretty and args.output != "text":
        raise UsageError(f"--pretty has no effect with --output {args.output}")
    if args.suggest and (args.output != "text" or args.pretty is not None):
        name = f"--output {args.output}" if args.output != "text" else "--pretty" if args.pretty else "--no-pretty"
        raise UsageError(f"{name} has no effect with --suggest, which prints lines to paste")
    notebook = next((word for word in args.paths if args.suggest and word.endswith(".ipynb")), None)
    if notebook is not None:
        raise UsageError(f"--suggest reads Python files: {notebook} is a notebook")


def puzzles(args: argparse.Namespace) -> int:
    """List the puzzles, write a file to fill in, check it, or help with one."""
    from branded.learn.puzzles import command

    return command.run(args.action, args.words)


def explain(args: argparse.Namespace) -> int:
    """Explain a function: its loop, its broadcasts, and their cost."""
    from branded.explain import Explanation, Growth

    path, name = _target(args.target)
    if args.html is not None:  # report an unusable path before the computation
        if not Path(args.html).absolute().parent.is_dir():
            raise UsageError(f"there is no folder {Path(args.html).parent}")
        if Path(args.html).is_dir():
            raise UsageError(f"{args.html or repr('')} is not the name of a file")
    explanations: list[Explanation] = []

    def explained(f: Callable[..., Any], module: types.ModuleType) -> Callable[[], object]:
        limit = Growth(args.warn_factor, args.warn_bytes)
        shown = Explanation(f, _parse_arguments(args.args, module), {}, limit, full=args.full, kernels=args.kernels)
        explanations.append(shown)
        return shown.__str__ if args.html is None else shown.data

    status = _with_function(path, name, "__explain__", explained)
    if status == OK and args.html is None:
        explanations[0].show()
    if status == OK and args.html is not None:
        try:
            Path(args.html).write_text(explanations[0].html(), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {args.html}: {error.strerror}") from None
        print(args.html)
    return FAILED if any(shown.mistake is not None for shown in explanations) else status


def profile(args: argparse.Namespace) -> int:
    """Show the time of a function by line and by kernel."""
    from branded.tools.profile import profile

    profiles: list[object] = []

    def profiled(f: Callable[..., Any], module: types.ModuleType) -> Callable[[], object]:
        arguments = _parse_arguments(args.args, module)
        return lambda: profiles.append(profile(f, *arguments, tune=args.tune))

    status = _with_function(*_target(args.target), "__profile__", profiled)
    print(*profiles, sep="\n", end="\n" * bool(profiles))
    return status


def _target(text: str) -> tuple[Path, str]:
    """Split `FILE.py:function`; if no function is named, the error lists the file's functions."""
    path, name = split_target(text)
    if name is None and (names := functions_of(path)):
        raise UsageError(f"which function of {path}? {', '.join(f'{path}:{f}' for f in names)}")
    if name is None:
        raise UsageError(f"which function of {path}? (FILE.py:function)")
    return path, name


def _with_function(
    path: Path,
    name: str,
    as_module: str,
    api_name: Callable[[Callable[..., Any], types.ModuleType], Callable[[], object]],
) -> int:
    """Run a file, then build and run an action on its function `name`."""

    def act(module: types.ModuleType) -> int:
        f = look_up(module, name, path)
        return run_guarded(api_name(f, module), path, first_line(f))

    return with_module(path, as_module, [], act)


def _parse_arguments(text: str | None, module: types.ModuleType) -> tuple[Any, ...]:
    """Evaluate the arguments of the command line with the names of the file and tinygrad's `Tensor`."""
    if text is None:
        return ()
    try:
        arguments: tuple[Any, ...] = eval(f"({text},)", {"Tensor": Tensor, **module.__dict__})
        return arguments
    except Exception as error:
        reason = str(error).replace("\n", " ")
        raise UsageError(f"--args {text!r} cannot be evaluated: {type(error).__name__}: {reason}") from None


def doctor(args: argparse.Namespace) -> int:
    """Try each feature on the installed tinygrad, and print which ones work."""
    from branded.tools import doctor

    return OK if doctor.report(__version__) else FAILED


def info(args: argparse.Namespace) -> int:
    """Print versions, device, compiler and patches for a report."""
    from branded.tools import info

    print(info.report(__version__))
    return OK


def cache(args: argparse.Namespace) -> int:
    """Show the disk cache, or delete it."""
    from branded.tools import disk_cache

    if args.clear is None:
        print(disk_cache.listing())
        return OK
    deleted = disk_cache.clear(everything=args.clear == "all")
    print("\n".join(f"deleted {table}" for table in deleted) or "nothing to delete")
    return OK


def explorer(args: argparse.Namespace) -> int:
    """Write the explorer, a web page that needs no server, to a folder."""
    from branded.learn import explorer

    if args.pyodide is not None and args.no_edit:
        raise UsageError("--pyodide has no effect with --no-edit, which runs no programs in the browser")
    out = _folder(args.out)
    pyodide = None if args.pyodide is None else Path(args.pyodide)
    print(explorer.write(out, pyodide, edit=not args.no_edit, site=args.site))
    return OK


def why(args: argparse.Namespace) -> int:
    """Explain why an error is raised and how to fix it."""
    from branded.learn import why

    if args.code is None:
        for code in why.classes():
            print(f"{code:<14} {why.page(code).partition(chr(10))[0]}")
        return OK
    if args.code.strip().lower() == "brand":
        print(why.TYPES_ONLY)
        return 0
    if (name := why.of(args.code)) is None:
        near = difflib.get_close_matches(args.code.lower(), why.classes(), 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"there is no code {args.code[:40]!r}{hint}; `branded why` lists them")
    print(why.page_text(name))
    return OK


class Command(NamedTuple):
    """An entry of `COMMANDS`: the function, its `--help` text, and its arguments for argparse."""

    function: Callable[[argparse.Namespace], int]
    help: str
    arguments: tuple[tuple[str, dict[str, Any]], ...] = ()


_OUT = {"metavar": "DIR", "help": "the folder for the pictures (default: demo-pictures)"}
_CLUSTER = {"action": "store_true", "help": "all pairs of more digits than fit the memory, on a process for each core"}
_MEMORY = {"metavar": "SIZE", "help": "with --cluster, what pairs may take (default: 256MB)"}
_DEMO = (("--out", _OUT), ("--cluster", _CLUSTER), ("--memory", _MEMORY))
_TARGET = {"metavar": "FILE.py[:function]", "help": "a file, or a function of it that needs no arguments"}
_ARGS = {"nargs": argparse.REMAINDER, "metavar": "...", "help": "what the file finds in sys.argv"}

_PATHS = {
    "nargs": "*",
    "metavar": "PATH",
    "help": "a file, a notebook or a folder; without one, those of mypy's configuration",
}
_OUTPUT = {
    "choices": ("text", "json", "sarif", "github"),
    "default": "text",
    "help": "the format (default: text); sarif is for code scanning, github for annotations in its actions",
}
_PRETTY = {
    "action": argparse.BooleanOptionalAction,
    "help": "the text with columns, and the line of each message with carets (default: on a terminal)",
}

_SUGGEST = {"action": "store_true", "help": "names for the axes of the data, and the mistakes that they would show"}

_ACTION = {"nargs": "?", "metavar": "ACTION", "help": "start, check, hint or solution; without one, the list"}
_WORDS = {"nargs": "*", "metavar": "FILE|N", "help": "the file (default: puzzles.py), numbers of puzzles, or both"}

_SITE = {"metavar": "OUT", "help": "the folder for the page, index.html, and the parts that `edit` needs beside it"}
_PYODIDE = {"metavar": "DIR", "help": "the npm package pyodide, unpacked; without it, npm is asked for it"}
_NO_EDIT = {"action": "store_true", "help": "leave out what runs programs in the browser, 9 MB"}

_FUNCTION = {"metavar": "FILE.py:function", "help": "a function of a file"}
_GIVEN = {
    "metavar": "VALUES",
    "help": 'its arguments, "Tensor([1, 2]), 3"; without them, the defaults of its parameters',
}
_TUNE = {"choices": ("fast", "best"), "help": "try the kernels in several forms first, and show what they gained"}
_FULL = {"action": "store_true", "help": "all of it: each step with its types and its loop, the graph, the kernels"}
_KERNELS = {"action": "store_true", "help": "the kernels too, as C"}
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
_BACK = {"metavar": "ADDRESS", "help": "the documentation to which the page leads back (default: that beside OUT)"}
_CODE = {"nargs": "?", "metavar": "CODE", "help": "the word behind `why` in a message; without it, all are listed"}

_EXPLAIN = (
    ("target", _FUNCTION),
    ("--html", _HTML),
    ("--args", _GIVEN),
    ("--full", _FULL),
    ("--kernels", _KERNELS),
    ("--warn-factor", _FACTOR),
    ("--warn-bytes", _BYTES),
)

_CLEAR = {
    "nargs": "?",
    "const": "branded",
    "choices": ("branded", "all"),
    "help": "delete the entries of branded, or with `all` those of tinygrad as well, which hold compiled kernels",
}

COMMANDS = {
    "cache": Command(cache, "show or delete the disk cache", (("--clear", _CLEAR),)),
    "check": Command(
        check,
        "find batching mistakes with mypy",
        (("--output", _OUTPUT), ("--pretty", _PRETTY), ("--suggest", _SUGGEST), ("paths", _PATHS)),
    ),
    "demo": Command(demo, "show vmap at work on 1,797 handwritten digits", _DEMO),
    "doctor": Command(doctor, "try each feature on the installed tinygrad"),
    "explain": Command(explain, "show what a function does, and what it costs", _EXPLAIN),
    "explorer": Command(
        explorer,
        "write a web page that shows vmap",
        (("out", _SITE), ("--pyodide", _PYODIDE), ("--no-edit", _NO_EDIT), ("--site", _BACK)),
    ),
    "info": Command(info, "print versions, device, compiler and patches for a report"),
    "profile": Command(
        profile,
        "show where the time of a function goes",
        (("target", _FUNCTION), ("--args", _GIVEN), ("--tune", _TUNE)),
    ),
    "puzzles": Command(puzzles, "exercises that check themselves", (("action", _ACTION), ("words", _WORDS))),
    "run": Command(
        run,
        "run a file, or one function of it, with all fixes",
        (("target", _TARGET), ("args", _ARGS)),
    ),
    "why": Command(why, "say more of an error, by its code", (("code", _CODE),)),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
        argv: The arguments after the program's name; None uses `sys.argv[1:]`.

    Returns:
        The exit status: 0 for success, 1 if the command failed, 2 if the command line is invalid, 130 if interrupted.

    Raises:
        SystemExit: The executed file calls `sys.exit`.

    Example:
        >>> from branded.cli import main
        >>> main(["--version"])
        branded 0.1.0
        0
    """
    try:
        if any("\0" in word for word in (sys.argv[1:] if argv is None else argv)):
            _parser().error("an argument contains a NUL character")
        args = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has already printed the message
        return stop.code if isinstance(stop.code, int) else MISUSED
    try:
        status = COMMANDS[args.command].function(args)
        sys.stdout.flush()  # a closed pipe raises here, and not at exit
        return status
    except UsageError as error:
        print(f"branded {args.command}: {one_line(str(error))}", file=sys.stderr)
        return MISUSED
    except BrandedError as error:
        print(message(error), file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("branded: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # as in `branded demo | head`; the flush at exit must not fail as well
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:  # from a path on the command line; errors of the user's code are already reported
        name = "" if error.filename is None else f": {str(error.filename)[:80]}"
        print(f"branded {args.command}: {one_line(f'{error.strerror}{name}')}", file=sys.stderr)
        return MISUSED


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Print the error on one line, without the usage text."""
        needed = message.removesuffix(", ...")  # in Python 3.11 argparse also lists arguments that may be empty
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
