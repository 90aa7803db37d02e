"""tinygrad.nn, with the types that its signatures leave out.

Written by stubs/generate.py from tinygrad's own signatures: change that, not this.
"""

from collections.abc import Sequence
from typing import Any

from tinygrad.dtype import dtypes as dtypes
from tinygrad.helpers import TRAINING as TRAINING
from tinygrad.helpers import USE_ATOMICS as USE_ATOMICS
from tinygrad.helpers import flatten as flatten
from tinygrad.helpers import make_tuple as make_tuple
from tinygrad.helpers import prod as prod
from tinygrad.nn import datasets as datasets
from tinygrad.nn import optim as optim
from tinygrad.nn import state as state
from tinygrad.tensor import Tensor as Tensor
from tinygrad.uop.ops import AxisType as AxisType
from tinygrad.uop.ops import KernelInfo as KernelInfo
from tinygrad.uop.ops import Ops as Ops
from tinygrad.uop.ops import UOp as UOp

class BatchNorm:
    eps: float
    track_running_stats: bool
    momentum: float
    weight: Tensor | None
    bias: Tensor | None
    num_batches_tracked: Any
    running_mean: Any
    running_var: Any
    def __init__(
        self, sz: int, eps: float = 1e-05, affine: bool = True, track_running_stats: bool = True, momentum: float = 0.1
    ) -> None: ...
    def calc_stats(self, x: Tensor) -> tuple[Tensor, Tensor]: ...
    def __call__(self, x: Tensor) -> Tensor: ...

BatchNorm2d = BatchNorm
BatchNorm3d = BatchNorm

def Conv1d(
    in_channels: int,
    out_channels: int,
    kernel_size: int,
    stride: int | Sequence[int] = 1,
    padding: int | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    bias: bool = True,
) -> Conv2d: ...

class Conv2d:
    kernel_size: int | tuple[int, ...]
    stride: int | Sequence[int]
    dilation: int | Sequence[int]
    groups: int
    padding: int | tuple[int, ...] | str
    weight: Tensor
    bias: Tensor | None
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | Sequence[int] = 1,
        padding: int | tuple[int, ...] | str = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

def ConvTranspose1d(
    in_channels: int,
    out_channels: int,
    kernel_size: int,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    bias: bool = True,
) -> ConvTranspose2d: ...

class ConvTranspose2d(Conv2d):
    weight: Tensor
    output_padding: int | Sequence[int]
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class Linear:
    weight: Tensor
    bias: Tensor | None
    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class GroupNorm:
    num_groups: int
    num_channels: int
    eps: float
    weight: Tensor | None
    bias: Tensor | None
    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class InstanceNorm:
    num_features: int
    eps: float
    weight: Tensor | None
    bias: Tensor | None
    def __init__(self, num_features: int, eps: float = 1e-05, affine: bool = True) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class LayerNorm:
    normalized_shape: tuple[int, ...]
    axis: Any
    eps: float
    weight: Tensor | None
    bias: Tensor | None
    def __init__(
        self, normalized_shape: int | tuple[int, ...], eps: float = 1e-05, elementwise_affine: bool = True
    ) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class LayerNorm2d(LayerNorm):
    def __call__(self, x: Tensor) -> Tensor: ...

class RMSNorm:
    eps: float
    weight: Tensor
    def __init__(self, dim: int, eps: float = 1e-06, elementwise_affine: bool = True) -> None: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class Embedding:
    weight: Tensor
    def __init__(self, vocab_size: int, embed_size: int) -> None: ...
    def __call__(self, idx: Tensor) -> Tensor: ...

class LSTMCell:
    weight_ih: Any
    weight_hh: Any
    bias_ih: Tensor | None
    bias_hh: Tensor | None
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None: ...
    def __call__(self, x: Tensor, hc: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]: ...
