"""tinygrad.nn.optim, with a type for all that it defines.

Written by stubs/generate.py from tinygrad's own signatures: change that, not this.
"""

from typing import Any

from tinygrad.dtype import dtypes as dtypes
from tinygrad.dtype import least_upper_dtype as least_upper_dtype
from tinygrad.dtype import to_dtype as to_dtype
from tinygrad.helpers import FUSE_OPTIM as FUSE_OPTIM
from tinygrad.helpers import TRAINING as TRAINING
from tinygrad.helpers import dedup as dedup
from tinygrad.helpers import flatten as flatten
from tinygrad.helpers import getenv as getenv
from tinygrad.helpers import unwrap as unwrap
from tinygrad.tensor import Tensor as Tensor

class Optimizer:
    params: list[Tensor]
    buffers: list[Tensor]
    device: Any
    param_dtype: Any
    fused: Any
    lr: Any
    pos_params: Any

    def __init__(self, params: list[Tensor], lr: float, device: Any = None, fused: Any = ...) -> None: ...
    def _new_optim_param(self) -> list[Tensor]: ...
    def zero_grad(self) -> None: ...
    def step(self) -> None: ...
    def schedule_step(self) -> list[Tensor]: ...
    def _step(self, params: list[Tensor], grads: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]: ...
    def _apply_update(self, t: Tensor, up: Tensor) -> Tensor: ...

class OptimizerGroup(Optimizer):
    optimizers: Any

    def __init__(self, *optimizers: Optimizer) -> None: ...
    def __getitem__(self, i: Any) -> Any: ...
    def zero_grad(self) -> None: ...
    def schedule_step(self) -> list[Tensor]: ...

def SGD(
    params: list[Tensor],
    lr: float = 0.001,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    classic: bool = False,
    device: Any = None,
    fused: Any = ...,
) -> LARS: ...
def Muon(
    params: list[Tensor],
    lr: float = 0.001,
    momentum: float = 0.95,
    weight_decay: float = 0.1,
    ns_steps: int = 5,
    ns_coefficients: Any = (3.4445, -4.775, 2.0315),
    nesterov: bool = True,
    device: Any = None,
    fused: Any = ...,
) -> LARS: ...

class LARS(Optimizer):
    b: Any

    def __init__(
        self,
        params: list[Tensor],
        lr: float = 0.001,
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        ns_steps: int = 0,
        ns_coefficients: Any = None,
        nesterov: bool = False,
        classic: bool = True,
        pre_wd: bool = True,
        tcoef: float = 0.001,
        device: Any = None,
        fused: Any = ...,
    ) -> None: ...
    def _step(self, params: list[Tensor], grads: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]: ...

def AdamW(
    params: list[Tensor],
    lr: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-08,
    weight_decay: float = 0.01,
    device: Any = None,
    fused: Any = ...,
) -> LAMB: ...
def Adam(
    params: list[Tensor],
    lr: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-08,
    device: Any = None,
    fused: Any = ...,
) -> LAMB: ...

class LAMB(Optimizer):
    m: Any
    v: Any

    def __init__(
        self,
        params: list[Tensor],
        lr: float = 0.001,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-06,
        weight_decay: float = 0.0,
        adam: bool = False,
        device: Any = None,
        fused: Any = ...,
    ) -> None: ...
    def _step(self, params: list[Tensor], grads: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]: ...
