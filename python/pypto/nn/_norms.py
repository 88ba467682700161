"""Normalisation layers."""

from __future__ import annotations

from typing import Any

from .._arrays import as_tensor
from .._errors import Error
from .._functions import functions
from .._module import Buffer, Module, Parameter
from .._tensor import Tensor
from .._trace_names import caller


def _ones(shape: Any, dtype: Any) -> Parameter:
    return Parameter(functions["ones"](shape, dtype))


def _zeros(shape: Any, dtype: Any) -> Parameter:
    return Parameter(functions["zeros"](shape, dtype))


def _sizes(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


class LayerNorm(Module):
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axes, whose sizes normalized_shape names."""

    def __init__(
        self, normalized_shape: int | tuple[int, ...], eps: float = 1e-5, bias: bool = True, dtype: Any = "float32"
    ) -> None:
        self.normalized_shape, self.eps = _sizes(normalized_shape), eps
        self.weight = _ones(self.normalized_shape, dtype)
        self.bias = _zeros(self.normalized_shape, dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return functions["layer_norm"](x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """x / sqrt(mean(x*x) + eps) * weight over the last axes. `eps` is 1e-6; PyTorch's default is the spacing of
    the element type."""

    def __init__(self, normalized_shape: int | tuple[int, ...], eps: float = 1e-6, dtype: Any = "float32") -> None:
        self.normalized_shape, self.eps = _sizes(normalized_shape), eps
        self.weight = _ones(self.normalized_shape, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return functions["rms_norm"](x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    """layer_norm over groups of channels (axis 1) and all axes after them."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: Any = "float32") -> None:
        if num_groups < 1 or num_channels % num_groups:
            got = f"{num_channels} channels, {num_groups} groups"
            raise Error("the channels do not divide into the groups", op="GroupNorm", got=got, **caller())
        self.num_groups, self.eps = num_groups, eps
        self.weight = _ones((num_channels,), dtype) if affine else None
        self.bias = _zeros((num_channels,), dtype) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        return functions["group_norm"](x, self.num_groups, self.weight, self.bias, self.eps)


class BatchNorm(Module):
    """(x - mean) / sqrt(variance + eps) * weight + bias per channel (axis 1), for any number of axes after it.

    In training, mean and variance are those of the batch, and the running ones become
    (1 - momentum) * running + momentum * batch (the batch's variance with n - 1 in the denominator); with
    ``momentum=None`` they are plain averages over all batches. In evaluation the running ones are used.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        dtype: Any = "float32",
    ) -> None:
        self.num_features, self.eps, self.momentum, self.track_running_stats = num_features, eps, momentum, track_running_stats
        self.weight = _ones((num_features,), dtype) if affine else None
        self.bias = _zeros((num_features,), dtype) if affine else None
        if track_running_stats:
            self.running_mean = Buffer(functions["zeros"]((num_features,), dtype))
            self.running_var = Buffer(functions["ones"]((num_features,), dtype))
            self.num_batches_tracked = Buffer(as_tensor(0, "int64"))

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim < 2 or x.shape[1] != self.num_features:
            expected = f"{self.num_features} channels on axis 1"
            raise Error("the channels do not fit", op=type(self).__name__, expected=expected, got=x._type_text, **caller())
        if not self.training and self.track_running_stats:
            return functions["batch_norm"](x, self.running_mean, self.running_var, self.weight, self.bias, self.eps)
        axes = (0, *range(2, x.ndim))
        count: Any = 1
        for axis in axes:
            count = count * x.shape[axis]
        if self.training and count == 1:
            raise Error("one value per channel has no variance", op=type(self).__name__, got=x._type_text, **caller())
        mean, variance = functions["mean"](x, axes), functions["var"](x, axes)
        if self.training and self.track_running_stats:
            self._track(mean, functions["var"](x, axes, ddof=1.0))
        return functions["batch_norm"](x, mean, variance, self.weight, self.bias, self.eps)

    def _track(self, mean: Tensor, variance: Tensor) -> None:
        self.num_batches_tracked._rebind(self.num_batches_tracked + 1)
        for running, batch in ((self.running_mean, mean.detach()), (self.running_var, variance.detach())):
            batch = batch.astype(running.dtype)
            if self.momentum is None:
                running._rebind(running + (batch - running) / self.num_batches_tracked.astype(running.dtype))
            else:
                running._rebind((1 - self.momentum) * running + self.momentum * batch)


class BatchNorm1d(BatchNorm):
    """BatchNorm under PyTorch's name for [batch, channels] and [batch, channels, length]."""


class BatchNorm2d(BatchNorm):
    """BatchNorm under PyTorch's name for [batch, channels, height, width]."""
