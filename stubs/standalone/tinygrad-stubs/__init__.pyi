"""tinygrad, with all the names that it exports.

Written by stubs/generate.py from tinygrad's own signatures: change that, not this.
"""

from tinygrad.device import Device as Device
from tinygrad.dtype import dtypes as dtypes
from tinygrad.engine.jit import TinyJit as TinyJit
from tinygrad.function import function as function
from tinygrad.helpers import Context as Context
from tinygrad.helpers import GlobalCounters as GlobalCounters
from tinygrad.helpers import fetch as fetch
from tinygrad.helpers import getenv as getenv
from tinygrad.tensor import Tensor as Tensor
from tinygrad.uop.ops import UOp as UOp

Variable = UOp.variable
