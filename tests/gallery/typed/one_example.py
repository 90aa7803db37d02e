from tinygrad import Tensor

from branded import Axes, Brand, as_axes, vmap


class Images(Brand): ...


class Height(Brand): ...


class Width(Brand): ...


def brightness(images: Axes[Images, Height, Width]) -> Axes[Images]:
    return vmap(lambda image: image.max())(images)


image = as_axes(Tensor([[0.0, 0.5], [0.5, 1.0]]), Height, Width)
print(brightness(image).tolist())
