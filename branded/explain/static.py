"""What mypy, with the plugin, says of each expression of a file: the type that is known before anything runs."""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from branded.source import Where


class Types(NamedTuple):
    """The types of a file's expressions, or a note that says why there are none."""

    look: Callable[[Where], str | None]
    note: str | None = None

    def at(self, where: Where | None) -> str | None:
        """The type of the expression that stands there: `Vec[x | y, Tensor]`; None where mypy knows none."""
        return None if where is None or self.note else self.look(where)


def nothing(note: str) -> Types:
    return Types(lambda where: None, note)


def types_in(path: Path) -> Types:
    """The types that mypy gives to the expressions of a file.

    Without mypy, or where it cannot read the file, there are none, and a note says why.

    Example:
        >>> import tempfile
        >>> from branded.explain.static import types_in
        >>> from branded.source import Where
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


@functools.lru_cache(maxsize=1)
def _types(path: Path, text: str) -> Types:
    from mypy import build
    from mypy.errors import CompileError
    from mypy.fscache import FileSystemCache
    from mypy.inspections import find_by_location

    from branded.mypy import BrandedPlugin
    from branded.mypy.check import PLUGIN, read_options

    said, cache = io.StringIO(), FileSystemCache()
    try:
        sources, options = read_options([str(path)], cache, "branded", said)
        # a module that is given as text is read anew: what mypy keeps of one that it has seen has no expressions
        sources = [build.BuildSource(s.path, s.module, text, s.base_dir) for s in sources]
        options.export_types = options.preserve_asts = True
        own = [] if PLUGIN in options.plugins else [BrandedPlugin(options)]
        if own:  # where `branded check` keeps what it knows
            options.cache_dir = str(Path(options.cache_dir, "branded"))
        result = build.build(sources, options, None, lambda *_: None, cache, said, said, extra_plugins=own)
    except (CompileError, SystemExit):
        return nothing(f"mypy could not check {path.name}, so there are no static types")
    result.manager.metastore.close()
    tree: Any = result.files[sources[0].module]

    def look(where: Where) -> str | None:
        found = find_by_location(tree, where.line, where.column, where.end_line, where.end_column)
        return short(str(result.types[found])) if found in result.types else None

    return Types(look)


_LONG = re.compile(r"\b(?:[^\W\d]\w*\.)+(?=[^\W\d]\w*)")
_ANY = re.compile(r"\bAny\b")
_VALUE = re.compile(r"Tensor|Vec\[[^\[\],]+, Tensor\]")


def short(text: str) -> str | None:
    """A type as the documentation writes it, if it is that of a value: `Tensor`, `Vec[x | y, Tensor]`."""
    short = _LONG.sub("", text)
    return short if _VALUE.fullmatch(short) and not _ANY.search(short) else None
