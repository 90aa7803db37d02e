"""Convolutions in one to three dimensions, transposed convolutions, and pooling."""

from tinygrad import Tensor

from ..table import family, real
from .closures import FILTERS, IMAGE, V, closure

case = family("Convolution and pooling")
IMAGES, KERNELS = real(1, 2, 4, 4), real(3, 2, 3, 3)
BIAS, FILTERS_1D, TRANSPOSED = closure(3), closure(3, 2, 2), closure(2, 3, 2, 2)

case("conv2d", "conv2d", lambda x, w: x.conv2d(w), IMAGES, KERNELS)
case("conv2d with bias", "conv2d", lambda x, w, b: x.conv2d(w, b, padding=1), IMAGES, KERNELS, real(3))
case("conv2d with closures", "conv2d", lambda x: x.conv2d(FILTERS, BIAS, padding=1), IMAGES)
case("closure.conv2d(x)", "conv2d", lambda w: (IMAGE.conv2d(w), IMAGE.conv2d(w, BIAS, padding=(1, 0))), KERNELS)
case("conv2d with bias of the example", "conv2d", lambda b: IMAGE.conv2d(FILTERS, b), real(3))
case(
    "conv2d with stride",
    "conv2d",
    lambda x, w: x.conv2d(w, stride=(1, 2), padding=1),
    IMAGES,
    KERNELS,
)
case(
    "conv2d with dilation",
    "conv2d",
    lambda x, w: x.conv2d(w, dilation=(1, 2), padding=(0, 1)),
    IMAGES,
    KERNELS,
)
case(
    "conv2d with uneven padding",
    "conv2d",
    lambda x, w: x.conv2d(w, padding=(1, 0, 2, 1)),
    IMAGES,
    KERNELS,
)
case(
    "conv2d with negative padding",
    "conv2d",
    lambda x, w: x.conv2d(w[..., :2, :2], padding=(-1, 0, 0, 0)),
    IMAGES,
    KERNELS,
)
case("conv2d with groups", "conv2d", lambda x, w: x.conv2d(w, groups=2), real(1, 4, 3, 3), real(4, 2, 2, 2))
case("depthwise conv2d", "conv2d", lambda x, w: x.conv2d(w, groups=3, padding=1), real(2, 3, 3, 3), real(3, 1, 2, 2))
case("conv1d", "conv2d", lambda x, w: x.conv2d(w, stride=2, padding=1), real(1, 2, 5), real(3, 2, 2))
case("conv1d with a closure", "conv2d", lambda x: x.conv2d(FILTERS_1D, dilation=2), real(2, 2, 5))
case("conv3d", "conv2d", lambda x, w: x.conv2d(w), real(1, 1, 3, 3, 3), real(2, 1, 2, 2, 2))
case("conv2d in another dtype", "conv2d", lambda x, w: x.conv2d(w, dtype="float64"), IMAGES, KERNELS)
case(
    "convolution of a convolution",
    "conv2d relu",
    lambda x: x.conv2d(FILTERS, padding=1).relu()[:, :2].conv2d(FILTERS),
    IMAGES,
)

case("conv_transpose2d", "conv_transpose2d", lambda x, w: x.conv_transpose2d(w), real(1, 2, 3, 3), real(2, 2, 2, 2))
case(
    "conv_transpose2d with bias",
    "conv_transpose2d",
    lambda x, w, b: x.conv_transpose2d(w, b),
    real(1, 2, 3, 3),
    real(2, 3, 2, 2),
    real(3),
)
case(
    "conv_transpose2d with closures",
    "conv_transpose2d",
    lambda x: x.conv_transpose2d(TRANSPOSED, BIAS),
    real(1, 2, 3, 3),
)
case("closure.conv_transpose2d(x)", "conv_transpose2d", lambda w: IMAGE.conv_transpose2d(w, stride=2), real(2, 1, 2, 2))
case(
    "conv_transpose2d with stride",
    "conv_transpose2d",
    lambda x, w: x.conv_transpose2d(w, stride=(2, 1), padding=1, output_padding=(1, 0)),
    real(1, 2, 3, 3),
    real(2, 2, 2, 2),
)
case(
    "conv_transpose2d with dilation and groups",
    "conv_transpose2d",
    lambda x, w: x.conv_transpose2d(w, dilation=2, groups=2),
    real(1, 2, 3, 3),
    real(2, 2, 2, 2),
)
case(
    "conv_transpose1d",
    "conv_transpose2d",
    lambda x, w: x.conv_transpose2d(w, stride=2, padding=1),
    real(1, 2, 4),
    real(2, 3, 3),
)

case("image_conv2d", "image_conv2d", lambda x, w: x.image_conv2d(w), IMAGES, KERNELS)
case("image_dot", "image_dot", lambda x, y: x.image_dot(y), real(3, 4), real(4, 2))

case("max_pool2d", "max_pool2d", lambda x: (x.max_pool2d(), x.max_pool2d((3, 3), stride=1)), IMAGES)
case(
    "max_pool2d with padding",
    "max_pool2d",
    lambda x: (
        x.max_pool2d((2, 1), stride=(1, 2), padding=(1, 0)),
        x.max_pool2d(2, dilation=2),
    ),
    IMAGES,
)
case("max_pool2d rounding up", "max_pool2d", lambda x: x.max_pool2d(2, ceil_mode=True), real(1, 1, 5, 5))
case(
    "max_pool2d with indices",
    "max_pool2d",
    lambda x: (*x.max_pool2d(return_indices=True), *x.max_pool2d(3, stride=1, padding=1, return_indices=True)),
    IMAGES,
)
case(
    "max_unpool2d", "max_unpool2d max_pool2d", lambda x: Tensor.max_unpool2d(*x.max_pool2d(return_indices=True)), IMAGES
)
case(
    "max_unpool2d to a size",
    "max_unpool2d max_pool2d",
    lambda x: Tensor.max_unpool2d(*x.max_pool2d(return_indices=True), output_size=(1, 1, 5, 5)),
    real(1, 1, 5, 5),
)
case("avg_pool2d", "avg_pool2d", lambda x: (x.avg_pool2d(), x.avg_pool2d((3, 2), stride=1)), IMAGES)
case(
    "avg_pool2d with padding",
    "avg_pool2d",
    lambda x: (x.avg_pool2d(2, padding=1), x.avg_pool2d(2, padding=1, count_include_pad=False)),
    IMAGES,
)
case(
    "avg_pool2d rounding up",
    "avg_pool2d",
    lambda x: (x.avg_pool2d(2, ceil_mode=True), x.avg_pool2d(2, padding=1, ceil_mode=True, count_include_pad=False)),
    real(1, 1, 5, 5),
)
case(
    "pooling of one dimension",
    "max_pool2d avg_pool2d",
    lambda x: (x.max_pool2d((2,)), x.avg_pool2d((3,), stride=2)),
    real(2, 5),
)
case(
    "pooling of an image without a batch",
    "max_pool2d avg_pool2d",
    lambda x: (x.max_pool2d(), x.avg_pool2d()),
    real(4, 4),
)
case("pooling of a closure with x", "max_pool2d __mul__", lambda x: (IMAGE * x).max_pool2d() + V[0], real(4))
