from typing import TypeVar

from branded import Brand, Vec, random, vmap

S = TypeVar("S", bound=Brand)
keys = random.split(random.key(0), 2)


def difference(key: Vec[S]) -> Vec[S]:
    return random.normal(key) - random.normal(key)


print((vmap(difference, strict=True)(keys) != 0).tolist())
