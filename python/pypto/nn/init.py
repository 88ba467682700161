"""Initialisers by PyTorch's names: each draws new values for a tensor in place and gives the tensor."""

from __future__ import annotations

import math

import numpy as np

from .. import random
from .._arrays import as_tensor
from .._errors import Error
from .._functions import functions
from .._tensor import Tensor
from .._trace_names import caller

_GAINS = {
    "linear": 1.0,
    "conv1d": 1.0,
    "conv2d": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which an activation asks for wider weights: 5/3 for tanh, sqrt(2) for relu,
    sqrt(2 / (1 + slope^2)) for leaky_relu (slope 0.01 by default), 1 for linear layers and sigmoid."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise Error(
            "there is no gain for this",
            op="calculate_gain",
            expected=", ".join([*_GAINS, "leaky_relu"]),
            got=repr(nonlinearity),
            **caller(),
        )
    return _GAINS[nonlinearity]


def _fans(x: Tensor, op: str) -> tuple[int, int]:
    if x.ndim < 2:
        raise Error("the fans of a tensor with fewer than two axes are not known", op=op, got=x._type_text, **caller())
    field = math.prod(int(n) for n in x.shape[2:])
    return int(x.shape[1]) * field, int(x.shape[0]) * field


def _set(x: Tensor, value: Tensor) -> Tensor:
    return x._rebind(value if value.dtype == x.dtype else value.astype(x.dtype))


def uniform_(x: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Numbers in [a, b)."""
    return _set(x, random.uniform(x.shape, low=a, high=b, dtype=x.dtype))


def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal numbers."""
    return _set(x, random.normal(x.shape, mean=mean, std=std, dtype=x.dtype))


def constant_(x: Tensor, val: float) -> Tensor:
    """One value."""
    return _set(x, functions["full"](x.shape, val, x.dtype))


def zeros_(x: Tensor) -> Tensor:
    """Zeros."""
    return constant_(x, 0.0)


def ones_(x: Tensor) -> Tensor:
    """Ones."""
    return constant_(x, 1.0)


def eye_(x: Tensor) -> Tensor:
    """Ones on the diagonal of a matrix."""
    if x.ndim != 2:
        raise Error("this is no matrix", op="eye_", got=x._type_text, **caller())
    return _set(x, functions["eye"](x.shape[0], x.shape[1], dtype=x.dtype))


def trunc_normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Normal numbers within [a, b]: of the distribution with the ends cut off. `a` and `b` are values, not
    multiples of `std`. Drawn as sqrt(2) erfinv(u) for uniform u; NumPy computes them, at once."""
    low, high = (0.5 * math.erfc(-(v - mean) / (std * math.sqrt(2.0))) for v in (a, b))
    if not low < high:
        raise Error("nothing lies within the bounds", op="trunc_normal_", got=f"a={a}, b={b}", **caller())
    u = random.uniform(x.shape, low=low, high=high, dtype="float64").numpy()
    return _set(x, as_tensor(np.clip(mean + std * _quantile(u), a, b)))


def _quantile(p: np.ndarray) -> np.ndarray:
    """The normal distribution's inverse by bisection of erfc: 60 halvings reach float64's spacing."""
    erfc = np.vectorize(math.erfc, otypes=[np.float64])
    low, high = np.full(p.shape, -9.0), np.full(p.shape, 9.0)
    for _ in range(60):
        middle = (low + high) / 2
        below = 0.5 * erfc(-middle / math.sqrt(2.0)) < p
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def xavier_uniform_(x: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform within gain * sqrt(6 / (fan-in + fan-out)) of 0 (Glorot and Bengio, 2010)."""
    bound = gain * math.sqrt(6.0 / sum(_fans(x, "xavier_uniform_")))
    return uniform_(x, -bound, bound)


def xavier_normal_(x: Tensor, gain: float = 1.0) -> Tensor:
    """Normal with standard deviation gain * sqrt(2 / (fan-in + fan-out)) (Glorot and Bengio, 2010)."""
    return normal_(x, 0.0, gain * math.sqrt(2.0 / sum(_fans(x, "xavier_normal_"))))


def _kaiming(x: Tensor, a: float, mode: str, nonlinearity: str, op: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise Error("there is no such mode", op=op, expected="fan_in or fan_out", got=repr(mode), **caller())
    return calculate_gain(nonlinearity, a) / math.sqrt(_fans(x, op)[mode == "fan_out"])


def kaiming_uniform_(x: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Uniform within gain * sqrt(3 / fan) of 0 (He et al., 2015); `a` is leaky_relu's slope."""
    bound = math.sqrt(3.0) * _kaiming(x, a, mode, nonlinearity, "kaiming_uniform_")
    return uniform_(x, -bound, bound)


def kaiming_normal_(x: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Normal with standard deviation gain / sqrt(fan) (He et al., 2015); `a` is leaky_relu's slope."""
    return normal_(x, 0.0, _kaiming(x, a, mode, nonlinearity, "kaiming_normal_"))


def orthogonal_(x: Tensor, gain: float = 1.0) -> Tensor:
    """Orthonormal rows or columns (of the axes after the first taken as one), times `gain` (Saxe et al., 2013).
    NumPy factors the draw, at once."""
    if x.ndim < 2:
        raise Error("a tensor with fewer than two axes is not orthogonal", op="orthogonal_", got=x._type_text, **caller())
    shape = tuple(int(n) for n in x.shape)
    rows, columns = shape[0], math.prod(shape[1:])
    draw = random.normal((max(rows, columns), min(rows, columns)), dtype="float64").numpy()
    q, r = np.linalg.qr(draw)
    q = q * np.where(np.diag(r) < 0, -1.0, 1.0)  # so that the factor is unique, and q uniform
    return _set(x, as_tensor(np.ascontiguousarray(gain * (q.T if rows < columns else q)).reshape(shape)))


__all__ = [
    "calculate_gain",
    "constant_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]
