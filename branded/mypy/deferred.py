"""The plugin as mypy starts it. A run that finds every file in its cache calls no hook, so it imports none."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mypy.nodes import MypyFile
from mypy.options import Options
from mypy.plugin import Plugin, ReportConfigContext

from branded.mypy.settings import config_data, require_axes_setting, unvaried_setting

if TYPE_CHECKING:
    from branded.mypy.hooks import BrandedPlugin

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
        """Return the data that mypy stores with each module's cache, and complete a module before it is stored."""
        if not ctx.is_check and self._modules is not None and (module := self._modules.get(ctx.id)) is not None:
            if self.created is None:
                self.create()
            assert self.created is not None
            self.created.get_additional_deps(module)  # mypy may have parsed the file without calling it
        return config_data(ctx.path, self.unvaried, self.require_axes)

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
