"""Parts of typed programs in a file that does not import `Vec`: modules, trees of axes, partials."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, assert_type, overload

from tinygrad import Tensor, nn

from branded import functional_call, stack_module_state, vmap

X = Tensor.ones(5, 3)


# --- a module that is called with another state in a lambda
class Net:
    def __init__(self) -> None:
        self.out = nn.Linear(3, 2)

    def __call__(self, x: Tensor) -> Tensor:
        return self.out(x).relu()


class Ensemble:
    def __init__(self, nets: Sequence[Net]) -> None:
        self.net, self.states = nets[0], stack_module_state(list(nets))

    def __call__(self, xs: Tensor) -> Tensor:
        each = vmap(lambda s, x: functional_call(self.net, s, x), in_axes=(None, 0))
        return vmap(each, in_axes=(0, None))(self.states, xs)

    def losses(self, x: Tensor) -> Tensor:
        return vmap(lambda s: (functional_call(self.net, s, x=x) - 1).square().mean())(self.states)


ensemble = Ensemble([Net(), Net()])
assert_type(ensemble(X), Tensor)
assert ensemble(X).shape == (2, 5, 2) and ensemble.losses(X).shape == (2,)


# --- trees of axes in variables
class Body(NamedTuple):
    place: Tensor
    mass: Tensor


@dataclass
class Line:
    slope: Tensor
    start: Tensor


PLACES = Body(0, None)


def pull(b: Body) -> Tensor:
    return b.place.sum() * b.mass


def moved(b: Body) -> Body:
    axes = (PLACES,)
    return vmap(lambda b: b._replace(place=b.place + 1), in_axes=axes, out_axes=PLACES)(b)


def ends(line: Line) -> Tensor:
    axes: tuple[Line] = (Line(0, start=None),)
    return vmap(lambda at: at.slope + at.start, in_axes=axes)(line)


bodies = Body(X, Tensor(2.0))
assert vmap(pull, in_axes=(PLACES,))(bodies).shape == (5,) and moved(bodies).mass.shape == ()
assert ends(Line(X, Tensor.ones(3))).shape == (5, 3)


# --- a part of an overloaded function: its result varies
@overload
def halves(p: Tensor, x: Tensor, *, both: bool) -> Tensor: ...
@overload
def halves(p: Tensor, x: Tensor) -> tuple[Tensor, Tensor]: ...
def halves(p: Tensor, x: Tensor, *, both: bool | None = None) -> Tensor | tuple[Tensor, Tensor]:
    half = (p * x).sum() / 2
    return (half, half) if both is None else half


vmap(partial(halves, X[0], both=True))(X)
