"""The command line of `branded`, also run as `python -m branded`.

Each command is a function of `commands.py` and an entry of `COMMANDS`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from branded import __version__
from branded.cli import commands
from branded.errors import BrandedError, one_line
from branded.tools.user_files import FAILED, INTERRUPTED, MISUSED, UsageError, message

Argument = tuple[str, dict[str, Any]]


class Command(NamedTuple):
    """An entry of `COMMANDS`: the function, its `--help` text, and its arguments for argparse."""

    function: Callable[[argparse.Namespace], int]
    help: str
    arguments: tuple[Argument, ...] = ()


def _argument(name: str, text: str, **options: Any) -> Argument:
    return name, {"help": text, **options}


def _switch(name: str, text: str) -> Argument:
    return _argument(name, text, action="store_true")


def _above_0(text: str) -> float:
    try:
        n = float(text)
    except ValueError:
        n = 0.0
    if not n > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return n


_FUNCTION = _argument("target", "a function of a file", metavar="FILE.py:function")
_GIVEN = _argument(
    "--args", 'its arguments, "Tensor([1, 2]), 3"; without them, the defaults of its parameters', metavar="VALUES"
)
_CLEAR = _argument(
    "--clear",
    "delete the entries of branded; with `all`, also tinygrad's entries, which hold compiled kernels",
    nargs="?",
    const="branded",
    choices=("branded", "all"),
)
_CHECK = (
    _argument(
        "--output",
        "the format (default: text); sarif is for code scanning, github for annotations in its actions",
        choices=("text", "json", "sarif", "github"),
        default="text",
    ),
    _argument(
        "--pretty",
        "the text with columns, and the line of each message with carets (default: on a terminal)",
        action=argparse.BooleanOptionalAction,
    ),
    _switch("--suggest", "suggest names for the axes of the data, and print the mistakes that they would show"),
    _argument(
        "paths",
        "files, notebooks or folders (default: mypy's configuration); options of mypy follow --",
        nargs="*",
        metavar="PATH",
    ),
)
_DEMO = (
    _argument("--out", "the folder for the pictures (default: demo-pictures)", metavar="DIR"),
    _switch("--cluster", "all pairs of more digits than fit into memory, with a process for each core"),
    _argument("--memory", "with --cluster, the memory of the pairs (default: 256MB)", metavar="SIZE"),
)
_EXPLAIN = (
    _FUNCTION,
    _argument("--html", "write it as one HTML file", metavar="OUT"),
    _GIVEN,
    _switch("--full", "the full output: the steps with types and loops, the graph, the kernels"),
    _switch("--kernels", "the kernels too, as C"),
    _argument(
        "--warn-factor",
        "warn of a broadcast that repeats a value N times or more (default: 8)",
        metavar="N",
        type=_above_0,
        default=8.0,
    ),
    _argument("--warn-bytes", "and takes N bytes or more (default: 1 MiB)", metavar="N", type=int, default=1 << 20),
)
_EXPLORER = (
    _argument("out", "the folder for the page, index.html, and the files that `edit` needs", metavar="OUT"),
    _argument("--pyodide", "the npm package pyodide, unpacked (default: npm downloads it)", metavar="DIR"),
    _switch("--no-edit", "leave out the Python interpreter for the browser, 9 MB"),
    _argument("--site", "the documentation that the page links to (default: next to OUT)", metavar="ADDRESS"),
)
_TUNE = _argument("--tune", "try several forms of each kernel first, and show the gain", choices=("fast", "best"))
_PUZZLES = (
    _argument("action", "start, check, hint or solution; without one, the list", nargs="?", metavar="ACTION"),
    _argument("words", "the file (default: puzzles.py), numbers of puzzles, or both", nargs="*", metavar="FILE|N"),
)
_RUN = (
    _argument("target", "a file, or a function of it that needs no arguments", metavar="FILE.py[:function]"),
    _argument("args", "the file's arguments, in sys.argv", nargs=argparse.REMAINDER, metavar="..."),
)
_CODE = _argument("code", "the last word of a message; without it, all codes are listed", nargs="?", metavar="CODE")

COMMANDS = {
    "cache": Command(commands.cache, "show or delete the disk cache", (_CLEAR,)),
    "check": Command(commands.check, "find batching mistakes with mypy", _CHECK),
    "demo": Command(commands.demo, "show vmap on 1,797 handwritten digits", _DEMO),
    "doctor": Command(commands.doctor, "try each feature on the installed tinygrad"),
    "explain": Command(commands.explain, "show the loop, brands, memory and kernels of a function", _EXPLAIN),
    "explorer": Command(commands.explorer, "write a web page that shows vmap", _EXPLORER),
    "info": Command(commands.info, "print versions, device, compiler and patches for a report"),
    "profile": Command(
        commands.profile, "show the time of a function by line and by kernel", (_FUNCTION, _GIVEN, _TUNE)
    ),
    "puzzles": Command(commands.puzzles, "exercises that check themselves", _PUZZLES),
    "run": Command(commands.run, "run a file, or one function of it, with all fixes", _RUN),
    "why": Command(commands.why, "explain an error by its code", (_CODE,)),
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
        args, unknown = _parser().parse_known_args(argv)
        if unknown:
            mypys = "; options of mypy follow --" if args.command == "check" else ""
            text = f"unrecognized arguments: {' '.join(unknown)}{mypys}"
            _Parser(prog=f"branded {args.command}").error(text)
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
