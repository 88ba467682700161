"""Attention and the transformer block."""

from __future__ import annotations

from typing import Any

from .. import random
from .._arrays import as_tensor
from .._errors import Error
from .._functions import functions
from .._module import Buffer, Module
from .._tensor import Tensor
from .._trace_names import caller
from ._layers import MLP, Linear, SwiGLU
from ._norms import LayerNorm, RMSNorm


class KeyValueCache(Module):
    """Keys and values of the positions that attention has seen: [batch, heads, capacity, features] each, and how
    many there are. The capacity is the caller's to keep: a position beyond it is an index error."""

    def __init__(self, batch: int, heads: int, capacity: int, features: int, dtype: Any = "float32") -> None:
        self.keys = Buffer(functions["zeros"]((batch, heads, capacity, features), dtype))
        self.values = Buffer(functions["zeros"]((batch, heads, capacity, features), dtype))
        self.length = Buffer(as_tensor(0, "int64"))

    def append(self, keys: Tensor, values: Tensor) -> Tensor:
        """Keeps what comes after what is there; gives the new positions."""
        positions = self.length + functions["arange"](keys.shape[2])
        self.keys[:, :, positions] = keys
        self.values[:, :, positions] = values
        self.length._rebind(self.length + keys.shape[2])
        return positions

    def reset(self) -> KeyValueCache:
        """Forgets all."""
        self.length._rebind(as_tensor(0, "int64"))
        return self


class MultiHeadAttention(Module):
    """softmax(q k^T / sqrt(features of a head)) v over heads of [batch, length, features], between linear maps.

    With fewer `kv_heads` than `heads`, groups of heads share keys and values. `causal` hides later positions.
    `rope` turns pairs of features by their positions, with that base (10000 for True). `context` gives keys and
    values for cross-attention; a `cache` keeps them from call to call.
    """

    def __init__(
        self,
        features: int,
        heads: int,
        kv_heads: int | None = None,
        causal: bool = False,
        rope: bool | float = False,
        dropout: float = 0.0,
        bias: bool = True,
        dtype: Any = "float32",
    ) -> None:
        kv_heads = heads if kv_heads is None else kv_heads
        if heads < 1 or kv_heads < 1 or features % heads or heads % kv_heads:
            expected = "features a multiple of heads, and heads a multiple of kv_heads"
            got = f"{features} features, {heads} heads, {kv_heads} kv_heads"
            raise Error("the heads do not fit", op="MultiHeadAttention", expected=expected, got=got, **caller())
        self.heads, self.kv_heads, self.head_features, self.causal = heads, kv_heads, features // heads, causal
        self.rope = 10000.0 if rope is True else float(rope)
        self.dropout = dropout
        self.query = Linear(features, features, bias, dtype)
        self.key = Linear(features, kv_heads * self.head_features, bias, dtype)
        self.value = Linear(features, kv_heads * self.head_features, bias, dtype)
        self.out = Linear(features, features, bias, dtype)

    def new_cache(self, batch: int, capacity: int) -> KeyValueCache:
        """An empty cache for this module."""
        return KeyValueCache(batch, self.kv_heads, capacity, self.head_features, self.key.weight.dtype)

    def _split(self, x: Tensor, heads: int) -> Tensor:
        return x.reshape(x.shape[0], x.shape[1], heads, self.head_features).permute(0, 2, 1, 3)

    def forward(
        self, x: Tensor, context: Tensor | None = None, mask: Tensor | None = None, cache: KeyValueCache | None = None
    ) -> Tensor:
        source = x if context is None else context
        q = self._split(self.query(x), self.heads)
        k, v = self._split(self.key(source), self.kv_heads), self._split(self.value(source), self.kv_heads)
        positions = functions["arange"](x.shape[1])
        if cache is not None:
            positions = positions + cache.length
        if self.rope:
            if context is not None:
                raise Error("rotary positions are of one sequence", op="MultiHeadAttention", got="a context", **caller())
            cos, sin = functions["rope_tables"](positions, self.head_features, self.rope, dtype=q.dtype)
            q, k = functions["rope"](q, cos, sin), functions["rope"](k, cos, sin)
        causal = self.causal
        if cache is not None:
            cache.append(k, v)
            k, v = cache.keys, cache.values
            last = positions.unsqueeze(-1) if causal else cache.length - 1
            seen = functions["arange"](k.shape[2]) <= last
            if mask is not None and mask.dtype.name != "bool":
                mask = functions["where"](seen, mask, -float("inf"))
            else:
                mask = seen if mask is None else mask & seen
            causal = False
        y = functions["scaled_dot_product_attention"](q, k, v, mask, causal, enable_gqa=self.kv_heads != self.heads)
        y = self.out(y.permute(0, 2, 1, 3).reshape(x.shape))
        return random.dropout(y, self.dropout) if self.training and self.dropout else y


class TransformerBlock(Module):
    """x + attention(norm(x)), then x + mlp(norm(x)): normalised before each part. `norm` is "layer" or "rms",
    `mlp` is "gelu" (MLP) or "swiglu"; dropout acts on what each part adds."""

    def __init__(
        self,
        features: int,
        heads: int,
        hidden: int | None = None,
        kv_heads: int | None = None,
        causal: bool = False,
        rope: bool | float = False,
        dropout: float = 0.0,
        norm: str = "layer",
        mlp: str = "gelu",
        bias: bool = True,
        dtype: Any = "float32",
    ) -> None:
        if norm not in ("layer", "rms") or mlp not in ("gelu", "swiglu"):
            expected = 'norm "layer" or "rms", mlp "gelu" or "swiglu"'
            raise Error("there is no such part", op="TransformerBlock", expected=expected, got=f"{norm!r}, {mlp!r}", **caller())
        hidden = 4 * features if hidden is None else hidden
        self.dropout = dropout
        self.norm1: Module = LayerNorm(features, dtype=dtype) if norm == "layer" else RMSNorm(features, dtype=dtype)
        self.attention = MultiHeadAttention(features, heads, kv_heads, causal, rope, dropout, bias, dtype)
        self.norm2: Module = LayerNorm(features, dtype=dtype) if norm == "layer" else RMSNorm(features, dtype=dtype)
        self.mlp: Module = MLP(features, hidden, bias, dtype=dtype) if mlp == "gelu" else SwiGLU(features, hidden, bias, dtype)

    def forward(self, x: Tensor, mask: Tensor | None = None, cache: KeyValueCache | None = None) -> Tensor:
        x = x + self.attention(self.norm1(x), mask=mask, cache=cache)
        y = self.mlp(self.norm2(x))
        return x + (random.dropout(y, self.dropout) if self.training and self.dropout else y)
