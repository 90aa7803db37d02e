"""tinygrad.nn.datasets, with a type for all that it defines.

Written by stubs/generate.py from tinygrad's own signatures: change that, not this.
"""

from typing import Any

from tinygrad.nn.state import tar_extract as tar_extract
from tinygrad.tensor import Tensor as Tensor

def mnist(device: Any = None, fashion: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
def cifar(device: Any = None) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
