"""The mypy plugin: `plugins = branded.mypy`.

The typing rule: `vmap(f, …)(x, y)` has the type of `f(x', y')`. Here `x'` is `x` with a fresh brand added to the rows
that `in_axes` maps. The brand is then removed from the result. If it still occurs, it has escaped.

A row is the set of brands in `Vec[S | S1]`. Start with `hooks`, then `transforms/mapping`.

- `deferred`             the plugin as mypy starts it, which imports its hooks when a run has tensors
- `late_modules`         imports of modules that most files do not need
- `hooks`                the table of the hooks that mypy calls
- `settings`, `codes`    the plugin's settings and version, and its error codes
- `check`                the command `branded check`, with `notebooks` and `output` for its inputs and formats
- `error_notes`          notes under mypy's own errors about brands
- `stored_types`         the types of a checked file, as mypy's cache keeps them
- `failures`             an error instead of a crash, if a hook fails

`rows`: the brands in types.

- `algebra`         rows, and the trees of values that carry them
- `brand_env`       fresh brands, and the brands that are open
- `batch_kinds`     whether a value is, holds or may hold a batched tensor
- `consequences`    which errors of mypy follow from errors of the plugin
- `leaves`          leaves that can be mapped over, and leaves that can be stacked
- `callables`       signatures of callables, and synthetic calls
- `operands`        the rows that the operands of a call contribute
- `widening`        containers with narrower rows as arguments
- `displays`        the type of `[a, b]` with two rows
- `injected_calls`  calls injected into a file, for patterns and truth values
- `injected_values` calls injected around displays, and around functions without a name
- `reporting`       errors, each place once, also where a body is checked several times
- `results`         results of calls: plain tensors, brands entered and left
- `operators`       `operator.add(x, y)`, and functions in a cache
- `static_fields`   fields of dataclasses that are not leaves
- `hints`           notes and fixes for mypy's own errors about rows

`axes`: the named axes in `Axes[...]`.

`shapes`: an abstract interpreter, which follows the shapes of a file's data through its functions.

- `values`, `state`       facts about a value, and about the file that is followed
- `evaluate`, `execute`   expressions and statements; `objects`: attributes and new objects
- `tensors`, `libraries`, `iterables`  methods of tensors by the rules of `axes`, and calls of libraries and of Python
- `rules`                 results with other lengths, functions of branded, layers, optimizers and derivatives
- `mapping`, `loops`      vmap, scan and other loops
- `brands`                reads, conditions and escapes of values that are certain to be batched
- `other_files`, `shared_results`  functions of other files, and results that several files use
- `report`, `suggest`     the errors at the end of a file, and `branded check --suggest`

`transforms`: the rules of vmap and the other transforms.

- `vmap`            when the rule has its arguments: `vmap(f)(x)`, `vmap(f)`, `@vmap(in_axes=1)`
- `mapping`         the typing rule, which names its steps: `in_axes`, `example_call`, `out_axes`
- `options`         the options of a vmap
- `in_axes`         `in_axes` and `out_axes`, read as literals, and compared with the arguments
- `example_call`    the call of the function with the arguments of one example
- `out_axes`        the result of all examples
- `function_calls`  calls of the functions passed to transforms, and trees that must agree
- `derivatives`, `control_flow`, `collectives`, `custom_rules`, `optimizers`, `trees`  the other transforms

`analysis`: checks of function bodies.

- `source.walk`, `source.syntax`, `recheck`  traversals, and a second check of a body with other types
- `memoize`, `caches`  cached types in the body of a lambda, cached results about functions
- `source_digest`     a digest of each source, for mypy's cache: importers look into its bodies
- `untyped_modules`, `plain_functions`, `source.computed_bodies`  functions of files without `Vec`
- `source.handed_functions`  functions of tensors that are passed to generic functions
- `escape_analysis`, `stores`  batched values that a mapped function stores, and brands that are lost
- `dependence`, `function_source`  the arguments that a result depends on
- `unused_batch`      batches that were closed over
- `source.reads`      reads in the source of functions; `source.finder` follows it
- `needed_names`, `open_names`  names of brands that a function's collectives need, or its callers may open
- `searches`          `x in xs` and `xs.index(x)`
- `source.conditions` fixes for conditions that vary, with the user's code
- `reads`             operations that need a single value: numpy(), bool(), `if a > 0`
- `external_calls`, `narrowing`, `indexing`  math and numpy; isinstance and `case`; slices and `+=`
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from branded.mypy.deferred import DeferredPlugin
from branded.mypy.settings import VERSION


def _other_stubs() -> str | None:
    """Return the version of the package `tinygrad-stubs` if it is installed; importlib.metadata is slow to import."""
    if not any(found for folder in sys.path for found in Path(folder).glob("tinygrad_stubs-*")):
        return None
    from importlib import metadata

    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version("tinygrad-stubs")
    return None


def plugin(version: str) -> type[DeferredPlugin]:
    """Return the plugin class; mypy calls this function."""
    if getattr(sys.modules.get("branded"), "_for_mypy_alone", False):
        del sys.modules["branded"]  # an empty stand-in: a later import in this process gets the real package
    if (version_of_stubs := _other_stubs()) is not None:
        foreign = f"tinygrad-stubs {version_of_stubs}"
        print(
            f"branded: the package {foreign} has replaced the stubs of branded, so brands are not checked\n"
            "  try:   pip uninstall tinygrad-stubs, then pip install --force-reinstall --no-deps branded",
            file=sys.stderr,
        )
    return DeferredPlugin


__all__ = ["DeferredPlugin", "plugin"]
__version__ = VERSION
