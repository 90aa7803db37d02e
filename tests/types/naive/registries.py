"""Functions that are entries, attributes or results: they have no name where they are called."""

from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, Self, TypeVar, assert_type

from tinygrad import Tensor

from branded import cond, grad, jit, switch, tree, vmap

x, y = Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 5.0, 6.0])
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
Binary = Callable[[Tensor, Tensor], Tensor]
OPS: dict[str, Binary] = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b}

# --- entries of a registry
sums = vmap(lambda a, b: OPS["add"](OPS["mul"](a, b), b))(x, y)
assert_type(sums, Tensor)
chosen = vmap(lambda a, b: (OPS["add"] if a.shape else OPS["mul"])(a, b))(x, y)
looked = vmap(lambda a, b: OPS.get("max", OPS["mul"])(a, b))(x, y)
first = vmap(lambda a, b: sorted(OPS.items())[0][1](a, b) + (OPS["add"], OPS["mul"])[1](a, b))(x, y)


# --- results of methods, of nested functions and of a class that is indexed
class Registry:
    def __init__(self) -> None:
        self.steps: list[Callable[[Tensor], Tensor]] = [lambda a: a + 1]

    def __getitem__(self, name: str) -> Binary:
        return OPS[name]

    def find(self, name: str) -> Binary:
        return OPS[name]

    def run(self, a: Tensor) -> Tensor:
        return vmap(lambda a: self["add"](self.find("mul")(a, a), self.steps[0](a)))(a)


def scaled_twice(a: Tensor) -> Tensor:
    def scaled(k: float) -> Callable[[Tensor], Tensor]:
        return lambda a: a * k

    return vmap(lambda a: scaled(2.0)(scaled(3.0)(a)))(a)


steps = Registry().run(x)
scaled_twice(x)
registry = Registry()
found = vmap(lambda a, b: registry["add"](registry.find("mul")(a, b), registry.steps[0](a)))(x, y)


# --- derivatives of a function that a function returns
def curve(k: int) -> Callable[[Tensor], Tensor]:
    def power(a: Tensor) -> Tensor:
        return a**k

    return power


bends = vmap(grad(grad(curve(4))))(x)
assert_type(bends, Tensor)
bent = vmap(lambda a: grad(grad(curve(4)))(a))(x)
cube = curve(3)
thirds = vmap(grad(grad(grad(cube))))(x)

# --- methods of a NamedTuple that return Self
T = TypeVar("T", bound="Point")


class Point(NamedTuple):
    a: Tensor
    b: Tensor

    def shifted(self, by: Tensor) -> Self:
        return self._replace(a=self.a + by)

    def split(self) -> tuple[Self, Tensor]:
        return self, self.b

    def scaled(self: T, by: Tensor) -> T:
        return self._replace(b=self.b * by)


points = Point(x, y)
replaced = vmap(lambda p: p._replace(b=p.a * 2))(points)
second: Tensor = replaced.b
moved = vmap(lambda p: p.shifted(p.b).scaled(p.a).split()[1])(points)
made = vmap(lambda a, b: Point(a, b)._replace(b=a).shifted(b).a)(x, y)

# --- a lambda that jit compiles
fast = jit(lambda a: a * 2)
tuned = jit(tune="fast")(lambda a, k: {"a": a["a"] * k})
powers = jit(lambda a, n: Tensor.stack(*(a**i for i in range(n))), static_argnums=1)
compiled = [jit(lambda a: a + 1), jit(lambda a: a + 2)]


def doubled(a: Tensor) -> Tensor:
    return fast(a) + fast(2.0) + tuned({"a": a}, 3)["a"] + powers(a, 2)[0]


doubles: list[Tensor] = [fast(x), fast(2)]
tuned_by: dict[str, Tensor] = tuned({"a": x}, 3)
doubled(x)
vmap(fast)(x)
vmap(lambda a: fast(a))(x)
compiled[0](x)

# --- a stored lambda of trees
halved = jit(vmap(lambda p, r: tree.map(lambda leaf: leaf * r, p)))
half_tree: dict[str, Tensor] = halved({"a": x}, y)
half_pair: tuple[Tensor, Tensor] = halved((x, y), y)
half: Tensor = halved(x, y)


