# --- objects define their own operators
from collections.abc import Callable
from dataclasses import dataclass

from tinygrad import Tensor

from branded import grad, random, vmap


@dataclass
class Kernel:
    scale: float

    def __add__(self, other: "Kernel") -> "Sum":
        return Sum(self, other)

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        return (a * b).sum() * self.scale


@dataclass
class Careful(Kernel):
    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        product = (a * b).sum()
        assert product > 0  # E: bool: a value that varies over "a" and "b" has no single truth value
        return product


@dataclass
class Sum:
    left: Kernel
    right: Kernel

    def gram(self, xs: Tensor) -> Tensor:
        return vmap(lambda a: vmap(lambda b: self.left(a, b) + self.right(a, b))(xs))(xs)


xs = Tensor.ones(3, 2)
(Kernel(1.0) + Careful(2.0)).gram(xs) @ Tensor.ones(2)  # E: @: the inner axes are `3` and `2`


# --- objects that index, iterate and negate
class Table:
    def __init__(self, rows: Tensor) -> None:
        self.rows = rows

    def __getitem__(self, i: int) -> Tensor:
        return self.rows[i]

    def __neg__(self) -> "Table":
        return Table(-self.rows)

    def __contains__(self, row: Tensor) -> Tensor:
        return (self.rows == row).all(axis=1).any()

    def __imul__(self, k: Tensor) -> "Table":
        self.rows = self.rows * k
        return self

    def __len__(self) -> int:
        return 3


table = Table(Tensor.ones(3, 2))
(-table)[0] + Tensor.ones(3)  # E: +: `2` differs from `3` at axis -1
table *= Tensor.ones(3, 1)
table[0] + Tensor.ones(4)  # E: +: `2` differs from `4` at axis -1


# --- a key that a dict does not have
def loss(p: dict[str, Tensor], x: Tensor) -> Tensor:
    return (p["w"] * x).sum() + p["bias"]  # E: dict: there is no key 'bias'


params = {"w": Tensor.ones(2), "b": Tensor(0.0)}
vmap(loss, in_axes=(None, 0))(params, xs)
if "bias" in params:
    params["bias"]
try:  # noqa: SIM105
    params["c"]
except KeyError:
    pass
removed = {"w": Tensor.ones(2), "b": Tensor(0.0)}
removed["c"] = removed["w"]
del removed["w"]
removed["c"] + removed["b"]


# --- a tensor is unpacked into another number of names
first, second = random.split(random.key(0), 3)  # E: unpacking: there are 3 values for 2 names
a, *rest = xs
for x, y, z in xs:  # E: unpacking: there are 2 values for 3 names
    print(x, y, z)


# --- the value of grad's function has an axis of length 1
grad(lambda w: (w * w).sum(keepdim=True))(Tensor.ones(1))  # E: grad: the function must return one float


# --- a test of all entries, and a format, in a function that another one returns
def after(f: Callable[[Tensor], Tensor], g: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def both(x: Tensor) -> Tensor:
        return f(g(x))

    return both


def positive(x: Tensor) -> Tensor:
    return x if all(x > 0) else -x  # E: bool: a value that varies over "x" has no single truth value


def printed(x: Tensor) -> Tensor:
    print(f"{x.sum():.3f}")  # E: format: a value that varies over "x" has no single text
    return x


vmap(after(positive, printed))(xs)


# --- functions and statements of Python call the special methods of objects
class Held:
    def __init__(self, x: Tensor) -> None:
        self.x = x

    def __float__(self) -> float:
        return float(self.x.sum().item())  # E: item: a value that varies over "x" has no single value to read

    def __round__(self, digits: int = 0) -> float:
        return float(self.x.mean().item())  # E: item: a value that varies over "x" has no single value to read

    def __str__(self) -> str:
        return f"{self.x.sum():.1f}"  # E: format: a value that varies over "x" has no single text

    def __repr__(self) -> str:
        return str(self.x.tolist())  # E: tolist: a value that varies over "x" has no single value to read

    def __hash__(self) -> int:
        return hash(self.x.max().item())  # E: item: a value that varies over "x" has no single value to read

    def __bool__(self) -> bool:
        return bool(self.x.min() > 0)  # E: bool: a value that varies over "x" has no single truth value

    def __setitem__(self, i: int, value: float) -> None:
        self.x = self.x * self.x[i].item()  # E: item: a value that varies over "x" has no single value to read

    def __exit__(self, *error: object) -> None:
        self.x.prod().item()  # E: item: a value that varies over "x" has no single value to read

    def __enter__(self) -> "Held":
        return self


def use(x: Tensor) -> Tensor:
    held = Held(x)
    if not held:
        return x
    print(held, f"{held!r}", {held})
    with held:
        held[0] = float(held) + round(held, 1)
    return held.x


vmap(use)(xs)


# --- attributes that a class computes
class Total:
    def __get__(self, owner: "Row", kind: object = None) -> float:
        return float(owner.x.sum().item())  # E: item: a value that varies over "x" has no single value to read


class Row:
    total = Total()

    def __init__(self, x: Tensor) -> None:
        self.x = x

    def __getattr__(self, name: str) -> float:
        return float(self.x.max().item())  # E: item: a value that varies over "x" has no single value to read

    @property
    def first(self) -> Tensor:
        return self.x[0]

    @first.setter
    def first(self, value: Tensor) -> None:
        self.x = self.x * value.item()  # E: item: a value that varies over "x" has no single value to read


def computed(x: Tensor) -> Tensor:
    row = Row(x)
    row.first = x.mean()
    return row.x * row.total * row.anything


vmap(computed)(xs)


# --- a comparison, an index and an unbound method read a value
class Ordered:
    def __init__(self, x: Tensor) -> None:
        self.x = x

    def __lt__(self, other: "Ordered") -> bool:
        return bool(self.x.sum() < other.x.sum())  # E: bool: a value that varies over "x" has no single truth value

    def __index__(self) -> int:
        return int(self.x.sum().item())  # E: item: a value that varies over "x" has no single value to read


vmap(lambda x: min(Ordered(x), Ordered(x * 2)).x)(xs)
vmap(lambda x: x * [1, 2, 3][Ordered(x)])(xs)
