"""GPT-2 and LLaMA with their caches, and Mamba with its states."""

from __future__ import annotations

from typing import Any

from tinygrad import Tensor, nn


def causal(length: int, start: int) -> Tensor:
    return Tensor.full((1, 1, length, start + length), float("-inf")).triu(start + 1)


class Attention:
    """GPT-2: keys and values are written into a cache that is created in advance."""

    def __init__(self, dim: int, heads: int, context: int) -> None:
        self.c_attn, self.c_proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.heads, self.size = heads, dim // heads
        self.cache_kv = Tensor.zeros(2, 1, context, heads, self.size).contiguous().realize()

    def __call__(self, x: Any, start: int) -> Any:
        batch, length, dim = x.shape
        q, k, v = (t.reshape(batch, length, self.heads, self.size) for t in self.c_attn(x).chunk(3, dim=-1))
        self.cache_kv[:, :, start : start + length].assign(Tensor.stack(k, v)).realize()
        keys, vals = self.cache_kv[0, :, : start + length], self.cache_kv[1, :, : start + length]
        mask = causal(length, start) if length > 1 else None
        out = q.transpose(1, 2).scaled_dot_product_attention(keys.transpose(1, 2), vals.transpose(1, 2), mask)
        return self.c_proj(out.transpose(1, 2).reshape(batch, length, dim))


class Layer:
    def __init__(self, dim: int, heads: int, context: int) -> None:
        self.ln_1, self.ln_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim, heads, context)
        self.c_fc, self.c_proj = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def __call__(self, x: Any, start: int) -> Any:
        h = x + self.attn(self.ln_1(x), start)
        return h + self.c_proj(self.c_fc(self.ln_2(h)).gelu())