class Trained:
    def __init__(self) -> None:
        self.step = vmap(lambda p: tree.map(lambda leaf: leaf / 2, p))

    def run(self, a: Tensor) -> Tensor:
        return self.step({"a": a})["a"]


Trained().run(x)
by_key = {"a": vmap(lambda d: d["a"] * 2), "b": vmap(lambda d: d["b"] * 3)}
by_key["a"]({"a": x})


# --- objects and functions whose types are type variables
class Model(Protocol):
    def predict(self, a: Tensor, /) -> Tensor: ...


M = TypeVar("M", bound=Model)
F = TypeVar("F", bound=Callable[[Tensor], Tensor])


class Line:
    def __init__(self, k: float) -> None:
        self.k = k
        self.seen: list[Tensor] = []

    def predict(self, a: Tensor, /) -> Tensor:
        return a * self.k

    def fit(self, a: Tensor) -> Self:
        self.seen = [vmap(self.predict)(a), vmap(lambda a: self.predict(a))(a)]
        return self

    @classmethod
    def trained(cls, a: Tensor) -> Self:
        line = cls(2.0)
        line.seen = [vmap(lambda a: line.predict(a))(a)]
        return line


class Scaled(Generic[M]):
    def __init__(self, inner: M) -> None:
        self.inner = inner

    def run(self, a: Tensor) -> Tensor:
        inner = self.inner
        return vmap(lambda a: self.inner.predict(a) + inner.predict(a))(a) + vmap(self.inner.predict)(a)


def scores(model: M, a: Tensor) -> Tensor:
    return vmap(lambda a: model.predict(a))(a) + vmap(model.predict)(a)


def applied(f: F, a: Tensor) -> F:
    vmap(f)(a) + vmap(lambda a: f(a))(a)
    return f


line = Line.trained(x).fit(x)
scores(line, x)
Scaled(line).run(x)
applied(line.predict, x)

# --- functions that a variable or an entry makes
MAKERS: dict[str, Callable[[float], Callable[[Tensor], Tensor]]] = {"scale": lambda k: lambda a: a * k}
for make in MAKERS.values():
    vmap(make(2.0))(x) + vmap(lambda a: make(2.0)(a))(x)
vmap(MAKERS["scale"](2.0))(x)
vmap(grad(MAKERS["scale"](2.0)))(x)


# --- a function that a function of lambdas returns
def composed(f: Callable[[A], B], g: Callable[[B], C]) -> Callable[[A], C]:
    return lambda a: g(f(a))


vmap(composed(lambda a: a.square(), lambda a: a.sum()))(Tensor([[1.0, 2.0]])).tolist()


# --- parameters without names
def both(a: Tensor, b: Tensor, /) -> tuple[Tensor, Tensor]:
    return a * 2, b


vmap(both)(x, y)
vmap(line.predict)(x)


# --- an entry that reads, which is not called with batched values
def largest(a: Tensor) -> Tensor:
    return a / a.max().item()


def halves(a: Tensor) -> Tensor:
    return a / 2


NORMS: dict[str, Callable[[Tensor], Tensor]] = {"largest": largest, "halves": halves}


def normed(a: Tensor) -> Tensor:
    norm, other = NORMS["halves"], NORMS["largest"]

    def both(b: Tensor) -> Tensor:
        return norm(b)

    return vmap(both)(other(a))


normed(x)


# --- branches that a list or a dict holds
branches: list[Callable[[Tensor], Tensor]] = [lambda x: x, Tensor.relu]
by_name: dict[str, Callable[[Tensor], Tensor]] = {"relu": Tensor.relu}
which, table = Tensor([0, 1]), Tensor([[1.0, 2.0], [3.0, -4.0]])
vmap(lambda i, x: switch(i, branches, x))(which, table)
vmap(lambda i, x: switch(i, [*branches, Tensor.exp], x))(which, table)
vmap(lambda i, x: switch(i, tuple(branches), x))(which, table)
vmap(lambda x: cond(x.sum() > 0, by_name["relu"], branches[0], x))(table)


def selected(i: Tensor, x: Tensor, choices: list[Callable[[Tensor], Tensor]]) -> Tensor:
    return switch(i, choices, x)


vmap(lambda i, x: selected(i, x, branches))(which, table)
