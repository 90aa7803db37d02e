"""numpy, which is imported when something of it is first asked for: that takes longer than the import of this package.

tinygrad does not import it either, before it reads or writes an array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            import numpy

            found = self.__dict__[name] = getattr(numpy, name)
            return found

    np = _Numpy()

__all__ = ["np"]
