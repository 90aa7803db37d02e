"""A picture by ray marching: the code follows one ray, and vmap follows one per pixel.

python examples/raymarch.py [PICTURE]
"""

from __future__ import annotations

import sys

from tinygrad import Tensor

from branded import Vec, grad, jit, vmap, while_loop
from branded.typing import S

LIGHT = (0.6, 0.7, -0.4)
EYE = (0.0, 0.6, -3.0)


def norm(x: Vec[S]) -> Vec[S]:
    return (x * x).sum().sqrt()


def scene(p: Vec[S]) -> Vec[S]:
    """Return the distance from a point to the scene: a ball blended with a ring, above a floor."""
    ball = norm(p - Tensor([0.0, 0.35, 0.0])) - 0.55
    across = (p[0] ** 2 + p[2] ** 2).sqrt() - 1.0
    ring = (across**2 + (p[1] + 0.05) ** 2).sqrt() - 0.18
    blend = (0.5 + 2.0 * (ring - ball)).clip(0, 1)
    melted = ring + (ball - ring) * blend - 0.125 * blend * (1 - blend)
    return melted.minimum(p[1] + 0.4)


def march(start: Vec[S], ray: Vec[S]) -> Vec[S]:
    """Return the distance along the ray to the first surface, by sphere tracing."""

    def go_on(state: tuple[Vec[S], Vec[S]]) -> Vec[S]:
        far, clear = state
        return (clear > 1e-3) & (far < 12.0)

    def step(state: tuple[Vec[S], Vec[S]]) -> tuple[Vec[S], Vec[S]]:
        far, clear = state
        return far + clear, scene(start + (far + clear) * ray)

    return while_loop(go_on, step, (Tensor(0.0), scene(start)))[0]


def brightness(eye: Tensor, light: Tensor, ray: Vec[S]) -> Vec[S]:
    """Return the light at the hit point; the normal is the gradient of the distance."""
    ray = ray / norm(ray)
    far = march(eye, ray)
    at = eye + far * ray
    normal = grad(scene)(at)
    shine = (normal * light).sum().clip(0, 1) / norm(normal)
    shadow = (march(at + 0.02 * normal, light) > 8.0).where(1.0, 0.3)
    return (far < 12.0).where(0.1 + 0.9 * shine * shadow, 0.75)


def render(width: int, height: int) -> Tensor:
    """Return all pixels, `f32[height, width]`: rows and columns are two brands."""
    eye, light = Tensor(EYE), Tensor(LIGHT) / norm(Tensor(LIGHT))
    ys, xs = (Tensor.arange(n).float() for n in (height, width))

    def pixel(x: Vec[S], y: Vec[S]) -> Vec[S]:
        ray = Tensor.stack((x + 0.5 - width / 2) / height, (height / 2 - 0.5 - y) / height - 0.15, Tensor(1.2))
        return brightness(eye, light, ray)

    return vmap(lambda y: vmap(lambda x: pixel(x, y))(xs))(ys)


def main(width: int = 160, height: int = 120, picture: str | None = None) -> None:
    image = jit(lambda: render(width, height))()
    small = image.reshape(height // 12, 12, width // 8, 8).mean((1, 3))
    for row in small.tolist():
        print("".join(" .:-=+*#%@"[min(int(v * 10), 9)] for v in row))
    if picture:
        draw(image, picture)


def draw(image: Tensor, path: str) -> None:
    import matplotlib.pyplot as plt

    plt.imsave(path, image.numpy(), cmap="gray", vmin=0, vmax=1)


if __name__ == "__main__":
    main(picture=sys.argv[1] if sys.argv[1:] else None)
