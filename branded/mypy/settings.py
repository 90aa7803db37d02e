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
SECTION, KEY = "branded", "unvaried"
CHOICES = ("note", "error", "off")


def unvaried_setting(options: Options) -> str:
    """Return the setting `unvaried`, from `[branded]` in mypy.ini or `[tool.branded]` in a TOML file."""
    value = setting(options, KEY)
    return str(value) if value in CHOICES else CHOICES[0]


def setting(options: Options, key: str) -> object:
    """Return a setting of the plugin; None if it is not set."""
    path = Path(options.config_file) if options.config_file else None
    if path is None or not path.is_file():
        return None
    if path.suffix == ".toml":
        return tomllib.loads(path.read_text()).get("tool", {}).get(SECTION, {}).get(key)
    parser = configparser.RawConfigParser()
    parser.read(path)
    return parser.get(SECTION, key, fallback=None)


def require_axes_setting(options: Options) -> bool:
    return str(setting(options, "require_axes")).lower() == "true"


def config_data(path: str, unvaried: str, require_axes: bool) -> str:
    """Return the data that mypy stores with each module's cache: a new version or setting invalidates it.

    Stubs contain no calls, so the settings do not affect them.
    """
    return VERSION if path.endswith(".pyi") else f"{VERSION} {unvaried} {require_axes}"
