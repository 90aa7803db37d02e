"""The transforms and operations of each library under the same names."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np


class Here:
    """This package."""

    name, what = "here", "`branded.jit(f)`"

    def __init__(self, cache: Path | None = None) -> None:
        from tinygrad import Device, Tensor

        import branded

        self.T, self.version = Tensor, branded.__version__
        # on a CPU a call is over when it returns, as one of torch is
        self.wait = Device[Device.DEFAULT].synchronize if Device.DEFAULT != "CPU" else None
        self.vmap, self.grad, self.scan, self.jit = branded.vmap, branded.grad, branded.scan, branded.jit
        self.exp, self.tanh, self.relu, self.gelu = Tensor.exp, Tensor.tanh, Tensor.relu, Tensor.gelu
        self.sqrt, self.softmax, self.layernorm = Tensor.sqrt, Tensor.softmax, Tensor.layernorm
        self.sum, self.transpose = Tensor.sum, Tensor.permute

    def array(self, a: np.ndarray) -> Any:
        return self.T(a).realize()

    def conv(self, x: Any, w: Any) -> Any:
        return x.conv2d(w)

    def sort(self, x: Any) -> Any:
        return x.sort()[0]

    def topk(self, x: Any, k: int) -> Any:
        return x.topk(k)[0]

    def done(self, out: Any) -> Any:
        if self.wait is not None:
            self.wait()
        return out


class Jax:
    name, what = "jax", "`jax.jit(f)`"

    def __init__(self, cache: Path | None = None) -> None:
        import jax
        import jax.numpy as jnp

        if cache is not None:
            jax.config.update("jax_compilation_cache_dir", str(cache))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
            jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        self.jax, self.version = jax, version("jax")
        self.vmap, self.grad, self.scan, self.jit = jax.vmap, jax.grad, jax.lax.scan, jax.jit
        self.exp, self.tanh, self.relu, self.gelu = jnp.exp, jnp.tanh, jax.nn.relu, jax.nn.gelu
        self.sqrt, self.softmax, self.sort = jnp.sqrt, jax.nn.softmax, jnp.sort
        self.sum, self.transpose, self.array, self.done = jnp.sum, jnp.transpose, jnp.asarray, jax.block_until_ready

    def layernorm(self, x: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) / self.sqrt(x.var(-1, keepdims=True) + 1e-5)

    def conv(self, x: Any, w: Any) -> Any:
        return self.jax.lax.conv(x, w, (1, 1), "VALID")

    def topk(self, x: Any, k: int) -> Any:
        return self.jax.lax.top_k(x, k)[0]


class Torch:
    """It has no loop that vmap goes through; a program with one is not measured: see `eager.py`."""

    name, what = "torch", "eager `torch.func.vmap(f)`"

    def __init__(self, cache: Path | None = None) -> None:
        import torch

        F = torch.nn.functional  # noqa: N806
        self.torch, self.version = torch, version("torch")
        self.vmap, self.grad, self.jit = torch.func.vmap, torch.func.grad, lambda f: f
        self.exp, self.tanh, self.relu, self.gelu = torch.exp, torch.tanh, torch.relu, F.gelu
        self.sqrt, self.sum, self.conv, self.transpose = torch.sqrt, torch.sum, F.conv2d, torch.permute

    def array(self, a: np.ndarray) -> Any:
        return self.torch.tensor(a).long() if a.dtype.kind == "i" else self.torch.tensor(a)

    def softmax(self, x: Any) -> Any:
        return x.softmax(-1)

    def layernorm(self, x: Any) -> Any:
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()

    def sort(self, x: Any) -> Any:
        return x.sort()[0]

    def topk(self, x: Any, k: int) -> Any:
        return x.topk(k)[0]

    def done(self, out: Any) -> Any:
        return out


LIBRARIES: dict[str, Callable[..., Any]] = {"here": Here, "jax": Jax, "torch": Torch}


def installed() -> Sequence[str]:
    """The libraries that are measured in one process."""
    return ["here", *(["jax"] if importlib.util.find_spec("jax") is not None else [])]
