"""The gallery of mistakes: `docs/gallery.md`, and the programs that it shows.

A mistake is a line of `words.toml` and one program for each library, all of one name: `wrong` and `right` are ours,
`jax`, `torch` and `numpy` make the same mistake.  What the peers print or raise is in `recorded.json`, which
`python -m tests.gallery.record` writes where they are installed; `python -m tests.gallery` runs ours, asks mypy about
them, and writes the page.
"""
