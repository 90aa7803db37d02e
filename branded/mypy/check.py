"""`branded check`: mypy with the plugin and its options, with brand errors first."""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from mypy import build, main
from mypy.errors import CompileError
from mypy.fscache import FileSystemCache
from mypy.options import Options

from branded.mypy import BrandedPlugin
from branded.mypy.rows.hints import invariant_class

OPTIONS = ("--check-untyped-defs", "--enable-error-code=truthy-bool", "--output=json")
"""The mypy options that the plugin needs: check unannotated functions, and report truth values; JSON is parsed here."""

PLUGIN = "branded.mypy"
_VEC = re.compile(r"\b(?:Vec|Axes)\[")
_LONG = re.compile(r"\b(?:branded\.vec\.(?=(?:Vec|Axes)\b)|branded\.brand\.(?=Brand\b)|tinygrad\.tensor\.(?=Tensor\b))")


class Message(NamedTuple):
    """A mypy message; `raw` is mypy's own text."""

    file: str
    line: int
    text: str
    raw: str
    notes: tuple[str, ...]
    code: str
    severity: str

    @property
    def is_about_brands(self) -> bool:
        is_ours = self.code.startswith("brand") or self.text.startswith("bool: ")
        return self.severity == "error" and (is_ours or bool(_VEC.search(self.text) or invariant_class(self.text)))


def check(arguments: Sequence[str]) -> tuple[str, int]:
    """Run mypy with the plugin.

    Args:
        arguments: Paths, and any options of mypy.

    Returns:
        The text to print, and mypy's exit status: 0 without errors, 1 with errors, 2 if it could not check.

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
        >>> print(text.replace(folder.name + "/", ""))
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
    cache = FileSystemCache()
    sources, options = read_options(arguments, cache, "branded check")
    lines, blocked = _build(sources, options, cache)
    messages = [parse_message(json.loads(line)) for line in lines if line.startswith("{")]
    other = [line for line in lines if not line.startswith("{")]  # from files that mypy could not parse
    told = format_report(messages, len(sources), untyped_functions(sources)) if messages or not other else []
    status = 2 if blocked else int(any(m.severity == "error" for m in messages))
    return "\n".join([*told, *other]), status


def read_options(
    arguments: Sequence[str], cache: FileSystemCache, program: str, output: TextIO | None = None
) -> tuple[list[build.BuildSource], Options]:
    """Return the sources to check, and mypy's options with the plugin's.

    Duplicate error codes are removed: otherwise the cache of a run without the plugin's options would be stale.
    """
    sources, options = main.process_options([*OPTIONS, *arguments], output, output, fscache=cache, program=program)
    options.enable_error_code = list(dict.fromkeys(options.enable_error_code))
    return sources, options


def _build(sources: list[build.BuildSource], options: Options, cache: FileSystemCache) -> tuple[list[str], bool]:
    """Run mypy; return its output lines, and whether it was blocked by a fatal error."""
    lines: list[str] = []

    def keep(file: str | None, messages: list[str], serious: bool) -> None:
        lines.extend(messages)

    plugins = [] if PLUGIN in options.plugins else [BrandedPlugin(options)]
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
    return Message(
        raw["file"],
        raw["line"],
        _LONG.sub("", raw["message"]),
        raw["message"],
        notes,
        raw["code"] or "",
        raw["severity"],
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


def format_report(messages: list[Message], files: int, skipped: Sequence[str] = ()) -> list[str]:
    """Format the brand errors, then mypy's other messages, the functions not checked, and the counts."""
    brand = [m for m in messages if m.is_about_brands]
    rest = [m for m in messages if not m.is_about_brands]
    out: list[str] = []
    for m in brand:
        code = "" if m.code in ("brand", "") else f"  [{m.code}]"
        out += [f"{m.file}:{m.line}: {m.text}{code}", *m.notes]
    if brand and rest:
        out.append("")
    for m in rest:
        location = f"{m.file}:{m.line}" if m.line > 0 else m.file
        out += [f"{location}: {m.severity}: {m.text}" + (f"  [{m.code}]" if m.severity == "error" and m.code else "")]
        out += [f"{m.file}:{m.line}: note: {note}" for note in m.notes]
    if skipped:
        out += [""] if out else []
        names = ", ".join(skipped[:5]) + (f" and {len(skipped) - 5} more" if len(skipped) > 5 else "")
        out += [f"not checked, for an argument without a type: {names}", "  try:   x: Tensor, or x: Vec[S, Tensor]"]
    others = sum(m.severity == "error" for m in rest)
    counts = [_plural(n, what) for n, what in ((len(brand), "brand error"), (others, "other error")) if n]
    return [*out, *([""] if out else []), f"{', '.join(counts) or 'no errors'} (checked {_plural(files, 'file')})"]


def _plural(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
