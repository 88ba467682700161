"""Random tensors: counter-based (Philox), so that a seed gives the same numbers everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import as_tensor
from ._dtypes import float32, int64
from ._functions import functions
from ._tensor import Tensor


def _word(n: int) -> Tensor:
    return as_tensor(np.asarray(n % 2**64, np.uint64))


class Generator:
    """A key and a position in its stream. Each draw uses one position, and is a function of both."""

    def __init__(self, seed: int = 0) -> None:
        self.key, self.offset = _word(seed), _word(0)

    def seed(self, seed: int) -> Generator:
        """Starts the stream of `seed` (any integer, taken modulo 2^64), also for compiled functions."""
        self.key._rebind(_word(seed))
        self.offset._rebind(_word(0))
        return self

    def state_dict(self) -> dict[str, Tensor]:
        """Key and position in the stream."""
        return {"key": self.key.copy(), "offset": self.offset.copy()}

    def load_state_dict(self, state: Any) -> None:
        """Goes on where `state` was taken."""
        key, offset = (as_tensor(state[name], "uint64").reshape(()) for name in ("key", "offset"))
        self.key._rebind(key)
        self.offset._rebind(offset)

    def next(self) -> dict[str, Tensor]:
        """Key and offset of one draw."""
        offset = self.offset.copy()
        self.offset += 1
        return {"key": self.key, "offset": offset}


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Restarts the default generator."""
    return default_generator.seed(seed)


def _shape(shape: tuple) -> Any:
    return shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape


def normal(shape: Any, *, mean: float = 0.0, std: float = 1.0, dtype: Any = float32, generator: Generator | None = None) -> Tensor:
    """Normal numbers with the given mean and standard deviation."""
    return functions["normal"](shape, **(generator or default_generator).next(), mean=mean, std=std, dtype=dtype)


def randn(*shape: Any, dtype: Any = float32, generator: Generator | None = None) -> Tensor:
    """Standard normal numbers: ``randn((2, 3))`` or ``randn(2, 3)``."""
    return normal(_shape(shape), dtype=dtype, generator=generator)


def uniform(shape: Any, *, low: float = 0.0, high: float = 1.0, dtype: Any = float32, generator: Generator | None = None) -> Tensor:
    """Numbers in [low, high)."""
    return functions["uniform"](shape, **(generator or default_generator).next(), low=low, high=high, dtype=dtype)


def rand(*shape: Any, dtype: Any = float32, generator: Generator | None = None) -> Tensor:
    """Numbers in [0, 1): ``rand((2, 3))`` or ``rand(2, 3)``."""
    return uniform(_shape(shape), dtype=dtype, generator=generator)


def randint(low: int, high: int, shape: Any, *, dtype: Any = int64, generator: Generator | None = None) -> Tensor:
    """Integers in low <= x < high."""
    return functions["randint"](low, high, shape, **(generator or default_generator).next(), dtype=dtype)


def bernoulli(p: Any, shape: Any = None, *, generator: Generator | None = None) -> Tensor:
    """True with probability `p` (a tensor, or a number with a shape)."""
    return functions["bernoulli"](p, **(generator or default_generator).next(), shape=shape)


def dropout(x: Tensor, p: float = 0.5, *, training: bool = True, generator: Generator | None = None) -> Tensor:
    """Elements set to 0 with probability `p`, the others divided by 1 - p; x itself if not training."""
    if not training:
        return x
    return functions["dropout"](x, p, **(generator or default_generator).next())


def categorical(logits: Tensor, *, axis: int = -1, generator: Generator | None = None) -> Tensor:
    """Indices along `axis` drawn with probabilities softmax(logits)."""
    return functions["categorical"](logits, **(generator or default_generator).next(), axis=axis)


def permutation(n: int, *, generator: Generator | None = None) -> Tensor:
    """0, ..., n - 1 in random order."""
    return functions["argsort"](rand(n, generator=generator, dtype="float64"))


__all__ = [
    "Generator",
    "bernoulli",
    "categorical",
    "default_generator",
    "dropout",
    "manual_seed",
    "normal",
    "permutation",
    "rand",
    "randint",
    "randn",
    "uniform",
]
