"""The gallery of mistakes: `docs/gallery.md`, one page per mistake in `docs/gallery`, and the programs on the pages.

A mistake has an entry in `words.toml` and one program per library.  The programs share one file name, which is also
the address of the page.  `wrong` and `right` contain programs for branded; `jax`, `torch` and `numpy` make the same
mistake in another library.  `recorded.json` contains the output of the other libraries, and the errors of pyright for
our programs: `python -m tests.gallery.record` writes it where these are installed.  `python -m tests.gallery` runs our
programs, checks them with mypy, and writes the pages.
"""
