"""A lazy numpy, imported at the first use of one of its attributes.

The import of numpy takes longer than the import of this package. tinygrad does not import it before it reads or writes
an array either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            import numpy

            attribute = self.__dict__[name] = getattr(numpy, name)
            return attribute

    np = _Numpy()

__all__ = ["np"]
