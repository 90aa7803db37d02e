"""tinygrad.tensor, where a `Tensor` is a `Vec` with the empty row.

Written by stubs/generate.py from tinygrad's own signatures: change that, not this.
"""

import builtins
import pathlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Never, NoReturn, ParamSpec, TypeAlias, TypeGuard, overload

from numpy.typing import NDArray
from tinygrad.device import Buffer as Buffer
from tinygrad.device import canonicalize_device as canonicalize_device
from tinygrad.dtype import AddrSpace as AddrSpace
from tinygrad.dtype import ConstType as ConstType
from tinygrad.dtype import DType as DType
from tinygrad.dtype import DTypeLike as DTypeLike
from tinygrad.dtype import PyConst as PyConst
from tinygrad.dtype import _from_np_dtype as _from_np_dtype
from tinygrad.dtype import _to_np_dtype as _to_np_dtype
from tinygrad.dtype import dtypes as dtypes
from tinygrad.dtype import least_upper_dtype as least_upper_dtype
from tinygrad.dtype import strong_dtype as strong_dtype
from tinygrad.dtype import to_dtype as to_dtype
from tinygrad.engine.realize import run_linear as run_linear
from tinygrad.helpers import TRACEMETA as TRACEMETA
from tinygrad.helpers import VIZ as VIZ
from tinygrad.helpers import Metadata as Metadata
from tinygrad.helpers import TracingKey as TracingKey
from tinygrad.helpers import all_int as all_int
from tinygrad.helpers import cpu_profile as cpu_profile
from tinygrad.helpers import disable_gc as disable_gc
from tinygrad.helpers import fetch as fetch
from tinygrad.helpers import getenv as getenv
from tinygrad.helpers import pluralize as pluralize
from tinygrad.helpers import suppress_finalizing as suppress_finalizing
from tinygrad.mixin.op import ReductionStr
from tinygrad.mixin.rand import RandMixin as RandMixin
from tinygrad.schedule import create_linear_with_vars as create_linear_with_vars
from tinygrad.uop.ops import ConstLike as ConstLike
from tinygrad.uop.ops import GroupOp as GroupOp
from tinygrad.uop.ops import Ops as Ops
from tinygrad.uop.ops import ParamArg as ParamArg
from tinygrad.uop.ops import PatternMatcher as PatternMatcher
from tinygrad.uop.ops import UOp as UOp
from tinygrad.uop.ops import UPat as UPat
from tinygrad.uop.ops import Variable as Variable
from tinygrad.uop.ops import all_metadata as all_metadata
from tinygrad.uop.ops import graph_rewrite as graph_rewrite
from tinygrad.uop.ops import rewrite_group as rewrite_group
from tinygrad.uop.ops import sint as sint
from typing_extensions import TypeVar

from branded.core.brand import Brand
from branded.vec import Vec, _Index

_Q = TypeVar("_Q", bound=Brand)
_S1 = TypeVar("_S1", bound=Brand, default=Never)
_S2 = TypeVar("_S2", bound=Brand, default=Never)
_S3 = TypeVar("_S3", bound=Brand, default=Never)
_S4 = TypeVar("_S4", bound=Brand, default=Never)
_S5 = TypeVar("_S5", bound=Brand, default=Never)

@dataclass
class AllocCtx:
    uop_list: list[UOp] = ...
    buffer_map: dict[UOp, UOp] = ...
    bases: set[UOp] = ...
    assigns: list[UOp] = ...
    replacements: list[UOp] = ...
    views: set[UOp] = ...

def tag_uop(ctx: AllocCtx, x: UOp) -> Any: ...
def disk_like(u: UOp) -> Any: ...
def disk_copy_is_buffer(ctx: AllocCtx, u: UOp) -> Any: ...

add_tags: PatternMatcher

