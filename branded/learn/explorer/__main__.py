"""Make what is kept of the examples anew."""

from branded.learn.explorer.catalog import EXAMPLES, text

for example in EXAMPLES:
    example.data.write_text(text(example), encoding="utf-8")
