"""Optimizers with the names, options and results of optax, as chains of `scaling.py` and `moments.py`."""

from __future__ import annotations

from tinygrad.dtype import DTypeLike

from branded.optim.base import GradientTransformation, Mask, Number, chain_of, number
from branded.optim.moments import momentum as momentum_of
from branded.optim.moments import scale_by_adam, scale_by_lion, scale_by_rms, scale_by_rss, scale_by_stddev
from branded.optim.scaling import add_decayed_weights, scale_by_learning_rate, scale_by_trust_ratio
from branded.optim.schedules import Rate


def sgd(
    learning_rate: Rate,
    momentum: Number | None = None,
    nesterov: bool = False,
    accumulator_dtype: DTypeLike | None = None,
) -> GradientTransformation:
    """Return stochastic gradient descent: updates are `-learning_rate * grads`, optionally with momentum.

    Args:
        learning_rate: A number, a scalar tensor (which may differ between examples), or a schedule.
        momentum: The decay of the momentum; None disables it.
        nesterov: Whether to use Nesterov momentum, which applies the next momentum step in advance.
        accumulator_dtype: The dtype of the momentum; None uses the dtype of the parameters.

    Returns:
        A `GradientTransformation`: `init(params)`, `update(grads, state, params)`.

    Raises:
        OptionError: A hyperparameter is not a number.

    Example:
        >>> from branded import optim, value_and_grad, vmap
        >>> from tinygrad import Tensor
        >>> def trained(rate):
        ...     opt, p = optim.sgd(rate), Tensor(1.0)
        ...     state = opt.init(p)
        ...     for _ in range(3):
        ...         loss, g = value_and_grad(lambda p: p * p)(p)
        ...         updates, state = opt.update(g, state)
        ...         p = optim.apply_updates(p, updates)
        ...     return p
        >>> [round(x, 4) for x in vmap(trained)(Tensor([0.0, 0.25, 0.5])).tolist()]
        [1.0, 0.125, 0.0]

    Source: optax, `sgd`.
    """
    _check_numbers("sgd", learning_rate, momentum=momentum)
    return chain_of("sgd", momentum_of(momentum, nesterov, accumulator_dtype), scale_by_learning_rate(learning_rate))