def replace_contig_with_store_after(u: UOp) -> Any: ...
def replace_store_after_with_contig(u: UOp, src: UOp) -> Any: ...
def _make_buffer_view(src: UOp) -> UOp | None: ...
def contiguous_mops_to_view(ctx: AllocCtx, c: UOp, src: UOp) -> Any: ...
def _precompiled_output_redirect(s: UOp, t: UOp) -> UOp | None: ...
def transform_precompiled_call(c: UOp) -> UOp | None: ...

pm_early_transform_tensor_graph: PatternMatcher

def finalize_after(ctx: AllocCtx, x: UOp) -> Any: ...
def replace_input_buffer(ctx: AllocCtx, b: UOp) -> Any: ...
def replace_input_view(ctx: AllocCtx, b: UOp) -> Any: ...

pm_finalize_call: PatternMatcher
pm_replace_buf: PatternMatcher

def transform_to_call(big_sink: UOp) -> tuple[UOp, dict[UOp, UOp]]: ...

all_tensors: dict[weakref.ref[Tensor], None] = ...

def _apply_map_to_tensors(applied_map: dict[UOp, UOp], name: str) -> None: ...
def is_numpy_ndarray(x: Any) -> TypeGuard[NDArray[Any]]: ...
def _fromnp(x: NDArray[Any]) -> UOp: ...

P = ParamSpec("P")
T = TypeVar("T")

class _ContextVar(Generic[T]):
    def __init__(self, default: T) -> None: ...
    def get(self) -> T: ...
    def set(self, x: T) -> T: ...

_METADATA: _ContextVar[Metadata | None] = ...

def _metadata_wrapper(fn: Callable[P, T]) -> Callable[P, T]: ...