class GPT2:
    """Radford et al. (2019): the output layer shares the weights of the token embedding."""

    def __init__(self, dim: int = 8, heads: int = 2, layers: int = 1, vocabulary: int = 7, context: int = 4) -> None:
        self.wte, self.wpe = nn.Embedding(vocabulary, dim), nn.Embedding(context, dim)
        self.h = [Layer(dim, heads, context) for _ in range(layers)]
        self.ln_f, self.lm_head = nn.LayerNorm(dim), nn.Linear(dim, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight

    def __call__(self, tokens: Any, start: int = 0) -> Any:
        x = self.wte(tokens) + self.wpe(Tensor.arange(start, start + tokens.shape[1]).unsqueeze(0))
        for layer in self.h:
            x = layer(x, start)
        return self.lm_head(self.ln_f(x))[:, -1].log_softmax().realize()


def rotated(x: Any, start: int) -> Any:
    """Su et al. (2021): pairs of features are rotated by an angle that depends on the position."""
    length, size = x.shape[1], x.shape[-1]
    rate = 1.0 / (100.0 ** (Tensor.arange(0, size, 2) / size))
    turn = (Tensor.arange(start, start + length).unsqueeze(1) * rate).reshape(1, length, 1, size // 2)
    a, b = x[..., ::2], x[..., 1::2]
    return Tensor.stack(a * turn.cos() - b * turn.sin(), a * turn.sin() + b * turn.cos(), dim=-1).flatten(3)


class GroupedAttention:
    """LLaMA: fewer keys than queries, and a cache that the first call creates."""

    def __init__(self, dim: int, heads: int, groups: int, context: int) -> None:
        self.heads, self.groups, self.size, self.context = heads, groups, dim // heads, context
        self.wq, self.wo = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.wk, self.wv = (nn.Linear(dim, groups * self.size, bias=False) for _ in range(2))

    def __call__(self, x: Any, start: int) -> Any:
        batch, length, dim = x.shape
        q = rotated(self.wq(x).reshape(batch, length, self.heads, self.size), start)
        k = rotated(self.wk(x).reshape(batch, length, self.groups, self.size), start)
        v = self.wv(x).reshape(batch, length, self.groups, self.size)
        if not hasattr(self, "cache_kv"):
            shape = (2, batch, self.context, self.groups, self.size)
            self.cache_kv = Tensor.zeros(*shape, dtype=x.dtype).contiguous().realize()
        self.cache_kv[:, :, start : start + length].assign(Tensor.stack(k, v)).realize()
        repeat = self.heads // self.groups
        keys, vals = (
            t[:, : start + length].repeat_interleave(repeat, dim=2).transpose(1, 2)
            for t in (self.cache_kv[0], self.cache_kv[1])
        )
        mask = causal(length, start) if length > 1 else None
        out = q.transpose(1, 2).scaled_dot_product_attention(keys, vals, mask).transpose(1, 2)
        return self.wo(out.reshape(batch, length, dim))


class GatedLayer:
    def __init__(self, dim: int, heads: int, groups: int, context: int) -> None:
        self.attention_norm, self.ffn_norm = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.attention = GroupedAttention(dim, heads, groups, context)
        self.w1, self.w3 = (nn.Linear(dim, 2 * dim, bias=False) for _ in range(2))
        self.w2 = nn.Linear(2 * dim, dim, bias=False)

    def __call__(self, x: Any, start: int) -> Any:
        h = x + self.attention(self.attention_norm(x), start)
        y = self.ffn_norm(h)
        return (h + self.w2(self.w1(y).silu() * self.w3(y))).realize()


class Llama:
    """Touvron et al. (2023)."""

    def __init__(self, dim: int = 8, layers: int = 1, vocabulary: int = 7, context: int = 4) -> None:
        self.tok_embeddings = nn.Embedding(vocabulary, dim)
        self.layers = [GatedLayer(dim, 4, 2, context) for _ in range(layers)]
        self.norm, self.output = nn.RMSNorm(dim), nn.Linear(dim, vocabulary, bias=False)

    def __call__(self, tokens: Any, start: int = 0) -> Any:
        x = self.tok_embeddings(tokens).realize()
        for layer in self.layers:
            x = layer(x, start)
        return self.output(self.norm(x))[:, -1].log_softmax().realize()


class Mamba:
    """Gu and Dao (2023), one token at a time: the convolution and the recurrence write their states in place."""

    def __init__(self, dim: int = 4, states: int = 3, width: int = 3, vocabulary: int = 7) -> None:
        inner = 2 * dim
        self.states, self.rank, self.width = states, 2, width
        self.embedding, self.norm = nn.Embedding(vocabulary, dim), nn.RMSNorm(dim)
        self.in_proj = nn.Linear(dim, 2 * inner, bias=False)
        self.conv_weight, self.conv_bias = Tensor.randn(inner, width) * 0.5, Tensor.randn(inner) * 0.5
        self.x_proj = nn.Linear(inner, self.rank + 2 * states, bias=False)
        self.dt_proj, self.out_proj = nn.Linear(self.rank, inner), nn.Linear(inner, dim, bias=False)
        self.A_log = Tensor.arange(1, states + 1).float().log().expand(inner, states).contiguous()
        self.D = Tensor.ones(inner)
        self.conv_state = Tensor.zeros(inner, width).contiguous().realize()
        self.ssm_state = Tensor.zeros(inner, states).contiguous().realize()

    def step(self, token: Any) -> Any:
        hidden = self.embedding(token.reshape(1))[0]
        x, gate = self.in_proj(self.norm(hidden)).chunk(2, dim=-1)
        self.conv_state[:, :-1].assign(self.conv_state[:, 1:].clone())
        self.conv_state[:, -1].assign(x)
        x = ((self.conv_state * self.conv_weight).sum(-1) + self.conv_bias).silu()
        parts = self.x_proj(x)
        dt = self.dt_proj(parts[: self.rank]).softplus().unsqueeze(-1)
        b, c = parts[self.rank : self.rank + self.states], parts[self.rank + self.states :]
        decay = (dt * -self.A_log.exp()).exp()
        self.ssm_state.assign(self.ssm_state * decay + dt * b * x.unsqueeze(-1)).realize()
        y = (self.ssm_state * c).sum(-1) + self.D * x
        return (hidden + self.out_proj(y * gate.silu())).realize()

    def __call__(self, tokens: Any) -> Any:
        hidden = [self.step(tokens[i]) for i in range(tokens.shape[0])][-1]
        return (self.embedding.weight @ hidden).log_softmax()
