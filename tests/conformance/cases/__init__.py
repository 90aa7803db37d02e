"""Fill the table of cases, one module per family."""

from ..table import CASES as CASES
from . import convolution as convolution
from . import dtypes as dtypes
from . import elementwise as elementwise
from . import indexing as indexing
from . import linalg as linalg
from . import movement as movement
from . import networks as networks
from . import programs as programs
from . import reductions as reductions
from . import writing as writing
