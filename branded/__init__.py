"""A type-directed vmap for tinygrad: brands zip where they are shared and broadcast where they are not."""

import contextlib
import gc
import importlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING


def _is_for_mypy_alone() -> bool:
    """Is this package imported by mypy, only because `branded.mypy`, the plugin, is in it?

    mypy with a warm cache takes less time than the import of tinygrad, so for the plugin nothing of that is imported.
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
    """No garbage is looked for in here, which takes a fourth of this import.

    What was made is put with what is old, or the search would come as soon as this ends.
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


__version__ = "0.1.0"
_for_mypy_alone = _is_for_mypy_alone()

if not _for_mypy_alone:
    with _without_collections():
        from branded import patches

        patches.install()  # before anything else takes what they replace

        from branded import cpu, tree
        from branded.brand import Brand, brand
        from branded.cpu import products as _products
        from branded.derivatives.api import grad, jvp, stop_gradient, value_and_grad, vjp
        from branded.derivatives.custom import custom_jvp, custom_vjp
        from branded.derivatives.custom_vmap import custom_vmap, sequential_vmap
        from branded.derivatives.jacobians import hessian, jacfwd, jacrev
        from branded.devices import shard
        from branded.errors import BrandedError
        from branded.loops.api import fori_loop, map, scan, while_loop
        from branded.loops.branches import cond, switch
        from branded.patches import hooks
        from branded.transforms.collectives import all_gather, axis_index, axis_size, pmax, pmean, pmin, psum
        from branded.transforms.exchanges import all_to_all, ppermute, psum_scatter
        from branded.transforms.jit import jit
        from branded.transforms.modules import functional_call, stack_module_state
        from branded.tree import register_pytree_node
        from branded.values import brands, lift, unvec, vec_type
        from branded.vec import Vec
        from branded.vmap import vmap

        cpu.install()
        hooks.install()
        _products.install()

if TYPE_CHECKING:
    from branded import dask as dask
    from branded import linalg, optim, random
    from branded.axis_names import Axes, as_axes, axes
    from branded.callbacks import debug
    from branded.callbacks.api import io_callback, pure_callback
    from branded.callbacks.trees import ShapeDtypeStruct
    from branded.derivatives.remat import checkpoint, remat
    from branded.functions import (
        argwhere,
        array,
        betaln,
        bincount,
        convolve,
        cross,
        digamma,
        erfinv,
        fft,
        histogram,
        ifft,
        interp,
        irfft,
        kron,
        lgamma,
        logaddexp,
        median,
        nanmax,
        nanmean,
        nanmedian,
        nanmin,
        nanquantile,
        nanstd,
        nansum,
        nanvar,
        nonzero,
        outer,
        percentile,
        quantile,
        rfft,
        searchsorted,
        segment_max,
        segment_min,
        segment_prod,
        segment_sum,
        take_along_axis,
        top_k,
        trace,
        unique,
    )
    from branded.loops.associative import associative_scan, cumlogsumexp
    from branded.planning.report import memory
    from branded.program import make_expr
else:
    _LATER = {
        "Axes": "branded.axis_names:Axes",
        "ShapeDtypeStruct": "branded.callbacks.trees:ShapeDtypeStruct",
        "as_axes": "branded.axis_names:as_axes",
        "associative_scan": "branded.loops.associative:associative_scan",
        "axes": "branded.axis_names:axes",
        "checkpoint": "branded.derivatives.remat:checkpoint",
        "cumlogsumexp": "branded.loops.associative:cumlogsumexp",
        "dask": "branded.dask",  # not in `__all__`: `from branded import *` would hide the package of that name
        "debug": "branded.callbacks.debug",
        "functions": "branded.functions",
        "io_callback": "branded.callbacks.api:io_callback",
        "linalg": "branded.linalg",
        "make_expr": "branded.program:make_expr",
        "memory": "branded.planning.report:memory",
        "optim": "branded.optim",
        "program": "branded.program",
        "pure_callback": "branded.callbacks.api:pure_callback",
        "random": "branded.random",
        "remat": "branded.derivatives.remat:remat",
    }

    def __getattr__(name: str) -> object:
        """What is imported when it is first used: a module, or a name of one behind a colon.  Checkers see imports.

        What else is in `__all__`, and was not imported above, is a function of arrays.
        """
        where = _LATER.get(name) or (f"branded.functions:{name}" if name in __all__ else None)
        if where is None or _for_mypy_alone:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, attribute = where.partition(":")
        found = importlib.import_module(module)
        globals()[name] = found = getattr(found, attribute) if attribute else found
        return found

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
    "erfinv",
    "fft",
    "fori_loop",
    "functional_call",
    "grad",
    "hessian",
    "histogram",
    "ifft",
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
