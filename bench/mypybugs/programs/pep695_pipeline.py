"""A pipeline of decorated stages in the syntax of Python 3.12: ParamSpec, registries and generic boxes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce, wraps

from branded import vmap
from tinygrad import Tensor

IMAGES, HEIGHT, WIDTH = 4, 6, 5

type Stage = Callable[[Tensor], Tensor]

calls: list[str] = []


def logged[**P, R](f: Callable[P, R]) -> Callable[P, R]:
    @wraps(f)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        calls.append(f.__name__)
        return f(*args, **kwargs)

    return wrapper


@dataclass
class Registry:
    stages: dict[str, Stage] = field(default_factory=dict)

    def register(self, name: str) -> Callable[[Stage], Stage]:
        def add(f: Stage) -> Stage:
            self.stages[name] = f
            return f

        return add

    def pipeline(self, names: Iterable[str]) -> Stage:
        return compose(*(self.stages[name] for name in names))


@dataclass(frozen=True)
class Box[T]:
    value: T

    def map[U](self, f: Callable[[T], U]) -> "Box[U]":
        return Box(f(self.value))


def compose(*stages: Stage) -> Stage:
    return lambda x: reduce(lambda value, stage: stage(value), stages, x)


registry = Registry()


@registry.register("scale")
@logged
def scale(image: Tensor) -> Tensor:
    return image / image.max()  # read: return image / image.max().item()


@registry.register("contrast")
def contrast(image: Tensor) -> Tensor:
    spread = image.max() - image.min()
    return (spread > 0).where(image / spread, image)  # if: return image / spread if spread > 0 else image


@logged
def row_means(image: Tensor, weights: Tensor, *, keep: bool = False) -> Tensor:
    return (image * weights).mean(axis=1, keepdim=keep)  # axis: return (image * weights).mean(axis=2, keepdim=keep)


def brightness(images: Tensor) -> Tensor:
    return vmap(lambda image: Box(image).map(scale).value.mean())(images)  # key: return vmap(lambda image: Box(image).map(scale).content.mean())(images)


images = Tensor.arange(IMAGES * HEIGHT * WIDTH).reshape(IMAGES, HEIGHT, WIDTH).float() + 1
weights = Tensor.arange(WIDTH).float() + 1
prepare = registry.pipeline(["scale", "contrast"])
prepared = vmap(prepare)(images)
light = brightness(prepared)
means = vmap(row_means, in_axes=(0, None))(prepared, weights)  # none: means = vmap(row_means)(prepared, weights)
boxed = Box(prepared).map(vmap(lambda image: image.sum(axis=0)))
relative = vmap(lambda c, w: c / w, in_axes=(0, None))(boxed.value, weights)  # none: relative = vmap(lambda c, w: c / w)(boxed.value, weights)
kept = vmap(lambda m: m - m.mean(), in_axes=1, out_axes=1)(means)  # out: kept = vmap(lambda m: m - m.mean(), in_axes=1)(means)
pairs = vmap(lambda a: vmap(lambda b: (a - b).abs().sum())(boxed.value))(means[:, :WIDTH])  # zip: pairs = vmap(lambda a, b: (a - b).abs().sum())(boxed.value, means[:, :WIDTH])
corrected = vmap(lambda m, k: m - k)(means, kept)
dimmed = vmap(lambda image, level: image * level)(images, light)  # axis: dimmed = vmap(lambda image, level: image * level, in_axes=(1, 0))(images, light)
several = [vmap(f)(images) for f in (contrast, scale)]
filters = {axis: vmap(lambda image: image.mean(axis=0), in_axes=axis)(images) for axis in (0, 1)}
result = prepared, light, means, relative, pairs, corrected, dimmed, several[0], filters[1]
