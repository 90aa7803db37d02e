"""ResNet with BatchNorm in training mode, a diffusion U-Net, and a detector like YOLO."""

from __future__ import annotations

from typing import Any

from tinygrad import Tensor, nn


class Residual:
    def __init__(self, inputs: int, planes: int, stride: int) -> None:
        self.conv1 = nn.Conv2d(inputs, planes, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm(planes), nn.BatchNorm(planes)
        self.downsample: list[Any] = []
        if stride != 1 or inputs != planes:
            self.downsample = [nn.Conv2d(inputs, planes, 1, stride, bias=False), nn.BatchNorm(planes)]

    def __call__(self, x: Any) -> Any:
        out = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (out + x.sequential(self.downsample)).relu()


class ResNet:
    """He et al. (2015)."""

    def __init__(self, classes: int = 3) -> None:
        self.conv1, self.bn1 = nn.Conv2d(2, 3, 3, 1, 1, bias=False), nn.BatchNorm(3)
        self.layer = [Residual(3, 3, 1), Residual(3, 4, 2)]
        self.fc = nn.Linear(4, classes)

    def __call__(self, x: Any) -> Any:
        x = self.bn1(self.conv1(x)).relu().sequential(self.layer)
        return self.fc(x.mean([2, 3])).log_softmax()


class Resolved:
    """A block that also receives the time of the diffusion."""

    def __init__(self, inputs: int, outputs: int, times: int) -> None:
        self.in_layers = [nn.GroupNorm(1, inputs), Tensor.silu, nn.Conv2d(inputs, outputs, 3, padding=1)]
        self.emb_layers = [Tensor.silu, nn.Linear(times, outputs)]
        self.out_layers = [nn.GroupNorm(2, outputs), Tensor.silu, nn.Conv2d(outputs, outputs, 3, padding=1)]
        self.skip = nn.Conv2d(inputs, outputs, 1)

    def __call__(self, x: Any, time: Any) -> Any:
        h = x.sequential(self.in_layers) + time.sequential(self.emb_layers).reshape(1, -1, 1, 1)
        return self.skip(x) + h.sequential(self.out_layers)


class UNet:
    """Ronneberger et al. (2015), as used by Ho et al. (2020): attention in the middle, and the time in each block."""

    def __init__(self, channels: int = 2, dim: int = 2) -> None:
        self.times = [nn.Linear(4, 4), Tensor.silu, nn.Linear(4, 4)]
        self.input = nn.Conv2d(channels, dim, 3, padding=1)
        self.down, self.pool = Resolved(dim, dim, 4), nn.Conv2d(dim, dim, 3, stride=2, padding=1)
        self.middle, self.norm = Resolved(dim, 2 * dim, 4), nn.GroupNorm(2, 2 * dim)
        self.qkv, self.proj = nn.Conv2d(2 * dim, 6 * dim, 1), nn.Conv2d(2 * dim, 2 * dim, 1)
        self.up, self.out = Resolved(3 * dim, dim, 4), nn.Conv2d(dim, channels, 3, padding=1)

    def attention(self, x: Any) -> Any:
        q, k, v = (t.flatten(2).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, dim=1))
        return x + self.proj(q.scaled_dot_product_attention(k, v).transpose(1, 2).reshape(x.shape))

    def __call__(self, x: Any, time: Any) -> Any:
        angle = time * (Tensor.arange(2) * -2.0).exp()
        t = angle.cos().cat(angle.sin()).sequential(self.times)
        skip = self.down(self.input(x), t).realize()
        y = self.attention(self.middle(self.pool(skip), t)).realize()
        y = y.reshape(*y.shape[:3], 1, y.shape[3], 1).expand(-1, -1, -1, 2, -1, 2).reshape(1, -1, *x.shape[2:])
        return self.out(self.up(y.cat(skip, dim=1), t))


class Conv:
    def __init__(self, inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> None:
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.bn = nn.BatchNorm(outputs, eps=0.001)

    def __call__(self, x: Any) -> Any:
        return self.bn(self.conv(x)).silu()


class Detector:
    """Redmon et al. (2016) and later versions: two scales, boxes as distances from a grid, best boxes first."""

    def __init__(self, classes: int = 2) -> None:
        self.stem, self.split, self.inner = Conv(2, 4, 3, 2), Conv(4, 4), Conv(2, 2, 3)
        self.merge, self.deep, self.neck = Conv(6, 4), Conv(4, 4, 3, 2), Conv(8, 4)
        self.heads = [nn.Conv2d(4, 4 + classes, 1) for _ in range(2)]

    def __call__(self, image: Any) -> Any:
        parts = list(self.split(self.stem(image)).chunk(2, dim=1))
        parts.append(parts[-1] + self.inner(parts[-1]))
        fine = self.merge(parts[0].cat(*parts[1:], dim=1))
        coarse = self.deep(fine).realize()
        fine = self.neck(fine.cat(coarse.interpolate(fine.shape[2:], mode="nearest"), dim=1))
        found = Tensor.cat(*(self.boxes(h(f), f.shape) for h, f in zip(self.heads, (fine, coarse), strict=True)), dim=1)
        kept = found.clone().realize()
        kept[:, :, :4] *= 8.0  # in pixels
        kept[:, :, 4:] = (kept[:, :, 4:] > 0.5).where(kept[:, :, 4:], 0.0)
        order = found[0, :, 4:].max(-1).topk(3)[1]
        return found, kept[:, order]

    def boxes(self, out: Any, shape: Any) -> Any:
        height, width = shape[2:]
        y = ((Tensor.arange(height) + 0.5) / height).reshape(height, 1).expand(height, width).reshape(1, -1)
        x = ((Tensor.arange(width) + 0.5) / width).reshape(1, width).expand(height, width).reshape(1, -1)
        left, top, right, bottom, *classes = (out[:, i].flatten(1) for i in range(out.shape[1]))
        corners = (x - left.exp() / width, y - top.exp() / height, x + right.exp() / width, y + bottom.exp() / height)
        return Tensor.stack(*corners, *(c.sigmoid() for c in classes), dim=-1)
