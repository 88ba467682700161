"""Forward and backward passes that PyPTO derives and fuses, beside the same written by hand operator by operator.

By hand, each operator of the table is a compiled function of its own, with the schedule and the threads that it gets by
default; only gelu and its derivative count as one operator each, as in other frameworks.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import pypto as pto

Fn = Callable[..., tuple[pto.Tensor, ...]]


@dataclasses.dataclass
class Case:
    """`derived` and `by_hand` take the upstream gradient and the inputs, and give the result and all gradients."""

    name: str
    inputs: list[np.ndarray]
    function: Callable[..., pto.Tensor]
    by_hand: Fn

    def derived(self) -> Fn:
        @pto.jit
        def run(g: Any, *inputs: Any) -> Any:
            leaves = [x.detach().requires_grad_() for x in inputs]
            y = self.function(*leaves)
            y.backward(g)
            return (y.detach(), *(x.grad for x in leaves))

        return run


exp, add, sub, mul, div = (pto.jit(f) for f in (pto.exp, pto.add, pto.subtract, pto.multiply, pto.divide))
matmul = pto.jit(pto.matmul)
rows_max = pto.jit(lambda x: pto.max(x, axis=-1, keepdims=True))
rows_sum = pto.jit(lambda x: pto.sum(x, axis=-1, keepdims=True))
rows_mean = pto.jit(lambda x: pto.mean(x, axis=-1, keepdims=True))
columns_sum = pto.jit(lambda x: pto.sum(x, axis=0))
rsqrt_eps = pto.jit(lambda x: pto.rsqrt(x + 1e-5))
times_nt = pto.jit(lambda x, y: x @ y.mT)
times_tn = pto.jit(lambda x, y: x.mT @ y)
gelu = pto.jit(pto.gelu)
scaled = pto.jit(lambda x: x * 0.125)


@pto.jit
def gelu_derivative(x: Any) -> Any:
    return 0.5 * (1 + pto.erf(x / math.sqrt(2))) + x * pto.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@pto.jit
def masked(x: Any) -> Any:
    later = pto.arange(x.shape[-1]) > pto.arange(x.shape[-2]).reshape(-1, 1)
    return pto.where(later, -math.inf, x)


def softmax_of(x: Any) -> Any:
    e = exp(sub(x, rows_max(x)))
    return div(e, rows_sum(e))


def softmax_backward(y: Any, g: Any) -> Any:
    return mul(y, sub(g, rows_sum(mul(g, y))))


def softmax(g: Any, x: Any) -> Any:
    y = softmax_of(x)
    return y, softmax_backward(y, g)


def layer_norm(g: Any, x: Any, weight: Any, bias: Any) -> Any:
    centred = sub(x, rows_mean(x))
    scale = rsqrt_eps(rows_mean(mul(centred, centred)))
    n = mul(centred, scale)
    y = add(mul(n, weight), bias)
    gn = mul(g, weight)
    slope = rows_mean(mul(gn, n))
    dx = mul(scale, sub(sub(gn, rows_mean(gn)), mul(n, slope)))
    return y, dx, columns_sum(mul(g, n)), columns_sum(g)


def mlp(g: Any, x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    h = add(times_nt(x, w1), b1)
    a = gelu(h)
    y = add(times_nt(a, w2), b2)
    dh = mul(matmul(g, w2), gelu_derivative(h))
    return y, matmul(dh, w1), times_tn(dh, x), columns_sum(dh), times_tn(g, a), columns_sum(g)


def attention(g: Any, q: Any, k: Any, v: Any) -> Any:
    p = softmax_of(masked(scaled(times_nt(q, k))))
    y = matmul(p, v)
    ds = scaled(softmax_backward(p, times_nt(g, v)))
    return y, matmul(ds, k), times_tn(ds, q), times_tn(p, g)


def cases() -> list[Case]:
    rng = np.random.default_rng(0)

    def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    def causal(q: Any, k: Any, v: Any) -> Any:
        later = pto.arange(k.shape[-2]) > pto.arange(q.shape[-2]).reshape(-1, 1)
        return pto.softmax(pto.where(later, -math.inf, q @ k.mT * 0.125), axis=-1) @ v

    width = 384
    maps = [normal(4 * width, width, scale=0.05), normal(4 * width), normal(width, 4 * width, scale=0.05), normal(width)]
    return [
        Case("softmax 4096 x 1024", [normal(4096, 1024)], lambda x: pto.softmax(x, axis=-1), softmax),
        Case(
            "layer_norm 4096 x 1024",
            [normal(4096, 1024), normal(1024), normal(1024)],
            lambda x, w, b: pto.layer_norm(x, 1024, w, b, eps=1e-5),
            layer_norm,
        ),
        Case(
            "gelu MLP 2048 x 384 x 1536",
            [normal(2048, width), *maps],
            lambda x, w1, b1, w2, b2: pto.linear(pto.gelu(pto.linear(x, w1, b1)), w2, b2),
            mlp,
        ),
        Case("causal attention 4 x 12 x 512 x 64", [normal(4, 12, 512, 64) for _ in range(3)], causal, attention),
    ]
