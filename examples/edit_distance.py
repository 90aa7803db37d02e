"""Edit distances of all pairs of words: one pair is a scan, and two brands give the table.

python examples/edit_distance.py
"""

from __future__ import annotations

from tinygrad import Tensor

from branded import Vec, jit, scan, vmap
from branded.typing import S, S1

Word = tuple[Vec[S], Vec[S]]
"""The letters `i32[n]`, and the length of the word: all words of a batch have the same shape."""


def distance(a: Word[S], b: Word[S1]) -> Vec[S | S1]:
    """Return the least number of insertions, deletions and substitutions (Wagner and Fischer 1974).

    Row i of the table holds the distances of the first i letters of `a` to all beginnings of `b`.
    """
    letters, length = a
    others, other_length = b
    columns = Tensor.arange(others.shape[0] + 1)

    def next_row(row: Vec[S | S1], letter: Vec[S]) -> tuple[Vec[S | S1], Vec[S | S1]]:
        changed = row[:-1] + (others != letter).int()
        above = (row + 1).minimum((row[:1] + 1).cat(changed))
        row = columns - (columns - above).cummax(0)[0]  # from the left: at each step to the right one more
        return row, row

    rows = columns[None].cat(scan(next_row, columns, letters)[1])
    return rows[length][other_length]


def encode(words: list[str]) -> Word[S]:
    """Return all words, padded to the same length."""
    longest = max(map(len, words))
    return Tensor([[ord(c) for c in w.ljust(longest)] for w in words]), Tensor([len(w) for w in words])


def main() -> None:
    words = ["kitten", "sitting", "mitten", "sit", "knitting"]
    letters, lengths = encode(words)
    table = jit(
        lambda letters, lengths: vmap(
            lambda a, n: vmap(lambda b, m: distance((a, n), (b, m)))(letters, lengths)  # all pairs
        )(letters, lengths)
    )(letters, lengths)
    for word, row in zip(words, table.tolist(), strict=True):
        print(f"{word:>8}", *row)


if __name__ == "__main__":
    main()
