"""The plugin as mypy starts it. A run that finds every file in its cache calls no hook, so it imports none."""

from __future__ import annotations

import configparser
import hashlib
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mypy.nodes import MypyFile
from mypy.options import Options
from mypy.plugin import Plugin, ReportConfigContext

if TYPE_CHECKING:
    from branded.mypy.hooks import BrandedPlugin

VERSION = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(Path(__file__).parent.rglob("*.py")))).hexdigest()
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


def config_data(unvaried: str, require_axes: bool) -> str:
    """Return the data that mypy stores with each module's cache: a new version or setting invalidates it."""
    return f"{VERSION} {unvaried} {require_axes}"


HOOKS = (
    "get_additional_deps",
    "get_attribute_hook",
    "get_customize_class_mro_hook",
    "get_function_hook",
    "get_function_signature_hook",
    "get_method_hook",
    "get_method_signature_hook",
    "get_type_analyze_hook",
)
"""The methods of the plugin that mypy calls for files that it analyzes."""


class DeferredPlugin(Plugin):
    """The plugin, which imports and creates its hooks when mypy first calls one of `HOOKS`."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.unvaried, self.require_axes = unvaried_setting(options), require_axes_setting(options)
        self.created: BrandedPlugin | None = None

    def create(self) -> None:
        """Create the plugin, and let mypy call its methods from now on."""
        is_alone = sys.modules.setdefault("branded", stand_in := ModuleType("branded")) is stand_in
        from branded.mypy.hooks import BrandedPlugin

        if is_alone:
            del sys.modules["branded"]  # a later import in this process gets the real package
        self.created = BrandedPlugin(self.options)
        self.created.scope.unvaried = self.unvaried
        if self._modules is not None:
            self.created.set_modules(self._modules)
        vars(self).update({name: getattr(self.created, name) for name in HOOKS})

    def report_config_data(self, ctx: ReportConfigContext) -> str:
        """Return the data that mypy stores with each module's cache."""
        return config_data(self.unvaried, self.require_axes)

    def set_modules(self, modules: dict[str, MypyFile]) -> None:
        super().set_modules(modules)
        if self.created is not None:
            self.created.set_modules(modules)


def _creating(name: str) -> Callable[[DeferredPlugin, Any], Any]:
    def method(self: DeferredPlugin, argument: Any) -> Any:
        if self.created is None:
            self.create()
        return getattr(self.created, name)(argument)

    return method


for _name in HOOKS:
    setattr(DeferredPlugin, _name, _creating(_name))
