"""Random sampling from keys, with the same values inside and outside `vmap`.

A random sample is a function of its key.

A key is an ordinary tensor, uint32[2].  It can be mapped, carried by a loop, stored in a pytree, or passed to a TinyJit
like any other value.  No other state exists: the same key gives the same values, and new values need a new key, from
`split` or `fold_in`.

The values match `jax.random` of JAX 0.10 with its defaults (threefry2x32, partitionable, low modes).  They match bit
for bit for `key`, `split`, `fold_in`, `bits`, `randint`, `permutation`, `bernoulli`, `uniform` over [0, 1), and
`choice` without `p`.  As in JAX, the last bits depend on the device where a logarithm is computed: `normal`,
`exponential`, `gumbel`, `truncated_normal`.  The last bits of `uniform` over other ranges depend on
whether a compiler fuses a product with a sum.  A sample of `categorical`, or of `choice` with `p`, differs if such a
bit decides between two entries.

Example:
    >>> from branded import random, vmap
    >>> keys = random.split(random.key(0), 3)
    >>> vmap(random.uniform)(keys).tolist() == [random.uniform(k).item() for k in keys]
    True

Source: `jax.random`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from branded.core.entry import publish
from branded.random.distributions import exponential, gumbel, normal, truncated_normal
from branded.random.keys import fold_in, key, split
from branded.random.selection import categorical, choice, permutation
from branded.random.uniforms import bernoulli, bits, randint, uniform

if TYPE_CHECKING:
    from branded.random.further_distributions import (
        laplace,
        logistic,
        multivariate_normal,
        orthogonal,
        pareto,
        poisson,
    )
    from branded.random.gammas import beta, chisquare, dirichlet, gamma, loggamma, t

__all__ = [
    "bernoulli",
    "beta",
    "bits",
    "categorical",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "fold_in",
    "gamma",
    "gumbel",
    "key",
    "laplace",
    "loggamma",
    "logistic",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "randint",
    "split",
    "t",
    "truncated_normal",
    "uniform",
]

_MODULES = {
    "gammas": ("beta", "chisquare", "dirichlet", "gamma", "loggamma", "t"),
    "further_distributions": (
        "laplace",
        "logistic",
        "multivariate_normal",
        "orthogonal",
        "pareto",
        "poisson",
    ),
}
"""The functions that need loops or linear algebra, whose modules are imported at their first use."""

if not TYPE_CHECKING:  # a type checker would accept any name from it

    def __getattr__(name: str) -> Any:
        module = next((m for m, names in _MODULES.items() if name in names), None)
        if module is None:
            raise AttributeError(f"module 'branded.random' has no attribute {name!r}")
        globals()[name] = getattr(importlib.import_module(f"branded.random.{module}"), name)
        publish(__name__, [name])
        return globals()[name]


publish(__name__, __all__)
