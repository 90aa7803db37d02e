"""`branded check`: mypy with the plugin and its options, with brand errors first."""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

from mypy import build, main
from mypy.errors import CompileError
from mypy.fscache import FileSystemCache
from mypy.options import Options

from branded.mypy import DeferredPlugin, notebooks
from branded.mypy.output import FORMATS, CheckReport, Message

OPTIONS = ("--check-untyped-defs", "--enable-error-code=truthy-bool", "--output=json")
"""The mypy options that the plugin needs: check unannotated functions, and report truth values; JSON is parsed here."""

_FORMAT = "branded check has --output and --pretty"
_INSTALL = "install the stubs with pip"
_COUNTS = "branded check prints its own counts"
_SHOWN = ("error-codes", "error-code-links", "error-context", "error-end", "column-numbers", "absolute-path")
WITHOUT_EFFECT = {
    **dict.fromkeys(("--output", "-O", "--pretty", "--no-pretty", "--color-output", "--no-color-output"), _FORMAT),
    **dict.fromkeys((f"--{word}-{name}" for name in _SHOWN for word in ("show", "hide")), _FORMAT),
    **dict.fromkeys(("--junit-xml", "--junit-format"), _FORMAT),
    **dict.fromkeys(("--error-summary", "--no-error-summary"), _COUNTS),
    **dict.fromkeys(("--install-types", "--non-interactive"), _INSTALL),
}
"""The options of mypy that would be ignored, with the alternative to each."""


def without_effect(word: str) -> str | None:
    """Return why an option of mypy would be ignored; None for other words. mypy accepts abbreviations."""
    name = word.partition("=")[0] if word.startswith("--") else word[:2]
    full = [o for o in WITHOUT_EFFECT if o == name or (len(name) > 3 and o.startswith(name))]
    return WITHOUT_EFFECT[full[0]] if full else None


PLUGIN = "branded.mypy"
_LONG = re.compile(r"\b(?:branded\.vec\.(?=(?:Vec|Axes)\b)|branded\.brand\.(?=Brand\b)|tinygrad\.tensor\.(?=Tensor\b))")


def check(arguments: Sequence[str], output: str = "text", *, pretty: bool = False) -> tuple[str, int]:
    """Run mypy with the plugin.

    Args:
        arguments: Paths of files, notebooks and folders, and any options of mypy.
        output: The format: text, json, sarif or github.
        pretty: Whether the text has columns, and the line of each message with carets.

    Returns:
        The text to print, and the exit status: 0 without errors, 1 with errors, 2 if a file could not be checked.

    Raises:
        SystemExit: mypy's options are invalid; mypy has printed an error.

    Example:
        >>> import tempfile, pathlib
        >>> from branded.mypy.check import check
        >>> folder = tempfile.TemporaryDirectory()
        >>> program = pathlib.Path(folder.name, "app.py")
        >>> _ = program.write_text('''
        ... from tinygrad import Tensor
        ... from branded import vmap
        ... vmap(lambda a: a.numpy())(Tensor([1, 2]))
        ... ''')
        >>> text, status = check([str(program)])
        >>> print(text[text.index("app.py") :])
        app.py:4: numpy: a value that varies over "a" has no single value to read  [brand-read]
          value: "Vec[a, Tensor]"
          a: opened by vmap at app.py:4
          try:   return it from the mapped function and read the result
        <BLANKLINE>
        1 brand error (checked 1 file)
        >>> status
        1
        >>> folder.cleanup()
    """
    with TemporaryDirectory() as folder:
        return _run_mypy(arguments, output, pretty, Path(folder))


def _run_mypy(arguments: Sequence[str], output: str, pretty: bool, folder: Path) -> tuple[str, int]:
    arguments, found, failures = _convert_notebooks(arguments, folder)
    if failures and not found and not _paths(arguments):
        return FORMATS[output](CheckReport([], failures, 0, [], version("branded"))), 2
    cache = FileSystemCache()
    sources, options = read_options(arguments, cache, "branded check")
    options.mypy_path += [str(Path(n.path).parent) for n in found]
    lines, blocked = _build(sources, options, cache, is_strict="--strict" in arguments)
    messages = [_in_notebook(parse_message(json.loads(line)), found) for line in lines if line.startswith("{")]
    failures += [line for line in lines if not line.startswith("{")]  # from files that mypy could not parse
    skipped = [_rename(name, found) for name in untyped_functions(sources)]
    told = [m for m in messages if m is not None]
    wants_source = pretty or options.pretty or options.show_column_numbers
    source = _Lines(found, carets=pretty or options.pretty) if wants_source else None
    report = CheckReport(told, failures, len(sources), skipped, version("branded"), source)
    status = 2 if blocked or failures else int(any(m.severity == "error" for m in told))
    return FORMATS[output](report), status


def _paths(arguments: Sequence[str]) -> list[str]:
    return [word for word in arguments if not word.startswith("-")]


