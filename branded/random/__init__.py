"""Random numbers from keys, the same inside and outside vmap.

A random sample is a function of its key.

A key is an ordinary tensor, uint32[2].  It can be mapped, carried by a loop, kept in a tree, or passed to a TinyJit,
as any value.  Nothing else is remembered: the same key gives the same numbers, and new numbers need a new key, from
`split` or `fold_in`.

The numbers are those of `jax.random` in JAX 0.10 with its defaults (threefry2x32, partitionable, low modes).  Those of
`key`, `split`, `fold_in`, `bits`, `randint`, `permutation`, `bernoulli`, of `uniform` over [0, 1), and of `choice`
without `p`, are so bit for bit.  Where a logarithm is taken (`normal`, `exponential`, `gumbel`, `truncated_normal`), or
a product that compilers may fuse with a sum (`uniform` over other ranges), the last bits depend on the device, here as
there; so does what `categorical`, and `choice` with `p`, draw where such a bit decides.

Example:
    >>> from branded import random, vmap
    >>> keys = random.split(random.key(0), 3)
    >>> vmap(random.uniform)(keys).tolist() == [random.uniform(k).item() for k in keys]
    True

Source: `jax.random`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from branded.random.distributions import exponential, gumbel, normal, truncated_normal
from branded.random.keys import fold_in, key, split
from branded.random.selection import categorical, choice, permutation
from branded.random.uniforms import bernoulli, bits, randint, uniform

if TYPE_CHECKING:
    from branded.random.further_distributions import laplace, multivariate_normal, poisson
    from branded.random.gammas import beta, dirichlet, gamma, loggamma, t

__all__ = [
    "bernoulli",
    "beta",
    "bits",
    "categorical",
    "choice",
    "dirichlet",
    "exponential",
    "fold_in",
    "gamma",
    "gumbel",
    "key",
    "laplace",
    "loggamma",
    "multivariate_normal",
    "normal",
    "permutation",
    "poisson",
    "randint",
    "split",
    "t",
    "truncated_normal",
    "uniform",
]

_MODULES = {
    "gammas": ("beta", "dirichlet", "gamma", "loggamma", "t"),
    "more": ("laplace", "multivariate_normal", "poisson"),
}
"""Those that need loops or linear algebra are imported at their first use."""

if not TYPE_CHECKING:  # checkers would take any name for one that it gives

    def __getattr__(name: str) -> Any:
        module = next((m for m, names in _MODULES.items() if name in names), None)
        if module is None:
            raise AttributeError(f"module 'branded.random' has no attribute {name!r}")
        found = getattr(importlib.import_module(f"branded.random.{module}"), name)
        globals()[name] = found
        return found
