"""`python -m tests.conformance` writes the page."""

from .page import PATH, write

write()
print(f"wrote {PATH}")
