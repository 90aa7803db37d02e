"""Bag-of-words documents: strings at the border, tensors inside, pairs of documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from branded import vmap
from tinygrad import Tensor, dtypes


@dataclass
class Vocabulary:
    words: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.words)

    def index(self, word: str) -> int:
        return self.words.setdefault(word, len(self.words))

    def encode(self, text: str, length: int) -> list[int]:
        found = [self.index(w) for w in text.lower().split()][:length]
        return found + [0] * (length - len(found))


def batch(texts: Iterable[str], vocabulary: Vocabulary, length: int = 6) -> Tensor:
    return Tensor([vocabulary.encode(t, length) for t in texts], dtype=dtypes.int32)


def embed(tokens: Tensor, table: Tensor) -> Tensor:
    used = (tokens > 0).float()
    return (table[tokens] * used.unsqueeze(1)).sum(axis=0) / used.sum().maximum(1)  # read: return (table[tokens] * used.unsqueeze(1)).sum(axis=0) / max(used.sum().item(), 1)


def cosine(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum() / (a.square().sum() * b.square().sum()).sqrt()


def nearest(query: Tensor, documents: Tensor) -> tuple[Tensor, Tensor]:
    scores = vmap(lambda d: cosine(query, d))(documents)  # zip: scores = vmap(cosine)(query, documents)
    return scores.argmax(), scores.max()


def titles(chosen: Sequence[int], texts: Sequence[str]) -> list[str]:
    return [texts[i] for i in chosen]  # key: return [texts[str(i)] for i in chosen]


texts = ["the cat sat", "a dog ran home", "the dog sat on the cat"]
queries = ["cat", "home dog"]
vocabulary = Vocabulary({"": 0})
documents, asked = batch(texts, vocabulary), batch(queries, vocabulary)
table = Tensor.arange(len(vocabulary) * 3).reshape(len(vocabulary), 3).float().cos()
vectors = vmap(embed, in_axes=(0, None))(documents, table)  # none: vectors = vmap(embed)(documents, table)
questions = vmap(lambda t: embed(t, table))(asked)
places, scores = vmap(nearest, in_axes=(0, None))(questions, vectors)
lengths = vmap(lambda t: (t > 0).sum())(documents)  # read: lengths = vmap(lambda t: len([w for w in t.tolist() if w > 0]))(documents)
rare = vmap(lambda t: (t.max() > 7).where(1, 0))(documents)  # if: rare = vmap(lambda t: 1 if t.max() > 7 else 0)(documents)
titles([int(i) for i in places.tolist()], texts)
result = places, scores, lengths, rare
