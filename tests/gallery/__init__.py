"""The gallery of mistakes: `docs/gallery.md`, a page in `docs/gallery` for each, and the programs that they show.

A mistake is a line of `words.toml` and one program for each library, all of one name, which is also the address of its
page: `wrong` and `right` are ours, `jax`, `torch` and `numpy` make the same mistake.  What the peers print or raise,
and what pyright says of ours, is in `recorded.json`, which `python -m tests.gallery.record` writes where they are
installed; `python -m tests.gallery` runs ours, asks mypy about them, and writes the pages.
"""