class Tensor(Vec[Never, Tensor]):
    grad: Tensor | None
    def __init__(
        self,
        data: ConstType | bytes | list[Any] | tuple[Any, ...] | UOp | NDArray[Any] | pathlib.Path | None,
        device: str | tuple[Any, ...] | list[Any] | None = None,
        dtype: DTypeLike | None = None,
    ) -> None: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __len__(self) -> builtins.int: ...
    def __delitem__(self, indices: Any) -> NoReturn: ...
    @overload
    def __divmod__(self, x: Tensor | ConstType) -> tuple[Tensor, Tensor]: ...
    @overload
    def __divmod__(
        self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType
    ) -> tuple[Vec[_Q | _S1, Tensor], Vec[_Q | _S1, Tensor]]: ...
    @overload
    def alu(self, op: Ops, *src: Tensor) -> Tensor: ...
    @overload
    def alu(self: Vec[_Q, Tensor], op: Ops, *src: Vec[_S1, Tensor]) -> Vec[_Q | _S1, Tensor]: ...
    def custom_kernel(
        self, *lst: Vec[Never, Tensor], fxn: Callable[..., Any], grad_fxn: Callable[..., Any] | None = None
    ) -> list[Tensor]: ...
    def callify(self, *lst: Vec[Never, Tensor]) -> Tensor: ...
    def linear_with_vars(self, *lst: Vec[Never, Tensor]) -> tuple[UOp, dict[str, builtins.int]]: ...
    def schedule_linear(self, *lst: Vec[Never, Tensor]) -> UOp: ...
    def backward(self, gradient: Vec[Never, Tensor] | None = None) -> Tensor: ...
    @overload
    def __iadd__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __iadd__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __isub__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __isub__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __imul__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __imul__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __itruediv__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __itruediv__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __ifloordiv__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __ifloordiv__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __ipow__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __ipow__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __iand__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __iand__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __ior__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __ior__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __ixor__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __ixor__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __ilshift__(self, x: Tensor | builtins.int) -> Tensor: ...
    @overload
    def __ilshift__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | builtins.int) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __irshift__(self, x: Tensor | builtins.int) -> Tensor: ...
    @overload
    def __irshift__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | builtins.int) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __imatmul__(self, x: Tensor) -> Tensor: ...
    @overload
    def __imatmul__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor]) -> Vec[_Q | _S1, Tensor]: ...
    @overload  # type: ignore[override]
    def __eq__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __eq__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    @classmethod
    def random_bits(cls, key: Tensor, counter: Tensor, num: builtins.int) -> Tensor: ...
    @overload
    @classmethod
    def random_bits(
        cls, key: Vec[_S1, Tensor], counter: Vec[_S2, Tensor], num: builtins.int
    ) -> Vec[_S1 | _S2, Tensor]: ...
    @overload
    def scaled_dot_product_attention(
        self,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: builtins.float = 0.0,
        is_causal: builtins.bool = False,
        enable_gqa: builtins.bool = False,
    ) -> Tensor: ...
    @overload
    def scaled_dot_product_attention(
        self: Vec[_Q, Tensor],
        key: Vec[_S1, Tensor],
        value: Vec[_S2, Tensor],
        attn_mask: Vec[_S3, Tensor] | None = None,
        dropout_p: builtins.float = 0.0,
        is_causal: builtins.bool = False,
        enable_gqa: builtins.bool = False,
    ) -> Vec[_Q | _S1 | _S2 | _S3, Tensor]: ...
    @overload
    def __getitem__(self, indices: _Index | Tensor | tuple[_Index | Tensor, ...]) -> Tensor: ...
    @overload
    def __getitem__(
        self: Vec[_Q, Tensor], indices: _Index | Vec[_S1, Tensor] | tuple[_Index | Vec[_S1, Tensor], ...]
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def dot(self, w: Tensor, dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    def dot(self: Vec[_Q, Tensor], w: Vec[_S1, Tensor], dtype: DTypeLike | None = None) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def matmul(self, x: Tensor, reverse: builtins.bool = False, dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    def matmul(
        self: Vec[_Q, Tensor], x: Vec[_S1, Tensor], reverse: builtins.bool = False, dtype: DTypeLike | None = None
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __matmul__(self, x: Tensor) -> Tensor: ...
    @overload
    def __matmul__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor]) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __rmatmul__(self, x: Tensor) -> Tensor: ...
    @overload
    def __rmatmul__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor]) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    @classmethod
    def einsum(cls, formula: str, *operands: Tensor | Sequence[Tensor], dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    @classmethod
    def einsum(
        cls, formula: str, *operands: Vec[_S1, Tensor] | Sequence[Vec[_S1, Tensor]], dtype: DTypeLike | None = None
    ) -> Vec[_S1, Tensor]: ...
    @overload
    def gradient(self, *targets: Tensor, gradient: Tensor | None = None) -> list[Tensor]: ...
    @overload
    def gradient(
        self: Vec[_Q, Tensor], *targets: Vec[_S1, Tensor], gradient: Vec[_S2, Tensor] | None = None
    ) -> list[Vec[_Q | _S1 | _S2, Tensor]]: ...
    @overload
    def cat(self, *args: Tensor, dim: builtins.int = 0) -> Tensor: ...
    @overload
    def cat(self: Vec[_Q, Tensor], *args: Vec[_S1, Tensor], dim: builtins.int = 0) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def allclose(
        self,
        other: Tensor,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> Tensor: ...
    @overload
    def allclose(
        self: Vec[_Q, Tensor],
        other: Vec[_S1, Tensor],
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def gather(self, dim: builtins.int, index: Tensor) -> Tensor: ...
    @overload
    def gather(self: Vec[_Q, Tensor], dim: builtins.int, index: Vec[_S1, Tensor]) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def scatter_reduce(
        self,
        dim: builtins.int,
        index: Tensor,
        src: Tensor,
        reduce: Literal["sum", "prod", "mean", "amax", "amin"],
        include_self: builtins.bool = True,
    ) -> Tensor: ...
    @overload
    def scatter_reduce(
        self: Vec[_Q, Tensor],
        dim: builtins.int,
        index: Vec[_S1, Tensor],
        src: Vec[_S2, Tensor],
        reduce: Literal["sum", "prod", "mean", "amax", "amin"],
        include_self: builtins.bool = True,
    ) -> Vec[_Q | _S1 | _S2, Tensor]: ...
    @overload
    def scatter(
        self, dim: builtins.int, index: Tensor, src: Tensor | PyConst, reduce: Literal["multiply", "add"] | None = None
    ) -> Tensor: ...
    @overload
    def scatter(
        self: Vec[_Q, Tensor],
        dim: builtins.int,
        index: Vec[_S1, Tensor],
        src: Vec[_S2, Tensor] | PyConst,
        reduce: Literal["multiply", "add"] | None = None,
    ) -> Vec[_Q | _S1 | _S2, Tensor]: ...
    @overload
    def masked_select(self, mask: Tensor, size: builtins.int | None = None, fill_value: ConstType = 0) -> Tensor: ...
    @overload
    def masked_select(
        self: Vec[_Q, Tensor], mask: Vec[_S1, Tensor], size: builtins.int | None = None, fill_value: ConstType = 0
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def linear(self, weight: Tensor, bias: Tensor | None = None, dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    def linear(
        self: Vec[_Q, Tensor],
        weight: Vec[_S1, Tensor],
        bias: Vec[_S2, Tensor] | None = None,
        dtype: DTypeLike | None = None,
    ) -> Vec[_Q | _S1 | _S2, Tensor]: ...
    @overload
    def max_unpool2d(
        self,
        indices: Tensor,
        kernel_size: tuple[builtins.int, ...] = ...,
        stride: builtins.int | Sequence[builtins.int] | None = None,
        dilation: builtins.int | Sequence[builtins.int] = 1,
        padding: builtins.int | tuple[builtins.int, ...] = 0,
        output_size: tuple[builtins.int, ...] | None = None,
    ) -> Tensor: ...
    @overload
    def max_unpool2d(
        self: Vec[_Q, Tensor],
        indices: Vec[_S1, Tensor],
        kernel_size: tuple[builtins.int, ...] = ...,
        stride: builtins.int | Sequence[builtins.int] | None = None,
        dilation: builtins.int | Sequence[builtins.int] = 1,
        padding: builtins.int | tuple[builtins.int, ...] = 0,
        output_size: tuple[builtins.int, ...] | None = None,
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def image_dot(self, w: Tensor, dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    def image_dot(
        self: Vec[_Q, Tensor], w: Vec[_S1, Tensor], dtype: DTypeLike | None = None
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def image_conv2d(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        groups: builtins.int = 1,
        stride: builtins.int | Sequence[builtins.int] = 1,
        dilation: builtins.int | Sequence[builtins.int] = 1,
        padding: builtins.int | Sequence[builtins.int] = 0,
        dtype: DTypeLike | None = None,
    ) -> Tensor: ...
    @overload
    def image_conv2d(
        self: Vec[_Q, Tensor],
        weight: Vec[_S1, Tensor],
        bias: Vec[_S2, Tensor] | None = None,
        groups: builtins.int = 1,
        stride: builtins.int | Sequence[builtins.int] = 1,
        dilation: builtins.int | Sequence[builtins.int] = 1,
        padding: builtins.int | Sequence[builtins.int] = 0,
        dtype: DTypeLike | None = None,
    ) -> Vec[_Q | _S1 | _S2, Tensor]: ...
    @overload
    def conv2d(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        groups: builtins.int = 1,
        stride: builtins.int | Sequence[builtins.int] = 1,
        dilation: builtins.int | Sequence[builtins.int] = 1,
        padding: builtins.int | Sequence[builtins.int] = 0,
        dtype: DTypeLike | None = None,
    ) -> Tensor: ...
    @overload
    def conv2d(
        self: Vec[_Q, Tensor],
        weight: Vec[_S1, Tensor],
        bias: Vec[_S2, Tensor] | None = None,
        groups: builtins.int = 1,
        stride: builtins.int | Sequence[builtins.int] = 1,
        dilation: builtins.int | Sequence[builtins.int] = 1,
        padding: builtins.int | Sequence[builtins.int] = 0,
        dtype: DTypeLike | None = None,
    ) -> Vec[_Q | _S1 | _S2, Tensor]: ...
    @overload
    def conv_transpose2d(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        groups: builtins.int = 1,
        stride: builtins.int | Sequence[builtins.int] = 1,
        dilation: builtins.int | Sequence[builtins.int] = 1,
        padding: builtins.int | Sequence[builtins.int] = 0,
        output_padding: builtins.int | Sequence[builtins.int] = 0,
    ) -> Tensor: ...
    @overload
    def conv_transpose2d(
        self: Vec[_Q, Tensor],
        weight: Vec[_S1, Tensor],
        bias: Vec[_S2, Tensor] | None = None,
        groups: builtins.int = 1,
        stride: builtins.int | Sequence[builtins.int] = 1,
        dilation: builtins.int | Sequence[builtins.int] = 1,
        padding: builtins.int | Sequence[builtins.int] = 0,
        output_padding: builtins.int | Sequence[builtins.int] = 0,
    ) -> Vec[_Q | _S1 | _S2, Tensor]: ...
    @overload
    def batchnorm(
        self,
        weight: Tensor | None,
        bias: Tensor | None,
        mean: Tensor,
        invstd: Tensor,
        axis: builtins.int | tuple[builtins.int, ...] = 1,
    ) -> Tensor: ...
    @overload
    def batchnorm(
        self: Vec[_Q, Tensor],
        weight: Vec[_S1, Tensor] | None,
        bias: Vec[_S2, Tensor] | None,
        mean: Vec[_S3, Tensor],
        invstd: Vec[_S4, Tensor],
        axis: builtins.int | tuple[builtins.int, ...] = 1,
    ) -> Vec[_Q | _S1 | _S2 | _S3 | _S4, Tensor]: ...
    @overload
    def binary_crossentropy(self, Y: Tensor, reduction: ReductionStr = "mean") -> Tensor: ...
    @overload
    def binary_crossentropy(
        self: Vec[_Q, Tensor], Y: Vec[_S1, Tensor], reduction: ReductionStr = "mean"
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def binary_crossentropy_logits(
        self, Y: Tensor, reduction: ReductionStr = "mean", pos_weight: Tensor | None = None
    ) -> Tensor: ...
    @overload
    def binary_crossentropy_logits(
        self: Vec[_Q, Tensor],
        Y: Vec[_S1, Tensor],
        reduction: ReductionStr = "mean",
        pos_weight: Vec[_S2, Tensor] | None = None,
    ) -> Vec[_Q | _S1 | _S2, Tensor]: ...
    @overload
    def sparse_categorical_crossentropy(
        self,
        Y: Tensor,
        ignore_index: builtins.int = -1,
        label_smoothing: builtins.float = 0.0,
        reduction: ReductionStr = "mean",
    ) -> Tensor: ...
    @overload
    def sparse_categorical_crossentropy(
        self: Vec[_Q, Tensor],
        Y: Vec[_S1, Tensor],
        ignore_index: builtins.int = -1,
        label_smoothing: builtins.float = 0.0,
        reduction: ReductionStr = "mean",
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def cross_entropy(
        self, Y: Tensor, reduction: ReductionStr = "mean", label_smoothing: builtins.float = 0.0
    ) -> Tensor: ...
    @overload
    def cross_entropy(
        self: Vec[_Q, Tensor],
        Y: Vec[_S1, Tensor],
        reduction: ReductionStr = "mean",
        label_smoothing: builtins.float = 0.0,
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def nll_loss(
        self,
        Y: Tensor,
        weight: Tensor | None = None,
        ignore_index: builtins.int | None = None,
        reduction: ReductionStr = "mean",
    ) -> Tensor: ...
    @overload
    def nll_loss(
        self: Vec[_Q, Tensor],
        Y: Vec[_S1, Tensor],
        weight: Vec[_S2, Tensor] | None = None,
        ignore_index: builtins.int | None = None,
        reduction: ReductionStr = "mean",
    ) -> Vec[_Q | _S1 | _S2, Tensor]: ...
    @overload
    def ufix(self, x: Tensor | ConstType | UOp) -> Tensor: ...
    @overload
    def ufix(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType | UOp) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def usum(self, *uops: Tensor) -> Tensor: ...
    @overload
    def usum(self: Vec[_Q, Tensor], *uops: Vec[_S1, Tensor]) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def uprod(self, *uops: Tensor) -> Tensor: ...
    @overload
    def uprod(self: Vec[_Q, Tensor], *uops: Vec[_S1, Tensor]) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def add(self, x: Tensor | ConstType, reverse: builtins.bool = False) -> Tensor: ...
    @overload
    def add(
        self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType, reverse: builtins.bool = False
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def sub(self, x: Tensor | ConstType, reverse: builtins.bool = False) -> Tensor: ...
    @overload
    def sub(
        self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType, reverse: builtins.bool = False
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def mul(self, x: Tensor | ConstType, reverse: builtins.bool = False) -> Tensor: ...
    @overload
    def mul(
        self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType, reverse: builtins.bool = False
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def bitwise_and(self, x: Tensor | ConstType, reverse: builtins.bool = False) -> Tensor: ...
    @overload
    def bitwise_and(
        self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType, reverse: builtins.bool = False
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def bitwise_or(self, x: Tensor | ConstType, reverse: builtins.bool = False) -> Tensor: ...
    @overload
    def bitwise_or(
        self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType, reverse: builtins.bool = False
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def bitwise_xor(self, x: Tensor | ConstType, reverse: builtins.bool = False) -> Tensor: ...
    @overload
    def bitwise_xor(
        self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType, reverse: builtins.bool = False
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def mod(self, x: Tensor | ConstType, reverse: builtins.bool = False) -> Tensor: ...
    @overload
    def mod(
        self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType, reverse: builtins.bool = False
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def fmod(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def fmod(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def div(
        self,
        x: Tensor | ConstType | UOp,
        reverse: builtins.bool = False,
        rounding_mode: Literal["trunc", "floor"] | None = None,
    ) -> Tensor: ...
    @overload
    def div(
        self: Vec[_Q, Tensor],
        x: Vec[_S1, Tensor] | ConstType | UOp,
        reverse: builtins.bool = False,
        rounding_mode: Literal["trunc", "floor"] | None = None,
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __add__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __add__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __sub__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __sub__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __mul__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __mul__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __truediv__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __truediv__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __floordiv__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __floordiv__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __mod__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __mod__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __and__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __and__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __or__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __or__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __xor__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __xor__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __lt__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __lt__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __gt__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __gt__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __ge__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __ge__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __le__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __le__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def ne(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def ne(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def eq(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def eq(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload  # type: ignore[override]
    def __ne__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __ne__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def lshift(self, x: Tensor | builtins.int, reverse: builtins.bool = False) -> Tensor: ...
    @overload
    def lshift(
        self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | builtins.int, reverse: builtins.bool = False
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def rshift(self, x: Tensor | builtins.int, reverse: builtins.bool = False) -> Tensor: ...
    @overload
    def rshift(
        self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | builtins.int, reverse: builtins.bool = False
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __lshift__(self, x: Tensor | builtins.int) -> Tensor: ...
    @overload
    def __lshift__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | builtins.int) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __rshift__(self, x: Tensor | builtins.int) -> Tensor: ...
    @overload
    def __rshift__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | builtins.int) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def maximum(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def maximum(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def minimum(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def minimum(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def copysign(self, other: Tensor | ConstType) -> Tensor: ...
    @overload
    def copysign(self: Vec[_Q, Tensor], other: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def logaddexp(self, other: Tensor | ConstType) -> Tensor: ...
    @overload
    def logaddexp(self: Vec[_Q, Tensor], other: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def where(self, x: Tensor | ConstType | sint, y: Tensor | ConstType | sint) -> Tensor: ...
    @overload
    def where(
        self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType | sint, y: Vec[_S2, Tensor] | ConstType | sint
    ) -> Vec[_Q | _S1 | _S2, Tensor]: ...
    @overload
    def masked_fill(self, mask: Tensor, value: Tensor | PyConst) -> Tensor: ...
    @overload
    def masked_fill(
        self: Vec[_Q, Tensor], mask: Vec[_S1, Tensor], value: Vec[_S2, Tensor] | PyConst
    ) -> Vec[_Q | _S1 | _S2, Tensor]: ...
    @overload
    def threefry(self, seed: Tensor) -> Tensor: ...
    @overload
    def threefry(self: Vec[_Q, Tensor], seed: Vec[_S1, Tensor]) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def pow(self, x: Tensor | ConstType, reverse: builtins.bool = False) -> Tensor: ...
    @overload
    def pow(
        self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType, reverse: builtins.bool = False
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def __pow__(self, x: Tensor | ConstType) -> Tensor: ...
    @overload
    def __pow__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def clamp(self, min_: Tensor | ConstType | None = None, max_: Tensor | ConstType | None = None) -> Tensor: ...
    @overload
    def clamp(
        self: Vec[_Q, Tensor],
        min_: Vec[_S1, Tensor] | ConstType | None = None,
        max_: Vec[_S2, Tensor] | ConstType | None = None,
    ) -> Vec[_Q | _S1 | _S2, Tensor]: ...
    @overload
    def clip(self, min_: Tensor | ConstType | None = None, max_: Tensor | ConstType | None = None) -> Tensor: ...
    @overload
    def clip(
        self: Vec[_Q, Tensor],
        min_: Vec[_S1, Tensor] | ConstType | None = None,
        max_: Vec[_S2, Tensor] | ConstType | None = None,
    ) -> Vec[_Q | _S1 | _S2, Tensor]: ...
    @overload
    def isclose(
        self,
        other: Tensor | ConstType,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> Tensor: ...
    @overload
    def isclose(
        self: Vec[_Q, Tensor],
        other: Vec[_S1, Tensor] | ConstType,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def lerp(self, end: Tensor, weight: Tensor | ConstType) -> Tensor: ...
    @overload
    def lerp(
        self: Vec[_Q, Tensor], end: Vec[_S1, Tensor], weight: Vec[_S2, Tensor] | ConstType
    ) -> Vec[_Q | _S1 | _S2, Tensor]: ...
    @overload
    def stack(self, *args: Tensor, dim: builtins.int = 0) -> Tensor: ...
    @overload
    def stack(self: Vec[_Q, Tensor], *args: Vec[_S1, Tensor], dim: builtins.int = 0) -> Vec[_Q | _S1, Tensor]: ...
    @overload
    def meshgrid(self, *args: Tensor, indexing: str = "ij") -> tuple[Tensor, ...]: ...
    @overload
    def meshgrid(
        self: Vec[_Q, Tensor], *args: Vec[_S1, Tensor], indexing: str = "ij"
    ) -> tuple[Vec[_Q | _S1, Tensor], ...]: ...

MYPY = False  # mypy takes it for true
assert not MYPY  # and reads no further: to others a `Tensor` is a `Vec[Never]`, and a `Vec[Never]` a `Tensor`

from branded import _plain

Tensor: TypeAlias = _plain.Vec
