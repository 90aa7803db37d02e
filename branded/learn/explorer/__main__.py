"""Regenerate the stored explanations of the examples."""

from branded.learn.explorer.catalog import EXAMPLES, text

for example in EXAMPLES:
    example.data.write_text(text(example), encoding="utf-8")
