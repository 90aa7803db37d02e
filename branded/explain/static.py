"""What mypy, with the plugin, says of each expression of a file: the type that is known before anything runs."""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from branded.errors.source import Where

Span = tuple[int, int, int, int]
"""The line and the column of where an expression begins and of where it ends."""


class Types(NamedTuple):
    """The types of a file's expressions, or a note that says why there are none."""

    found: Mapping[Span, str]
    note: str | None = None

    def at(self, where: Where | None) -> str | None:
        """The type of the expression that stands there: `Vec[x | y, Tensor]`; None where mypy knows none."""
        return None if where is None else self.found.get((where.line, where.column, where.end_line, where.end_column))


def nothing(note: str) -> Types:
    return Types({}, note)


def types_in(path: Path) -> Types:
    """The types that mypy gives to the expressions of a file.

    Without mypy, or where it cannot read the file, there are none, and a note says why.

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
        return nothing("mypy is not installed, so there are no static types: pip install 'branded[mypy]'")
    except (OSError, UnicodeError):
        return nothing(f"mypy cannot read {path.name}, so there are no static types")


@functools.lru_cache(maxsize=64)
def _types(path: Path, text: str) -> Types:
    return types_of({path: text})[path]


def types_of(files: Mapping[Path, str]) -> dict[Path, Types]:
    """The types of several files, by their texts: mypy reads once what it keeps of the libraries."""
    from mypy import build
    from mypy.errors import CompileError
    from mypy.fscache import FileSystemCache

    from branded.mypy import BrandedPlugin
    from branded.mypy.check import PLUGIN, read_options

    said, cache = io.StringIO(), FileSystemCache()
    try:
        found, options = read_options([str(path) for path in files], cache, "branded", said)
        # a module that is given as text is read anew: what mypy keeps of one that it has seen has no expressions
        sources = {
            path: build.BuildSource(s.path, s.module, text, s.base_dir)
            for (path, text), s in zip(files.items(), found, strict=True)
        }
        options.export_types = options.preserve_asts = True
        # of these alone: mypy checks each body that it keeps, also those of libraries, which takes half a minute
        options.per_module_options["*.*"] = {"preserve_asts": False}  # a pattern for all modules
        for s in sources.values():
            options.per_module_options.setdefault(s.module, {})["preserve_asts"] = True
        own = [] if PLUGIN in options.plugins else [BrandedPlugin(options)]
        if own:  # where `branded check` keeps what it knows
            options.cache_dir = str(Path(options.cache_dir, "branded"))
        result = build.build(
            list(sources.values()), options, None, lambda *_: None, cache, said, said, extra_plugins=own
        )
    except (CompileError, SystemExit):
        return {path: nothing(f"mypy could not check {path.name}, so there are no static types") for path in files}
    result.manager.metastore.close()
    return {path: Types(_of_values(result.files[s.module], result.types)) for path, s in sources.items()}


def _of_values(tree: Any, types: Mapping[Any, Any]) -> dict[Span, str]:
    """The types of the expressions that are values: all that is kept of what mypy knows, which is much."""
    from mypy.inspections import find_by_location

    told = {e: text for e, t in types.items() if (text := short(str(t)))}
    spans = {(e.line, e.column, e.end_line, e.end_column) for e in told}
    # of several expressions in one place, as a call and what it is rewritten to, it is the outermost that is asked for
    at = {span: find_by_location(tree, *span) for span in spans if span[2] is not None and span[3] is not None}
    return {span: told[e] for span, e in at.items() if e in told}


_LONG = re.compile(r"\b(?:[^\W\d]\w*\.)+(?=[^\W\d]\w*)")
_ANY = re.compile(r"\bAny\b")
_VALUE = re.compile(r"Tensor|Vec\[[^\[\],]+, Tensor\]")


def short(text: str) -> str | None:
    """A type as the documentation writes it, if it is that of a value: `Tensor`, `Vec[x | y, Tensor]`."""
    short = _LONG.sub("", text)
    return short if _VALUE.fullmatch(short) and not _ANY.search(short) else None
