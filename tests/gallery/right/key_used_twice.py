from typing import TypeVar

from branded import Brand, Vec, random, vmap

S = TypeVar("S", bound=Brand)
keys = random.split(random.key(0), 2)


def difference(key: Vec[S]) -> Vec[S]:
    first, second = random.split(key)
    return random.normal(first) - random.normal(second)


print((vmap(difference)(keys) != 0).tolist())
