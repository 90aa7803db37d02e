"""The commands of `branded`: functions of the parsed arguments that return the exit status."""

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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tinygrad import Tensor

from branded import __version__
from branded.errors import BrandedError
from branded.tinygrad_compat.activation import enable
from branded.tools.user_files import (
    FAILED,
    OK,
    UsageError,
    call_and_print,
    first_line,
    function,
    functions_of,
    look_up,
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
    enable("cpu")  # the loops use the same kernels, so that rounding does not change the result of a long training
    from branded.learn import demo

    # report an unusable folder before the minute of work
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

    # a file without a function name runs as the main program, otherwise as an imported module
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
    print(output.getvalue(), end="", file=sys.stderr)  # what mypy says about its configuration
    print(text)
    return status


def _reject_combinations(args: argparse.Namespace) -> None:
    """Raise an error for options of `check` if one would be ignored."""
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
    prepare: Callable[[Callable[..., Any], types.ModuleType], Callable[[], object]],
) -> int:
    """Run a file, call `prepare` with its function `name`, and run the action that `prepare` returns."""

    def act(module: types.ModuleType) -> int:
        f = look_up(module, name, path)
        return run_guarded(prepare(f, module), path, first_line(f))

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
    if (name := why.code_of(args.code)) is None:
        near = difflib.get_close_matches(args.code.lower(), why.classes(), 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"there is no code {args.code[:40]!r}{hint}; `branded why` lists them")
    print(why.page_text(name))
    return OK
