"""Filters and patches of images; axes other than the first."""

from __future__ import annotations

from branded import vmap
from tinygrad import Tensor

Image = Tensor


def blur(image: Image, kernel: Tensor) -> Image:
    return image[None, None].conv2d(kernel[None, None], padding=1)[0, 0]


def brightness(channel: Image) -> Tensor:
    return channel.mean()


def stretch(channel: Image) -> Image:
    low, high = channel.min(), channel.max()
    return (channel - low) / (high - low + 1e-6)  # read: return (channel - low.item()) / (high.item() - low.item() + 1e-6)


def patches(image: Image, size: int) -> Tensor:
    rows, columns = image.shape[0] // size, image.shape[1] // size
    return image.reshape(rows, size, columns, size).permute(0, 2, 1, 3).reshape(-1, size, size)


def gray(image: Tensor, weights: Tensor) -> Tensor:
    return vmap(lambda pixel: (pixel * weights).sum())(image.reshape(-1, 3)).reshape(*image.shape[:2])


def equalize(images: Tensor) -> Tensor:
    """Each channel of each image, the channels being last."""
    return vmap(vmap(stretch, in_axes=2, out_axes=2))(images)  # out: return vmap(vmap(stretch, in_axes=2))(images)


def thresholded(channel: Image, at: Tensor) -> Image:
    return (channel > at).where(channel, 0.0)  # if: return channel if channel > at else channel * 0.0


images = Tensor.arange(2 * 4 * 4 * 3).reshape(2, 4, 4, 3).float().sin()
kernel = Tensor([[0.0, 0.1, 0.0], [0.1, 0.6, 0.1], [0.0, 0.1, 0.0]])
kernels = Tensor.stack(kernel, kernel.T * 2)
grays = vmap(gray, in_axes=(0, None))(images, Tensor([0.3, 0.6, 0.1]))  # none: grays = vmap(gray)(images, Tensor([0.3, 0.6, 0.1]))
blurred = vmap(blur, in_axes=(0, None))(grays, kernel)
both = vmap(lambda image: vmap(lambda k: blur(image, k))(kernels))(grays)  # zip: both = vmap(lambda image, k: blur(image, k))(grays, kernels)
levels = vmap(vmap(brightness, in_axes=2))(images)  # read: levels = vmap(vmap(lambda c: c.mean().numpy(), in_axes=2))(images)
equal = equalize(images)
cut = vmap(thresholded)(grays, levels.mean(axis=1))
tiles = vmap(lambda g: vmap(lambda p: p.max())(patches(g, 2)))(grays)
corner = vmap(lambda g: g[0, 0] + g[-1, -1], in_axes=0)(grays)  # read: corner = vmap(lambda g: g[0, 0] + g[-1, -1].data()[()])(grays)
result = blurred, both, levels, equal, cut, tiles, corner
