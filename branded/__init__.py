"""A type-directed `vmap` for tinygrad.

Operations zip along the brands that their operands share and broadcast along the brands that they do not share.
"""

import contextlib
import gc
import importlib
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any


def _is_for_mypy_alone() -> bool:
    """Return whether mypy imports this package only for its plugin, `branded.mypy`.

    mypy with a warm cache takes less time than importing tinygrad, so the plugin imports only itself.
    """
    if "mypy.build" not in sys.modules:
        return False
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if "importlib" in frame.f_code.co_filename and frame.f_locals.get("name") == "branded.mypy":
            return True
    return False


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Disable garbage collection, which takes a quarter of the time of this import.

    The new objects are then moved to the oldest generation; else a collection would run immediately afterwards.
    """
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if is_on:
            gc.enable()


_MOVED = {
    "branded.cpu": "branded.backends.cpu",
    "branded.derivatives": "branded.autodiff",
    "branded.derivatives.forward": "branded.autodiff.forward",
    "branded.patches": "branded.tinygrad_compat",
    "branded.patches.arrays": "branded.tinygrad_compat.lazy_numpy",
    "branded.picture": "branded.learn.picture",
    "branded.planning": "branded.chunking",
    "branded.planning.report": "branded.tools.memory_report",
    "branded.primitive": "branded.graph.primitive",
    "branded.profiling": "branded.tools.profile",
    "branded.program": "branded.ir",
    "branded.program.expr": "branded.ir.expr",
    "branded.rows": "branded.graph.rows",
    "branded.transforms": "branded.collectives",
    "branded.transforms.collectives": "branded.collectives.reductions",
    "branded.transforms.exchanges": "branded.collectives.exchanges",
    "branded.transforms.jit": "branded.compile.jit",
    "branded.transforms.modules": "branded.nn.modules",
    "branded.values": "branded.core.values",
}
"""Current names of modules that documents for earlier versions import by other names."""


class _MovedModules:
    """A finder that imports a module of `_MOVED` under its earlier name, as the same module object."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        # no subclass of importlib.abc.Loader: that import takes time and collects garbage
        loader: Any = self
        return ModuleSpec(name, loader, is_package=True) if name in _MOVED else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(_MOVED[module.__name__])


_MODULES = "_branded_modules"
"""The attribute of tinygrad that has the modules of the import that installed the hooks."""


def _restore_first_import() -> bool:
    """Return whether this tinygrad already has the hooks of an earlier import, and restore the modules of that import.

    A program that deletes entries of `sys.modules` and imports again would install all hooks twice.
    """
    first = vars(sys.modules.get("tinygrad", sys)).get(_MODULES, {})
    sys.modules.update(first)
    return bool(first)


__version__ = "0.1.0"
_for_mypy_alone = _is_for_mypy_alone()

if not _for_mypy_alone and not _restore_first_import():
    sys.meta_path.insert(0, _MovedModules())

    with _without_collections():
        from branded import tinygrad_compat
        from branded.tinygrad_compat.fixes.runtime import thread_safety as _threads

        tinygrad_compat.check_tinygrad()
        if "threads" in tinygrad_compat.installed:
            _threads.install_tables()  # before other imports copy the tables that it replaces
        tinygrad_compat.install_early()

        from branded import tree
        from branded.autodiff.api import grad, jvp, stop_gradient, value_and_grad, vjp
        from branded.autodiff.custom_rules.custom_derivatives import custom_jvp, custom_vjp
        from branded.autodiff.jacobians import hessian, jacfwd, jacrev
        from branded.backends import cpu
        from branded.backends.cpu.gemm import match as _products
        from branded.chunking import chunked_call as _chunking
        from branded.collectives.exchanges import all_to_all, ppermute, psum_scatter
        from branded.collectives.reductions import all_gather, axis_index, axis_size, pmax, pmean, pmin, psum
        from branded.compile.jit import jit
        from branded.control_flow.cond import cond, switch
        from branded.control_flow.custom_vmap import custom_vmap, sequential_vmap
        from branded.control_flow.loops import fori_loop, map, scan, while_loop
        from branded.core.brand import Brand, brand
        from branded.core.sharding import shard
        from branded.core.values import brands, lift, unvec, vec_type
        from branded.core.vmap import vmap
        from branded.errors import BrandedError
        from branded.hooks import elementwise as _elementwise
        from branded.hooks import registry as _hooks
        from branded.nn.modules import functional_call, stack_module_state
        from branded.tinygrad_compat import activation as _activation
        from branded.tinygrad_compat import c_compiler as _c_compiler
        from branded.tinygrad_compat import features as _features
        from branded.tinygrad_compat.activation import enable
        from branded.tree import register_pytree_node, static
        from branded.vec import Vec

        if _features.fits("compiler"):
            _c_compiler.choose()
        _elementwise.install()
        _chunking.install()
        _activation.installers[:0] = (
            *(tinygrad_compat.install_patches, cpu.install),
            *(_hooks.install, _products.install),
        )
        _activation.enable_from_environment()

    _modules = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "branded"}
    vars(sys.modules["tinygrad"])[_MODULES] = _modules

