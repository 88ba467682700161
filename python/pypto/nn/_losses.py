"""Losses, as functions and as modules. ``reduction`` is "mean", "sum" or "none"."""

from __future__ import annotations

from typing import Any

from .._arrays import as_tensor
from .._errors import Error
from .._functions import functions
from .._module import Buffer, Module
from .._tensor import Tensor
from .._trace_names import caller


def _check_reduction(reduction: str, op: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise Error("there is no such reduction", op=op, expected="mean, sum or none", got=repr(reduction), **caller())


def _reduced(x: Tensor, reduction: str, op: str) -> Tensor:
    _check_reduction(reduction, op)
    return x if reduction == "none" else functions[reduction](x)


def cross_entropy(
    x: Tensor,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """``pypto.cross_entropy`` with a `weight` for each class: the mean divides by the weights of the targets, and
    smoothed labels weigh each class with its own weight, as PyTorch does."""
    if weight is None:
        return functions["cross_entropy"](x, target, ignore_index, reduction, label_smoothing)
    target, weight = as_tensor(target), as_tensor(weight, x.dtype)
    axis = 1 if x.ndim > 1 else 0
    classes = x.shape[axis]
    if weight.shape != (classes,):
        raise Error(
            "there is not one weight a class", op="cross_entropy", expected=f"({classes},)", got=weight._type_text, **caller()
        )
    spread = [1] * x.ndim
    spread[axis] = classes
    weighted = functions["log_softmax"](x, axis) * weight.reshape(spread)
    if target.dtype.is_floating:  # probabilities
        share = target * (1 - label_smoothing) + label_smoothing / classes
        losses = -functions["sum"](weighted * share, axis)
        if reduction == "mean":
            return functions["sum"](losses) / max(1, x.size // classes)
        return _reduced(losses, reduction, "cross_entropy")
    counts = target != ignore_index
    place = functions["where"](counts, target, 0)
    picked = functions["squeeze"](functions["take_along_axis"](weighted, functions["expand_dims"](place, axis), axis), axis)
    zero = functions["zeros_like"](picked)
    losses = functions["where"](counts, -picked, zero)
    if label_smoothing:
        smooth = functions["where"](counts, -functions["sum"](weighted, axis), zero)
        losses = (1 - label_smoothing) * losses + label_smoothing / classes * smooth
    if reduction != "mean":
        return _reduced(losses, reduction, "cross_entropy")
    total = functions["sum"](functions["where"](counts, functions["take"](weight, place, 0), zero))
    return functions["sum"](losses) / total


def kl_div(x: Tensor, target: Any, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target * (log(target) - x), x being log probabilities; 0 where the target is 0. "batchmean" divides the sum
    by the size of axis 0, which is the divergence; "mean" divides by the number of elements."""
    target = as_tensor(target)
    if log_target:
        losses = functions["exp"](target) * (target - x)
    else:
        positive = target > 0
        log = functions["log"](functions["where"](positive, target, 1.0))
        losses = functions["where"](positive, target * (log - x), 0.0)
    if reduction == "batchmean":
        return functions["sum"](losses) / x.shape[0]
    return _reduced(losses, reduction, "kl_div")


def smooth_l1_loss(x: Tensor, target: Any, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """d^2 / (2 beta) where |d| = |x - target| is below beta, |d| - beta / 2 elsewhere; l1_loss for beta 0."""
    if beta < 0:
        raise Error("beta is negative", op="smooth_l1_loss", got=str(beta), **caller())
    if beta == 0:
        return functions["l1_loss"](x, target, reduction)
    return functions["huber_loss"](x, target, beta, reduction) / beta


class _Loss(Module):
    """A loss whose options are given when it is made."""

    def __init__(self, reduction: str = "mean") -> None:
        _check_reduction(reduction, type(self).__name__)
        self.reduction = reduction


class CrossEntropyLoss(_Loss):
    """-log(softmax(x))[target] along axis 1: `cross_entropy`."""

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0) -> None:
        super().__init__(reduction)
        self.weight = None if weight is None else Buffer(weight)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, x: Tensor, target: Any) -> Tensor:
        return cross_entropy(x, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


class NLLLoss(_Loss):
    """-x[target] along axis 1, x being log probabilities."""

    def __init__(self, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.ignore_index = ignore_index

    def forward(self, x: Tensor, target: Any) -> Tensor:
        return functions["nll_loss"](x, target, self.ignore_index, self.reduction)


class MSELoss(_Loss):
    """(x - target)^2."""

    def forward(self, x: Tensor, target: Any) -> Tensor:
        return functions["mse_loss"](x, target, self.reduction)


class L1Loss(_Loss):
    """abs(x - target)."""

    def forward(self, x: Tensor, target: Any) -> Tensor:
        return functions["l1_loss"](x, target, self.reduction)


class BCELoss(_Loss):
    """-target log(x) - (1 - target) log(1 - x), x being probabilities."""

    def forward(self, x: Tensor, target: Any) -> Tensor:
        return functions["binary_cross_entropy"](x, target, self.reduction)


class BCEWithLogitsLoss(_Loss):
    """BCELoss of sigmoid(x), without overflow."""

    def forward(self, x: Tensor, target: Any) -> Tensor:
        return functions["binary_cross_entropy_with_logits"](x, target, self.reduction)


class KLDivLoss(Module):
    """`kl_div` of log probabilities x."""

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        self.reduction, self.log_target = reduction, log_target

    def forward(self, x: Tensor, target: Any) -> Tensor:
        return kl_div(x, target, self.reduction, self.log_target)


class SmoothL1Loss(_Loss):
    """`smooth_l1_loss`."""

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, x: Tensor, target: Any) -> Tensor:
        return smooth_l1_loss(x, target, self.reduction, self.beta)


class HuberLoss(_Loss):
    """d^2 / 2 where |d| = |x - target| is at most delta, delta (|d| - delta / 2) elsewhere."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def forward(self, x: Tensor, target: Any) -> Tensor:
        return functions["huber_loss"](x, target, self.delta, self.reduction)
