"""Classes with static fields, for other files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, NamedTuple, TypeVar

from branded import Brand, Vec, static

S = TypeVar("S", bound=Brand)


@dataclass
class Dense(Generic[S]):
    w: Vec[S]
    activation: Annotated[str, static]
    n: Annotated[int, static] = 2


class Scaled(NamedTuple, Generic[S]):
    name: Annotated[str, static]
    w: Vec[S]
    k: Annotated[float, static] = 2.0
