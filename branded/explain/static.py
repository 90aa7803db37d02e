"""The static types of the expressions in a file, found by mypy with the plugin of branded."""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from branded.errors.source import Where

Span = tuple[int, int, int, int]
"""The start line and column of an expression, and its end line and column."""


class Types(NamedTuple):
    """The types of a file's expressions; if there are none, a note gives the reason."""

    found: Mapping[Span, str]
    note: str | None = None

    def at(self, where: Where | None) -> str | None:
        """Return the type of the expression at `where`: `Vec[x | y, Tensor]`; None if mypy has no type for it."""
        return None if where is None else self.found.get((where.line, where.column, where.end_line, where.end_column))


def no_types(note: str) -> Types:
    return Types({}, note)


def types_in(path: Path) -> Types:
    """Return the types that mypy infers for the expressions of a file.

    Without mypy, or if mypy cannot read the file, the result is empty, and its note gives the reason.

    Example:
        >>> import tempfile
        >>> from branded.explain.static import types_in
        >>> from branded.errors.source import Where
        >>> folder = tempfile.TemporaryDirectory()
        >>> program = Path(folder.name, "app.py")
        >>> _ = program.write_text('''
        ... from tinygrad import Tensor
        ... from branded import vmap
        ... table = vmap(lambda a: vmap(lambda b: a + b)(Tensor([3, 4])))(Tensor([1, 2]))
        ... ''')
        >>> types_in(program).at(Where(str(program), 4, 4, 38, 43))
        'Vec[a | b, Tensor]'
        >>> folder.cleanup()
    """
    try:
        return _types(path, path.read_text())
    except ImportError:
        return no_types("mypy is not installed, so there are no static types: pip install 'branded[mypy]'")
    except (OSError, UnicodeError):
        return no_types(f"mypy cannot read {path.name}, so there are no static types")


@functools.lru_cache(maxsize=64)
def _types(path: Path, text: str) -> Types:
    return types_of({path: text})[path]


def types_of(files: Mapping[Path, str]) -> dict[Path, Types]:
    """Return the types of several files, given as texts, from one run of mypy, which loads its cache only once."""
    from mypy import build
    from mypy.errors import CompileError
    from mypy.fscache import FileSystemCache

    from branded.mypy import DeferredPlugin
    from branded.mypy.check import PLUGIN, read_options

    output, cache = io.StringIO(), FileSystemCache()
    try:
        build_sources, options = read_options([str(path) for path in files], cache, "branded", output)
        # passing the text makes mypy analyze the module again: its cache has no expressions
        sources = {
            path: build.BuildSource(s.path, s.module, text, s.base_dir)
            for (path, text), s in zip(files.items(), build_sources, strict=True)
        }
        options.export_types = options.preserve_asts = True
        # preserve only these modules: mypy checks each preserved body, which takes half a minute with the libraries
        options.per_module_options["*.*"] = {"preserve_asts": False}  # a pattern for all modules
        for s in sources.values():
            options.per_module_options.setdefault(s.module, {})["preserve_asts"] = True
        plugins = [] if PLUGIN in options.plugins else [DeferredPlugin(options)]
        if plugins:  # next to the cache of `branded check`
            options.cache_dir = str(Path(options.cache_dir, "branded"))
        result = build.build(
            list(sources.values()), options, None, lambda *_: None, cache, output, output, extra_plugins=plugins
        )
    except (CompileError, SystemExit):
        return {path: no_types(f"mypy could not check {path.name}, so there are no static types") for path in files}
    result.manager.metastore.close()
    return {path: Types(_of_values(result.files[s.module], result.types)) for path, s in sources.items()}


def _of_values(tree: Any, types: Mapping[Any, Any]) -> dict[Span, str]:
    """Return the types of the expressions that are values; mypy's other results are too large to keep."""
    from mypy.inspections import find_by_location

    told = {e: text for e, t in types.items() if (text := short(str(t)))}
    spans = {(e.line, e.column, e.end_line, e.end_column) for e in told}
    # if several expressions share a span, such as a call and its rewritten form, the outermost one is meant
    nodes = {span: find_by_location(tree, *span) for span in spans if span[2] is not None and span[3] is not None}
    return {span: told[e] for span, e in nodes.items() if e in told}


_LONG = re.compile(r"\b(?:[^\W\d]\w*\.)+(?=[^\W\d]\w*)")
_ANY = re.compile(r"\bAny\b")
_VALUE = re.compile(r"Tensor|Vec\[[^\[\],]+, Tensor\]")


def short(text: str) -> str | None:
    """Shorten mypy's text of a type as in the documentation: `Vec[x | y, Tensor]`; None if it is not a value's type."""
    short = _LONG.sub("", text)
    return short if _VALUE.fullmatch(short) and not _ANY.search(short) else None
