"""Layers without memory: linear maps, tables, convolutions, dropout, activations; and containers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from .. import random
from .._errors import Error
from .._functions import functions
from .._module import Module, Parameter
from .._tensor import Tensor
from .._trace_names import caller


def uniform_parameter(shape: tuple[int, ...], fan: int, dtype: Any) -> Parameter:
    """Uniform within 1 / sqrt(fan) of 0, as PyTorch draws linear layers, convolutions and recurrences."""
    bound = 1 / math.sqrt(fan) if fan else 0.0
    return Parameter(random.uniform(shape, low=-bound, high=bound, dtype=dtype))


class Linear(Module):
    """x @ weight.T + bias: weight [out_features, in_features], both uniform within 1 / sqrt(in_features)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: Any = "float32") -> None:
        self.in_features, self.out_features = in_features, out_features
        self.weight = uniform_parameter((out_features, in_features), in_features, dtype)
        self.bias = uniform_parameter((out_features,), in_features, dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return functions["linear"](x, self.weight, self.bias)


class Embedding(Module):
    """Rows of a table [num_embeddings, embedding_dim], drawn from the standard normal distribution. With
    `padding_idx` that row begins as zeros."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, dtype: Any = "float32") -> None:
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        weight = random.normal((num_embeddings, embedding_dim), dtype=dtype)
        if padding_idx is not None:
            weight[padding_idx] = 0.0
        self.weight = Parameter(weight)

    def forward(self, indices: Tensor) -> Tensor:
        return functions["embedding"](indices, self.weight)


class _Conv(Module):
    _axes = 0

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] | str = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: Any = "float32",
    ) -> None:
        name = type(self).__name__
        if in_channels % groups or out_channels % groups:
            got = f"{in_channels} and {out_channels} channels, {groups} groups"
            raise Error("the channels do not divide into the groups", op=name, got=got, **caller())
        kernel = (kernel_size,) * self._axes if isinstance(kernel_size, int) else tuple(kernel_size)
        if len(kernel) != self._axes:
            raise Error("the kernel has another rank", op=name, expected=f"{self._axes} sizes", got=repr(kernel), **caller())
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        fan = in_channels // groups * math.prod(kernel)
        self.weight = uniform_parameter((out_channels, in_channels // groups, *kernel), fan, dtype)
        self.bias = uniform_parameter((out_channels,), fan, dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        convolve = functions[f"conv{self._axes}d"]
        return convolve(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Cross-correlation over the last axis of [batch, channels, length]: weight [out, in / groups, size], weight
    and bias uniform within 1 / sqrt(in / groups * size)."""

    _axes = 1


class Conv2d(_Conv):
    """Cross-correlation over the last two axes of [batch, channels, height, width]: weight [out, in / groups, h, w],
    weight and bias uniform within 1 / sqrt(in / groups * h * w)."""

    _axes = 2


class Dropout(Module):
    """In training, elements are 0 with probability `p`, the others divided by 1 - p; else x itself."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0 <= p <= 1:
            raise Error("this is no probability", op="Dropout", expected="0 <= p <= 1", got=str(p), **caller())
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return random.dropout(x, self.p) if self.training and self.p else x


class Identity(Module):
    """x."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class Flatten(Module):
    """Axes from `start_dim` to `end_dim` as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        return functions["flatten"](x, self.start_dim, self.end_dim)


class _Activation(Module):
    _function = ""

    def forward(self, x: Tensor) -> Tensor:
        return functions[self._function](x)


class ReLU(_Activation):
    """max(x, 0)."""

    _function = "relu"


class SiLU(_Activation):
    """x * sigmoid(x)."""

    _function = "silu"


class Sigmoid(_Activation):
    """1 / (1 + exp(-x))."""

    _function = "sigmoid"


class Tanh(_Activation):
    """tanh(x)."""

    _function = "tanh"


class GELU(Module):
    """x * Phi(x), Phi the normal distribution function; "tanh" approximates it."""

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return functions["gelu"](x, self.approximate)


class ModuleList(Module):
    """Modules by number ("0", "1", ...)."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        for module in modules:
            self.append(module)

    def _list(self) -> list[Module]:
        return [m for name, m in vars(self).items() if name.isdigit()]

    def append(self, module: Module) -> ModuleList:
        """One more at the end."""
        if not isinstance(module, Module):
            raise Error("this is not a module", op=type(self).__name__, got=type(module).__name__, **caller())
        setattr(self, str(len(self)), module)
        return self

    def __len__(self) -> int:
        return len(self._list())

    def __iter__(self) -> Iterator[Module]:
        return iter(self._list())

    def __getitem__(self, index: Any) -> Any:
        found = self._list()[index]
        return type(self)(found) if isinstance(found, list) and isinstance(self, ModuleList) else found


class Sequential(ModuleList):
    """Modules one after the other."""

    def __init__(self, *modules: Module) -> None:
        super().__init__(modules)

    def __getitem__(self, index: Any) -> Any:
        found = self._list()[index]
        return Sequential(*found) if isinstance(found, list) else found

    def forward(self, x: Any) -> Any:
        for module in self._list():
            x = module(x)
        return x


class MLP(Module):
    """down(activation(up(x))): `hidden` features within, 4 times as many as outside by default."""

    def __init__(
        self, features: int, hidden: int | None = None, bias: bool = True, activation: str = "gelu", dtype: Any = "float32"
    ) -> None:
        if activation not in ("gelu", "relu", "silu", "tanh", "sigmoid"):
            expected = "gelu, relu, silu, tanh or sigmoid"
            raise Error("there is no such activation", op="MLP", expected=expected, got=repr(activation), **caller())
        hidden = 4 * features if hidden is None else hidden
        self.activation = activation
        self.up = Linear(features, hidden, bias, dtype)
        self.down = Linear(hidden, features, bias, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(functions[self.activation](self.up(x)))


class SwiGLU(Module):
    """down(silu(gate(x)) * up(x)) (Shazeer, 2020): `hidden` features within."""

    def __init__(self, features: int, hidden: int, bias: bool = False, dtype: Any = "float32") -> None:
        self.gate = Linear(features, hidden, bias, dtype)
        self.up = Linear(features, hidden, bias, dtype)
        self.down = Linear(hidden, features, bias, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(functions["silu"](self.gate(x)) * self.up(x))
