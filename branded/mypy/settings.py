"""The settings of the plugin in mypy's configuration file, and the version of the plugin."""

from __future__ import annotations

import configparser
import hashlib
import os
import tomllib
from collections.abc import Iterator
from io import FileIO
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from mypy.options import Options


def _sources(folder: str | Path) -> Iterator[bytes]:
    """Read the sources of the plugin, in order; every run of mypy does, and pathlib takes longer."""
    for entry in sorted(os.scandir(folder), key=attrgetter("name")):
        if entry.is_dir():
            yield from _sources(entry.path)
        elif entry.name.endswith(".py"):
            with FileIO(entry.path) as file:
                yield file.readall()


VERSION = hashlib.sha256(b"".join(_sources(Path(__file__).parent))).hexdigest()
CHOICES = ("note", "error", "off")
_YES, _NO = ("true", "yes", "on", "1", True), ("false", "no", "off", "0", False)
_VALUES: dict[str, dict[Any, object]] = {
    "unvaried": {choice: choice for choice in CHOICES},
    "require_axes": {**dict.fromkeys(_YES, True), **dict.fromkeys(_NO, False)},
}


class Settings(NamedTuple):
    """The settings of the plugin."""

    unvaried: str | None = None
    """The severity of messages about results that are not batched; None if it is not set."""
    require_axes: bool = False
    errors: tuple[str, ...] = ()
    """What is wrong in the section."""


def read_settings(options: Options) -> Settings:
    """Read `[branded]` in mypy's configuration file, or `[tool.branded]` in it or in the nearest pyproject.toml."""
    path = Path(options.config_file) if options.config_file else None
    place, section = _read_section(path) if path is not None else ("", None)
    if section is None:
        place, section = _read_section(_project_file(path.parent if path is not None else Path()))
    found = section or {}
    wrong = [f"unrecognized option: {name} = {value!r}" for name, value in found.items() if name not in _VALUES]
    values: dict[str, Any] = {}
    for name, choices in _VALUES.items():
        if name not in found:
            continue
        value = found[name]
        key = value.lower() if isinstance(value, str) else value
        if isinstance(key, str | bool) and key in choices:
            values[name] = choices[key]
        else:
            shown = "note, error or off" if name == "unvaried" else "true or false"
            wrong.append(f"{name} must be {shown}, not {value!r}")
    return Settings(errors=tuple(f"{place}: {text}" for text in wrong), **values)


def _read_section(path: Path | None) -> tuple[str, dict[str, Any] | None]:
    """Return the name of the plugin's section in a file, and its options; None if there is no section."""
    if path is None or not path.is_file():
        return "", None
    if path.suffix == ".toml":
        try:
            section = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("branded")
        except ValueError:  # other tools report it
            return "", None
        return f"{path}: [tool.branded]", section if isinstance(section, dict) else None
    parser = configparser.RawConfigParser()
    parser.read(path, encoding="utf-8")
    return f"{path}: [branded]", dict(parser["branded"]) if parser.has_section("branded") else None


def _project_file(folder: Path) -> Path | None:
    folder = folder.absolute()
    return next((p for f in (folder, *folder.parents) if (p := f / "pyproject.toml").is_file()), None)


def config_data(path: str, unvaried: str, require_axes: bool) -> str:
    """Return the data that mypy stores with each module's cache: a new version or setting invalidates it.

    Stubs contain no calls, so the settings do not affect them.
    """
    return VERSION if path.endswith(".pyi") else f"{VERSION} {unvaried} {require_axes}"
