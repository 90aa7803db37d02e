"""Run programs as the browser does: without numpy and mypy, on tinygrad's Python device.

The input and the results are JSON. The input holds the blocks of the course, `{page: [block]}`, the answers to puzzles,
`[[number, answer, correct cases]]`, and the programs of the explorer, `[[program, functions]]`.
"""

from __future__ import annotations

import gc
import json
import sys

from branded.learn.explorer import no_numpy

if __name__ == "__main__":
    sys.modules["numpy"] = no_numpy
    sys.modules.update(dict.fromkeys(("mypy", "mypy.build", "mypy.main")))
    from branded.learn.explorer import blocks, browser, puzzles

    gc.set_threshold(100_000, 50, 1000)  # takes a tenth of the time
    browser.use_python_device()
    pages, answers, programs = json.load(sys.stdin)
    found = {}
    for page, texts in pages.items():
        blocks.forget()
        found[page] = [json.loads(blocks.run(text, i + 1)) for i, text in enumerate(texts)]
    verdicts = [json.loads(puzzles.judge(*each)) for each in answers]
    json.dump([found, verdicts, [json.loads(browser.run(*each)) for each in programs]], sys.stdout)
