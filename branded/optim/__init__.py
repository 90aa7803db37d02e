"""Optimizers as pairs of functions, in optax's form.

The functions are `init(params)` and `update(grads, state, params)`.

The state is a pytree of tensors, so `jit`, `scan` and `vmap` accept a training step.  One `vmap` trains an ensemble
whose members have different learning rates.

Example:
    >>> from branded import optim, scan, value_and_grad
    >>> from tinygrad import Tensor
    >>> opt = optim.adam(0.5)
    >>> def step(carry, _):
    ...     params, state = carry
    ...     loss, grads = value_and_grad(lambda p: (p - 3).square().sum())(params)
    ...     updates, state = opt.update(grads, state, params)
    ...     return (optim.apply_updates(params, updates), state), loss
    >>> params = Tensor([0.0, 1.0])
    >>> (params, state), losses = scan(step, (params, opt.init(params)), length=100)
    >>> [round(x, 1) for x in params.tolist()]
    [3.0, 3.0]

Source: optax.
"""

from branded.core.entry import publish
from branded.optim.base import EmptyState, GradientTransformation, OptState, apply_updates, chain, global_norm, identity
from branded.optim.implicit import RootResults, fixed_point, root
from branded.optim.minimize import OptimizeResults, minimize
from branded.optim.moments import scale_by_adam, scale_by_lion, scale_by_rms, scale_by_rss, scale_by_stddev, trace
from branded.optim.optimizers import adagrad, adam, adamw, lamb, lion, rmsprop, sgd
from branded.optim.scaling import (
    add_decayed_weights,
    clip,
    clip_by_global_norm,
    scale,
    scale_by_learning_rate,
    scale_by_schedule,
    scale_by_trust_ratio,
)
from branded.optim.schedules import (
    constant_schedule,
    cosine_decay_schedule,
    exponential_decay,
    join_schedules,
    linear_schedule,
    polynomial_schedule,
    warmup_cosine_decay_schedule,
    warmup_exponential_decay_schedule,
)

__all__ = [
    "EmptyState",
    "GradientTransformation",
    "OptState",
    "OptimizeResults",
    "RootResults",
    "adagrad",
    "adam",
    "adamw",
    "add_decayed_weights",
    "apply_updates",
    "chain",
    "clip",
    "clip_by_global_norm",
    "constant_schedule",
    "cosine_decay_schedule",
    "exponential_decay",
    "fixed_point",
    "global_norm",
    "identity",
    "join_schedules",
    "lamb",
    "linear_schedule",
    "lion",
    "minimize",
    "polynomial_schedule",
    "rmsprop",
    "root",
    "scale",
    "scale_by_adam",
    "scale_by_learning_rate",
    "scale_by_lion",
    "scale_by_rms",
    "scale_by_rss",
    "scale_by_schedule",
    "scale_by_stddev",
    "scale_by_trust_ratio",
    "sgd",
    "trace",
    "warmup_cosine_decay_schedule",
    "warmup_exponential_decay_schedule",
]

publish(__name__, __all__)
