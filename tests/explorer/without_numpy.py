"""Blocks of the course and answers to puzzles as the browser runs them: without numpy, on tinygrad's Python device.

It reads as JSON what is to run, `{page: [block]}` and `[[number, answer, what is right]]`, and writes what came of it.
"""

from __future__ import annotations

import json
import sys

from branded.learn.explorer import no_numpy

if __name__ == "__main__":
    sys.modules["numpy"] = no_numpy
    from branded.learn.explorer import blocks, browser, puzzles

    browser.use_python_device()
    pages, answers = json.load(sys.stdin)
    found = {}
    for page, texts in pages.items():
        blocks.forget()
        found[page] = [json.loads(blocks.run(text, i + 1)) for i, text in enumerate(texts)]
    json.dump([found, [json.loads(puzzles.judge(*each)) for each in answers]], sys.stdout)
