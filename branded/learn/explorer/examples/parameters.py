"""A tree of parameters, mapped leaf by leaf."""

from tinygrad import Tensor

from branded import vmap

MODELS = {
    "w": Tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]]),
    "b": Tensor([0.5, 1.0, 1.5]),
}
X = Tensor([2.0, 1.0])


def parameters(
    models: dict[str, Tensor] = MODELS, x: Tensor = X
) -> Tensor:
    """Three linear models for the same x."""
    return vmap(
        lambda model, x: (model["w"] * x).sum() + model["b"],
        in_axes=(0, None),
    )(models, x)
