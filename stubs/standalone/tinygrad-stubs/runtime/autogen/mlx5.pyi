"""A driver of network cards, of which nothing is said.

Written by stubs/generate.py from tinygrad's own signatures: change that, not this.
"""

from typing import Any

def __getattr__(name: str) -> Any: ...