if TYPE_CHECKING:
    from branded import dask as dask
    from branded import linalg, optim, random
    from branded.autodiff.remat import checkpoint, remat
    from branded.callbacks import debug
    from branded.callbacks.api import io_callback, pure_callback
    from branded.callbacks.trees import ShapeDtypeStruct
    from branded.control_flow.associative_scan import associative_scan, cumlogsumexp
    from branded.core.axis_names import Axes, as_axes, axes
    from branded.functions import *
    from branded.ir import make_expr
    from branded.tools.memory_report import memory
else:
    _LATER = {
        "Axes": "branded.core.axis_names:Axes",
        "ShapeDtypeStruct": "branded.callbacks.trees:ShapeDtypeStruct",
        "as_axes": "branded.core.axis_names:as_axes",
        "associative_scan": "branded.control_flow.associative_scan:associative_scan",
        "axes": "branded.core.axis_names:axes",
        "checkpoint": "branded.autodiff.remat:checkpoint",
        "cumlogsumexp": "branded.control_flow.associative_scan:cumlogsumexp",
        "dask": "branded.dask",  # not in `__all__`: `from branded import *` would hide the package of that name
        "debug": "branded.callbacks.debug",
        "functions": "branded.functions",
        "io_callback": "branded.callbacks.api:io_callback",
        "linalg": "branded.linalg",
        "make_expr": "branded.ir:make_expr",
        "memory": "branded.tools.memory_report:memory",
        "optim": "branded.optim",
        "program": "branded.ir",
        "pure_callback": "branded.callbacks.api:pure_callback",
        "random": "branded.random",
        "remat": "branded.autodiff.remat:remat",
    }

    def __getattr__(name: str) -> object:
        """Import a public name at its first use: a module, or `module:name`.  Type checkers see the imports above.

        Any other name of `__all__` is a function of `branded.functions`.
        """
        where = _LATER.get(name) or (f"branded.functions:{name}" if name in __all__ else None)
        if where is None or _for_mypy_alone:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, attribute = where.partition(":")
        attr = importlib.import_module(module)
        globals()[name] = attr = getattr(attr, attribute) if attribute else attr
        return attr

    def __dir__() -> list[str]:
        return sorted({*globals(), *_LATER, *__all__})


__all__ = [
    "Axes",
    "Brand",
    "BrandedError",
    "ShapeDtypeStruct",
    "Vec",
    "all_gather",
    "all_to_all",
    "argwhere",
    "array",
    "as_axes",
    "associative_scan",
    "axes",
    "axis_index",
    "axis_size",
    "betaln",
    "bincount",
    "brand",
    "brands",
    "checkpoint",
    "cond",
    "convolve",
    "cross",
    "cumlogsumexp",
    "custom_jvp",
    "custom_vjp",
    "custom_vmap",
    "debug",
    "digamma",
    "dynamic_slice",
    "dynamic_update_slice",
    "enable",
    "erfinv",
    "fft",
    "fori_loop",
    "functional_call",
    "grad",
    "hessian",
    "histogram",
    "ifft",
    "index_add",
    "index_max",
    "index_min",
    "index_mul",
    "index_update",
    "interp",
    "io_callback",
    "irfft",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "kron",
    "lgamma",
    "lift",
    "linalg",
    "logaddexp",
    "make_expr",
    "map",
    "median",
    "memory",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "nonzero",
    "optim",
    "outer",
    "percentile",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "psum",
    "psum_scatter",
    "pure_callback",
    "quantile",
    "random",
    "register_pytree_node",
    "remat",
    "rfft",
    "scan",
    "searchsorted",
    "segment_max",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "sequential_vmap",
    "shard",
    "stack_module_state",
    "static",
    "stop_gradient",
    "switch",
    "take_along_axis",
    "top_k",
    "trace",
    "tree",
    "unique",
    "unvec",
    "value_and_grad",
    "vec_type",
    "vjp",
    "vmap",
    "while_loop",
]
