"""Whisper, an encoder and decoder with attention, and RNN-T, a transducer built from LSTMs."""

from __future__ import annotations

from typing import Any

from tinygrad import Tensor, nn

from tests.nn.models.language import causal


class Attention:
    def __init__(self, dim: int, heads: int, context: int = 0) -> None:
        self.heads = heads
        self.query, self.out, self.value = (nn.Linear(dim, dim) for _ in range(3))
        self.key = nn.Linear(dim, dim, bias=False)
        if context:
            self.cache_k, self.cache_v = (Tensor.zeros(1, context, dim).contiguous().realize() for _ in range(2))

    def __call__(self, x: Any, other: Any = None, start: int | None = None) -> Any:
        q, k, v = self.query(x), self.key(x if other is None else other), self.value(x if other is None else other)
        mask = None
        if start is not None:
            end = start + x.shape[1]
            self.cache_k[:, start:end].assign(k).realize()
            self.cache_v[:, start:end].assign(v).realize()
            k, v, mask = self.cache_k[:, :end], self.cache_v[:, :end], causal(x.shape[1], start)
        q, k, v = (t.reshape(*t.shape[:2], self.heads, -1).transpose(1, 2) for t in (q, k, v))
        return self.out(q.scaled_dot_product_attention(k, v, mask).transpose(1, 2).flatten(2))


class Block:
    def __init__(self, dim: int, heads: int, cross: bool, context: int = 0) -> None:
        self.attn, self.attn_ln = Attention(dim, heads, context), nn.LayerNorm(dim)
        if cross:
            self.cross_attn, self.cross_attn_ln = Attention(dim, heads), nn.LayerNorm(dim)
        self.mlp = [nn.Linear(dim, 2 * dim), Tensor.gelu, nn.Linear(2 * dim, dim)]
        self.mlp_ln = nn.LayerNorm(dim)

    def __call__(self, x: Any, sound: Any = None, start: int | None = None) -> Any:
        x = x + self.attn(self.attn_ln(x), start=start)
        if sound is not None:
            x = x + self.cross_attn(self.cross_attn_ln(x), sound)
        return x + self.mlp_ln(x).sequential(self.mlp)


class Whisper:
    """Radford et al. (2022)."""

    def __init__(self, mels: int = 4, frames: int = 6, dim: int = 4, vocabulary: int = 5, context: int = 3) -> None:
        self.conv1, self.conv2 = nn.Conv1d(mels, dim, 3, padding=1), nn.Conv1d(dim, dim, 3, stride=2, padding=1)
        self.position = Tensor.randn(frames // 2, dim) * 0.1
        self.encoder, self.ln_post = Block(dim, 2, False), nn.LayerNorm(dim)
        self.token_embedding, self.positional = nn.Embedding(vocabulary, dim), Tensor.randn(context, dim) * 0.1
        self.decoder, self.ln = Block(dim, 2, True, context), nn.LayerNorm(dim)

    def __call__(self, sound: Any, tokens: Any) -> Any:
        x = self.conv2(self.conv1(sound).gelu()).gelu().transpose(1, 2) + self.position
        heard = self.ln_post(self.encoder(x)).realize()
        for at in range(tokens.shape[1]):  # one token at a time, as in transcription
            y = self.token_embedding(tokens[:, at : at + 1]) + self.positional[at : at + 1]
            y = self.ln(self.decoder(y, heard, at))
        return (y @ self.token_embedding.weight.T)[:, -1].log_softmax().realize()


class LSTM:
    def __init__(self, inputs: int, hidden: int) -> None:
        self.cell, self.hidden = nn.LSTMCell(inputs, hidden), hidden

    def __call__(self, x: Any) -> Any:
        h = c = Tensor.zeros(x.shape[1], self.hidden)
        out = []
        for t in range(x.shape[0]):
            h, c = self.cell(x[t], (h, c))
            h, c = h.realize(), c.realize()
            out.append(h)
        return Tensor.stack(*out).realize()


class RNNT:
    """Graves (2012): a joint network combines all pairs of frames and labels."""

    def __init__(self, features: int = 3, hidden: int = 4, vocabulary: int = 5) -> None:
        self.first, self.second = LSTM(features, hidden), LSTM(2 * hidden, hidden)
        self.embedding, self.prediction = nn.Embedding(vocabulary, hidden), LSTM(hidden, hidden)
        self.joint = [nn.Linear(2 * hidden, hidden), Tensor.relu, nn.Linear(hidden, vocabulary + 1)]

    def __call__(self, x: Any, labels: Any) -> Any:
        y = self.first(x)
        y = y.reshape(y.shape[0] // 2, 2, *y.shape[1:]).transpose(1, 2).flatten(2)  # half as many frames
        f = self.second(y).transpose(0, 1)
        start = Tensor.zeros(1, labels.shape[0], self.embedding.weight.shape[1])
        g = self.prediction(start.cat(self.embedding(labels).transpose(0, 1))).transpose(0, 1)
        frames, steps = f.shape[1], g.shape[1]
        pairs = f.unsqueeze(2).expand(-1, -1, steps, -1).cat(g.unsqueeze(1).expand(-1, frames, -1, -1), dim=-1)
        return pairs.sequential(self.joint).log_softmax()
