"""Advantages: the return of each episode less the mean return of all.

Mistake: brand forgotten: the baseline is the return of the episode itself, so every advantage is 0.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


@vmap
def episode_return(rewards: Vec[S, Tensor]) -> Vec[S, Tensor]:
    return (rewards * 0.5 ** Tensor.arange(rewards.shape[0])).sum()


def advantage(value: Vec[S, Tensor], baseline: Tensor) -> Vec[S, Tensor]:
    return value - baseline


def advantages(rewards: Tensor) -> Tensor:
    returns = episode_return(rewards)
    mean = returns.mean()
    return vmap(lambda r: advantage(r, mean))(returns)  # bug: return vmap(lambda r: advantage(r, r.mean()))(returns)


def main() -> None:
    assert advantages(Tensor([[1.0, 2.0], [0.0, 0.0]])).tolist() == [1.0, -1.0]


if __name__ == "__main__":
    main()
