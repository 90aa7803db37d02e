"""`python -m tests.conformance` writes the page."""

from branded.tinygrad_compat import activation

from .page import PATH, write

activation.activate()  # hooks add methods to Tensor
write()
print(f"wrote {PATH}")
