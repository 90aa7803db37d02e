"""The plugin as mypy starts it. It imports its hooks when a run analyzes a file and has branded or tinygrad.

A run that finds every file in its cache calls no hook, and other packages have no values that the hooks are about.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from mypy.nodes import MypyFile
from mypy.options import Options
from mypy.plugin import Plugin, ReportConfigContext

from branded.mypy.late_modules import without_package
from branded.mypy.settings import CHOICES, config_data, read_settings

if TYPE_CHECKING:
    from branded.mypy.hooks import BrandedPlugin

HOOKS = (
    "get_attribute_hook",
    "get_customize_class_mro_hook",
    "get_function_hook",
    "get_function_signature_hook",
    "get_method_hook",
    "get_method_signature_hook",
    "get_type_analyze_hook",
)
"""The methods of the plugin that select hooks for names."""


class DeferredPlugin(Plugin):
    """The plugin, which imports and creates its hooks when mypy first needs one of them."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.settings = read_settings(options)
        for error in self.settings.errors:
            print(error, file=sys.stderr)
        self.unvaried = self.settings.unvaried or CHOICES[0]
        self.created: BrandedPlugin | None = None

    def create(self) -> BrandedPlugin:
        """Create the plugin, and let mypy call its methods from now on."""
        with without_package():
            from branded.mypy.hooks import BrandedPlugin

        self.created = BrandedPlugin(self.options, self.unvaried, self.settings.require_axes)
        if self._modules is not None:
            self.created.set_modules(self._modules)
        vars(self).update({name: getattr(self.created, name) for name in HOOKS})
        return self.created

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Add the facts about a file's source; mypy calls this hook for each file that it has parsed."""
        forget, add_source_facts, _ = _functions_for_files()
        if self.options.fine_grained_incremental:
            forget()
        add_source_facts(file)
        return []

    def get_additional_indirect_deps(self, file: MypyFile) -> set[str]:
        """Remove what mypy's cache does not keep from a checked file, so that runs with and without it are the same."""
        if not self.options.fine_grained_incremental:  # the daemon checks functions of a checked file again
            _functions_for_files()[2](file)
        return set()

    def report_config_data(self, ctx: ReportConfigContext) -> str:
        """Return the data that mypy stores with each module's cache, and complete a module before it is stored."""
        if not ctx.is_check and self._modules is not None and (module := self._modules.get(ctx.id)) is not None:
            self.get_additional_deps(module)  # mypy may have parsed the file without calling it
        return config_data(ctx.path, self.unvaried, self.settings.require_axes)

    def set_modules(self, modules: dict[str, MypyFile]) -> None:
        super().set_modules(modules)
        if self.created is not None:
            self.created.set_modules(modules)


@cache
def _functions_for_files() -> tuple[Callable[[], None], Callable[[MypyFile], None], Callable[[MypyFile], None]]:
    """Return the functions that empty the caches, add the facts about a file, and remove facts that are not stored."""
    with without_package():
        from branded.mypy.analysis.caches import forget
        from branded.mypy.analysis.source_digest import add_source_facts
        from branded.mypy.stored_types import forget_definitions

    return forget, add_source_facts, forget_definitions


def _creating(name: str) -> Callable[[DeferredPlugin, str], object]:
    def method(self: DeferredPlugin, fullname: str) -> object:
        modules = self._modules or {}
        if "tinygrad" not in modules and "branded" not in modules:
            return None
        return getattr(self.created or self.create(), name)(fullname)

    return method


for _name in HOOKS:
    setattr(DeferredPlugin, _name, _creating(_name))