class _Lines:
    """The lines of the code that messages are about."""

    def __init__(self, found: Sequence[notebooks.Notebook], carets: bool) -> None:
        self.python = {n.path: n for n in found}
        self.carets = carets
        self.files: dict[Path, list[str]] = {}

    def __call__(self, m: Message) -> str | None:
        """Return the line of a message; None where it is not shown."""
        notebook = self.python.get(m.file)
        path = notebook.python if notebook is not None else Path(m.file)
        line = m.line if notebook is None else notebook.line_of(m.cell or 1, m.line)
        if not self.carets or line < 1:
            return None
        if path not in self.files:
            try:
                self.files[path] = path.read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError):
                self.files[path] = []
        return self.files[path][line - 1] if line <= len(self.files[path]) else None


def _convert_notebooks(arguments: Sequence[str], folder: Path) -> tuple[list[str], list[notebooks.Notebook], list[str]]:
    """Replace the notebooks in the arguments, and in folders of them, by Python files."""
    rest: list[str] = []
    found: list[notebooks.Notebook] = []
    failures: list[str] = []
    for word in arguments:
        paths = [] if word.startswith("-") else notebooks.find_notebooks(word)
        for path in paths:
            try:
                found.append(notebooks.convert(path, folder))
            except ValueError as error:
                failures.append(str(error))
        if not paths or (paths != [word] and any(Path(word).rglob("*.py*"))):
            rest.append(word)
    return [*rest, *(str(n.python) for n in found)], found, failures


def _in_notebook(m: Message, found: Sequence[notebooks.Notebook]) -> Message | None:
    """Return a message with places in notebooks, or None if it is not an error in a notebook."""
    notebook = next((n for n in found if n.python.name == Path(m.file).name), None)
    m = m._replace(text=_rename(m.text, found), notes=tuple(_rename(note, found) for note in m.notes))
    if notebook is None:
        return m
    if notebook.is_of_notebooks(m.code, m.text):
        return None
    at, end = notebook.place(m.line), notebook.place(m.end_line)
    end_line = end.line if end.cell == at.cell else at.line
    return m._replace(file=notebook.path, line=at.line, end_line=end_line, cell=at.cell, line_in_file=at.in_file)


def _rename(text: str, found: Sequence[notebooks.Notebook]) -> str:
    for notebook in found:
        text = notebook.rename(text)
    return text


def read_options(
    arguments: Sequence[str], cache: FileSystemCache, program: str, output: TextIO | None = None
) -> tuple[list[build.BuildSource], Options]:
    """Return the sources to check, and mypy's options with the plugin's.

    Duplicate error codes are removed: otherwise the cache of a run without the plugin's options would be stale.
    """
    sources, options = main.process_options([*OPTIONS, *arguments], output, output, fscache=cache, program=program)
    options.enable_error_code = list(dict.fromkeys(options.enable_error_code))
    return sources, options


def _build(
    sources: list[build.BuildSource], options: Options, cache: FileSystemCache, *, is_strict: bool
) -> tuple[list[str], bool]:
    """Run mypy; return its output lines, and whether it was blocked by a fatal error.

    With `is_strict`, an unused batch is an error, unless the configuration says otherwise.
    """
    lines: list[str] = []

    def keep(file: str | None, messages: list[str], serious: bool) -> None:
        lines.extend(messages)

    if is_strict:
        options.plugins = [p for p in options.plugins if p != PLUGIN]  # the one below differs in a setting
    plugins = [] if PLUGIN in options.plugins else [DeferredPlugin(options)]
    if is_strict and plugins[0].settings.unvaried is None:
        plugins[0].unvaried = "error"
    if plugins:  # runs with and without the plugin would invalidate each other's cache
        options.cache_dir = str(Path(options.cache_dir, "branded"))
    try:
        result = build.build(sources, options, None, keep, cache, io.StringIO(), io.StringIO(), extra_plugins=plugins)
    except CompileError:
        return lines, True
    result.manager.metastore.close()
    return lines, False


def parse_message(raw: dict[str, Any]) -> Message:
    """Return a mypy message from its JSON."""
    notes = tuple(note for note in (raw["hint"] or "").splitlines() if note)
    text, code = _LONG.sub("", raw["message"]), raw["code"] or ""
    end = (raw["end_line"], raw["end_column"] + 1)
    return Message(
        raw["file"], raw["line"], text, raw["message"], notes, code, raw["severity"], raw["column"] + 1, *end
    )


def untyped_functions(sources: Sequence[build.BuildSource]) -> list[str]:
    """Find functions with an unannotated parameter in files that import branded: `f (app.py:5)`.

    mypy gives such a parameter the type Any, so it reports no errors for it.
    """
    names = []
    for source in sources:
        try:
            tree = ast.parse(Path(source.path or "").read_text())
        except (OSError, SyntaxError, ValueError):  # mypy reports it
            continue
        nodes = list(ast.walk(tree))
        if not any(isinstance(n, ast.Import | ast.ImportFrom) and "branded" in ast.unparse(n) for n in nodes):
            continue
        functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        names += [f"{f.name} ({source.path}:{f.lineno})" for f in functions if _has_unannotated_parameter(f.args)]
    return names


def _has_unannotated_parameter(args: ast.arguments) -> bool:
    positional = [*args.posonlyargs, *args.args]
    keywords = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    needed = [*positional[: len(positional) - len(args.defaults)], *(a for a, default in keywords if default is None)]
    if positional and positional[0].arg in ("self", "cls"):
        needed = [a for a in needed if a is not positional[0]]
    return any(a.annotation is None for a in needed)