def adam(
    learning_rate: Rate,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-8,
    eps_root: Number = 0.0,
    mu_dtype: DTypeLike | None = None,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Return Adam: updates are the mean of the gradients over the root of the mean of their squares.

    Args:
        learning_rate: A number, a scalar tensor (which may differ between examples), or a schedule.
        b1: The decay of the mean of the gradients.
        b2: The decay of the mean of their squares.
        eps: A constant that is added to the root.
        eps_root: A constant that is added under the root.
        mu_dtype: The dtype of the mean of the gradients; None uses the dtype of the parameters.
        nesterov: Whether to use Nesterov momentum, which applies the next momentum step in advance.

    Returns:
        A `GradientTransformation`: `init(params)`, `update(grads, state, params)`.

    Raises:
        OptionError: A hyperparameter is not a number.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> opt, params = optim.adam(0.1), {"w": Tensor([1.0, -1.0])}
        >>> updates, state = opt.update({"w": Tensor([4.0, -0.5])}, opt.init(params), params)
        >>> [round(x, 4) for x in optim.apply_updates(params, updates)["w"].tolist()]
        [0.9, -0.9]

    Source: optax, `adam`; Kingma and Ba 2015.
    """
    _check_numbers("adam", learning_rate, b1=b1, b2=b2, eps=eps, eps_root=eps_root)
    return chain_of(
        "adam", scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov), scale_by_learning_rate(learning_rate)
    )


def adamw(
    learning_rate: Rate,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-8,
    eps_root: Number = 0.0,
    mu_dtype: DTypeLike | None = None,
    weight_decay: Number = 1e-4,
    mask: Mask = None,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Return Adam with weight decay.

    Args:
        learning_rate: A number, a scalar tensor (which may differ between examples), or a schedule.
        b1: The decay of the mean of the gradients.
        b2: The decay of the mean of their squares.
        eps: A constant that is added to the root.
        eps_root: A constant that is added under the root.
        mu_dtype: The dtype of the mean of the gradients; None uses the dtype of the parameters.
        weight_decay: The fraction of the parameters to subtract at each step, times the learning rate.
        mask: A pytree of bools that selects the parameters to decay, or a function of the parameters that returns it.
        nesterov: Whether to use Nesterov momentum, which applies the next momentum step in advance.

    Returns:
        A `GradientTransformation` whose update requires the parameters.

    Raises:
        OptionError: A hyperparameter is not a number.
        StateError: The update is called without the parameters.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> opt, p = optim.adamw(0.1, weight_decay=0.5), Tensor([2.0])
        >>> updates, state = opt.update(Tensor([3.0]), opt.init(p), p)
        >>> [round(x, 4) for x in updates.tolist()]
        [-0.2]

    Source: optax, `adamw`; Loshchilov and Hutter 2019.
    """
    _check_numbers("adamw", learning_rate, b1=b1, b2=b2, eps=eps, eps_root=eps_root, weight_decay=weight_decay)
    return chain_of(
        "adamw",
        scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
        needs_params=True,
    )


def rmsprop(
    learning_rate: Rate,
    decay: Number = 0.9,
    eps: Number = 1e-8,
    initial_scale: Number = 0.0,
    eps_in_sqrt: bool = True,
    centered: bool = False,
    momentum: Number | None = None,
    nesterov: bool = False,
) -> GradientTransformation:
    """Return RMSProp: updates are the gradients over the root of the mean of their squares.

    Args:
        learning_rate: A number, a scalar tensor (which may differ between examples), or a schedule.
        decay: The decay of the mean.
        eps: A constant that is added to the mean or to the root.
        initial_scale: The initial mean.
        eps_in_sqrt: Whether `eps` is added under the root.  torch adds it to the root.
        centered: Whether to divide by the standard deviation instead.
        momentum: The decay of the momentum; None disables it.
        nesterov: Whether to use Nesterov momentum, which applies the next momentum step in advance.

    Returns:
        A `GradientTransformation`: `init(params)`, `update(grads, state, params)`.

    Raises:
        OptionError: A hyperparameter is not a number.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> opt, p = optim.rmsprop(0.1, decay=0.75), Tensor([2.0])
        >>> [round(x, 4) for x in opt.update(Tensor([3.0]), opt.init(p))[0].tolist()]
        [-0.2]

    Source: optax, `rmsprop`; Hinton 2012.
    """
    _check_numbers("rmsprop", learning_rate, decay=decay, eps=eps, initial_scale=initial_scale, momentum=momentum)
    scaled = (scale_by_stddev if centered else scale_by_rms)(decay, eps, initial_scale, eps_in_sqrt)
    return chain_of("rmsprop", scaled, scale_by_learning_rate(learning_rate), momentum_of(momentum, nesterov))


def adagrad(learning_rate: Rate, initial_accumulator_value: Number = 0.1, eps: Number = 1e-7) -> GradientTransformation:
    """Return Adagrad: updates are the gradients over the root of the sum of all their squares.

    Args:
        learning_rate: A number, a scalar tensor (which may differ between examples), or a schedule.
        initial_accumulator_value: The initial sum.
        eps: A constant that is added under the root.

    Returns:
        A `GradientTransformation`: `init(params)`, `update(grads, state, params)`.

    Raises:
        OptionError: A hyperparameter is not a number.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> opt, p = optim.adagrad(0.1, initial_accumulator_value=0.0), Tensor([2.0])
        >>> [round(x, 4) for x in opt.update(Tensor([3.0]), opt.init(p))[0].tolist()]
        [-0.1]

    Source: optax, `adagrad`; Duchi et al. 2011.
    """
    _check_numbers("adagrad", learning_rate, initial_accumulator_value=initial_accumulator_value, eps=eps)
    return chain_of("adagrad", scale_by_rss(initial_accumulator_value, eps), scale_by_learning_rate(learning_rate))


def lion(
    learning_rate: Rate,
    b1: Number = 0.9,
    b2: Number = 0.99,
    mu_dtype: DTypeLike | None = None,
    weight_decay: Number = 1e-3,
    mask: Mask = None,
) -> GradientTransformation:
    """Return Lion: updates are `-learning_rate` times the sign of a mean of the gradients.

    Args:
        learning_rate: A number, a scalar tensor (which may differ between examples), or a schedule.
        b1: The weight of the mean in the update; the gradient has the weight `1 - b1`.
        b2: The decay of the mean.
        mu_dtype: The dtype of the mean; None uses the dtype of the parameters.
        weight_decay: The fraction of the parameters to subtract at each step, times the learning rate.
        mask: A pytree of bools that selects the parameters to decay, or a function of the parameters that returns it.

    Returns:
        A `GradientTransformation` whose update requires the parameters.

    Raises:
        OptionError: A hyperparameter is not a number.
        StateError: The update is called without the parameters.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> opt, p = optim.lion(0.5, weight_decay=0.0), Tensor([2.0, 2.0])
        >>> opt.update(Tensor([3.0, -0.1]), opt.init(p), p)[0].tolist()
        [-0.5, 0.5]

    Source: optax, `lion`; Chen et al. 2023.
    """
    _check_numbers("lion", learning_rate, b1=b1, b2=b2, weight_decay=weight_decay)
    return chain_of(
        "lion",
        scale_by_lion(b1, b2, mu_dtype),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
        needs_params=True,
    )


def lamb(
    learning_rate: Rate,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-6,
    eps_root: Number = 0.0,
    weight_decay: Number = 0.0,
    mask: Mask = None,
) -> GradientTransformation:
    """Return LAMB: Adam whose updates are rescaled, leaf by leaf, to the norm of the parameters.

    Args:
        learning_rate: A number, a scalar tensor (which may differ between examples), or a schedule.
        b1: The decay of the mean of the gradients.
        b2: The decay of the mean of their squares.
        eps: A constant that is added to the root.
        eps_root: A constant that is added under the root.
        weight_decay: The fraction of the parameters to add to the update before it is rescaled.
        mask: A pytree of bools that selects the parameters to decay, or a function of the parameters that returns it.

    Returns:
        A `GradientTransformation` whose update requires the parameters.

    Raises:
        OptionError: A hyperparameter is not a number.
        StateError: The update is called without the parameters.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> opt, p = optim.lamb(0.5), Tensor([2.0])
        >>> [round(x, 4) for x in opt.update(Tensor([3.0]), opt.init(p), p)[0].tolist()]
        [-1.0]

    Source: optax, `lamb`; You et al. 2020.
    """
    _check_numbers("lamb", learning_rate, b1=b1, b2=b2, eps=eps, eps_root=eps_root, weight_decay=weight_decay)
    return chain_of(
        "lamb",
        scale_by_adam(b1, b2, eps, eps_root),
        add_decayed_weights(weight_decay, mask),
        scale_by_trust_ratio(),
        scale_by_learning_rate(learning_rate),
        needs_params=True,
    )


def _check_numbers(api_name: str, learning_rate: Rate, **numbers: Number | None) -> None:
    """Raise `OptionError` unless the options of an optimizer are numbers or None."""
    if not callable(learning_rate):
        number(api_name, "learning_rate", learning_rate)
    for name, x in numbers.items():
        if x is not None:
            number(api_name, name, x)
