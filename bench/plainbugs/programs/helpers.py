"""Functions of tensors that know nothing of vmap, imported by other programs."""

from tinygrad import Tensor


def normalize(x: Tensor, eps: float = 1e-6) -> Tensor:
    return (x - x.mean()) / (x.var(correction=0) + eps).sqrt()


def huber(error: Tensor, delta: float = 1.0) -> Tensor:
    size = error.abs()
    return (size < delta).where(0.5 * error.square(), delta * (size - 0.5 * delta))


def accuracy(logits: Tensor, labels: Tensor) -> float:
    return float((logits.argmax(axis=1) == labels).float().mean().item())


def standardize(columns: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    mean, std = columns.mean(axis=0), columns.std(axis=0) + 1e-6
    return (columns - mean) / std, mean, std
