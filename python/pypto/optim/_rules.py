"""The optimisers. Formulas are those of the papers named, in the form in which PyTorch computes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._errors import Error
from .._functions import functions
from .._tensor import Tensor
from .._trace_names import caller
from ._base import Group, Optimizer

_State = dict[str, Tensor]


def _like(x: Tensor, p: Tensor) -> Tensor:
    return x if x.dtype == p.dtype else x.astype(p.dtype)


def _with_decay(gradient: Tensor, p: Tensor, group: Group) -> Tensor:
    """The gradient of the loss and of weight_decay p^2 / 2."""
    return gradient + group["weight_decay"] * p if group["weight_decay"] else gradient


def _decayed(p: Tensor, rate: Tensor, group: Group) -> Tensor:
    """p (1 - lr weight_decay): decay that is decoupled from the gradient."""
    return p * _like(1 - rate * group["weight_decay"], p) if group["weight_decay"] else p


class SGD(Optimizer):
    """p - lr d. With momentum, d = m' = momentum m + (1 - dampening) g, where m' = g at the first step; with
    Nesterov's d = g + momentum m'. Weight decay adds weight_decay p to g."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        options = {"momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov}
        super().__init__(params, {"lr": lr, **options})

    def _check(self, options: Any) -> None:
        super()._check(options)
        if options["nesterov"] and (not options["momentum"] or options["dampening"]):
            raise Error("Nesterov's step needs momentum, and no dampening", op="SGD", **caller())

    def _new_state(self, p: Tensor, group: Group) -> _State:
        if not group["momentum"]:
            return {}
        return {"momentum_buffer": functions["zeros"](p.shape, p.dtype)}

    def update(self, p: Tensor, gradient: Tensor, state: _State, group: Group, rate: Tensor, step: Tensor) -> Any:
        g, momentum = _with_decay(gradient, p, group), group["momentum"]
        if not momentum:
            return p - _like(rate, p) * g, {}
        share = 1.0 if not group["dampening"] else _like(1 - group["dampening"] * (step > 1).astype(step.dtype), p)
        m = momentum * state["momentum_buffer"] + share * g
        d = g + momentum * m if group["nesterov"] else m
        return p - _like(rate, p) * d, {"momentum_buffer": m}


class Adam(Optimizer):
    """m' = b1 m + (1 - b1) g, v' = b2 v + (1 - b2) g^2, and p - lr m'/(1 - b1^t) / (sqrt(v'/(1 - b2^t)) + eps)
    (Kingma and Ba, 2015). Weight decay adds weight_decay p to g."""

    _per_parameter = ("exp_avg", "exp_avg_sq")
    _decoupled = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay})

    def update(self, p: Tensor, gradient: Tensor, state: _State, group: Group, rate: Tensor, step: Tensor) -> Any:
        b1, b2 = group["betas"]
        g = gradient if self._decoupled else _with_decay(gradient, p, group)
        p = _decayed(p, rate, group) if self._decoupled else p
        m = b1 * state["exp_avg"] + (1 - b1) * g
        v = b2 * state["exp_avg_sq"] + (1 - b2) * g * g
        size = _like(rate / (1 - functions["power"](b1, step)), p)
        root = _like(functions["sqrt"](1 - functions["power"](b2, step)), p)
        return p - size * m / (functions["sqrt"](v) / root + group["eps"]), {"exp_avg": m, "exp_avg_sq": v}


class AdamW(Adam):
    """Adam with decoupled weight decay: p is first multiplied by 1 - lr weight_decay (Loshchilov and Hutter, 2019)."""

    _decoupled = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)


class RMSprop(Optimizer):
    """v' = alpha v + (1 - alpha) g^2 and p - lr g / (sqrt(v') + eps) (Hinton, 2012); with momentum the quotients q
    make b' = momentum b + q, and p - lr b'. `centered` takes the squared mean of g off v'."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
    ) -> None:
        options = {"eps": eps, "weight_decay": weight_decay, "momentum": momentum, "centered": centered}
        super().__init__(params, {"lr": lr, "alpha": alpha, **options})

    def _new_state(self, p: Tensor, group: Group) -> _State:
        names = ["square_avg", *["momentum_buffer"] * bool(group["momentum"]), *["grad_avg"] * group["centered"]]
        return {name: functions["zeros"](p.shape, p.dtype) for name in names}

    def update(self, p: Tensor, gradient: Tensor, state: _State, group: Group, rate: Tensor, step: Tensor) -> Any:
        g, alpha = _with_decay(gradient, p, group), group["alpha"]
        v = alpha * state["square_avg"] + (1 - alpha) * g * g
        after, mean_free = {"square_avg": v}, v
        if group["centered"]:
            mean = after["grad_avg"] = alpha * state["grad_avg"] + (1 - alpha) * g
            mean_free = v - mean * mean
        d = g / (functions["sqrt"](mean_free) + group["eps"])
        if group["momentum"]:
            d = after["momentum_buffer"] = group["momentum"] * state["momentum_buffer"] + d
        return p - _like(rate, p) * d, after


class Lion(Optimizer):
    """p (1 - lr weight_decay) - lr sign(b1 m + (1 - b1) g), and m' = b2 m + (1 - b2) g (Chen et al., 2023)."""

    _per_parameter = ("exp_avg",)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "weight_decay": weight_decay})

    def update(self, p: Tensor, gradient: Tensor, state: _State, group: Group, rate: Tensor, step: Tensor) -> Any:
        (b1, b2), m = group["betas"], state["exp_avg"]
        direction = functions["sign"](b1 * m + (1 - b1) * gradient)
        return _decayed(p, rate, group) - _like(rate, p) * direction, {"exp_avg": b2 * m + (1 - b2) * gradient}


class Adafactor(Optimizer):
    """Second moments of matrices kept as means of rows and columns (Shazeer and Stern, 2018), as PyTorch computes it:
    with b = 1 - t^beta2_decay the moments move by 1 - b; the update is g over their root (at least eps1, the type's
    spacing for None), divided by max(1, rms / d); the step is min(lr, 1/sqrt(t)) max(eps2, rms(p)); weight decay
    multiplies p by 1 - lr weight_decay."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
    ) -> None:
        options = {"beta2_decay": beta2_decay, "d": d, "weight_decay": weight_decay, "eps1": eps[0], "eps2": eps[1]}
        super().__init__(params, {"lr": lr, **options})

    def _new_state(self, p: Tensor, group: Group) -> _State:
        zeros = functions["zeros"]
        if p.ndim < 2:
            return {"variance": zeros(p.shape, p.dtype)}
        row, column = [*p.shape[:-1], 1], [*p.shape[:-2], 1, p.shape[-1]]
        return {"row_var": zeros(row, p.dtype), "col_var": zeros(column, p.dtype)}

    def update(self, p: Tensor, gradient: Tensor, state: _State, group: Group, rate: Tensor, step: Tensor) -> Any:
        mean, maximum, sqrt = functions["mean"], functions["maximum"], functions["sqrt"]
        spacing = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}[p.dtype.name]
        least = spacing if group["eps1"] is None else group["eps1"]
        move = _like(functions["power"](step, group["beta2_decay"]), p)
        size = _like(functions["minimum"](rate, 1 / sqrt(step)), p) * maximum(sqrt(mean(p * p)), group["eps2"])
        p = _decayed(p, rate, group)
        square = gradient * gradient
        if p.ndim < 2:
            after = {"variance": state["variance"] + move * (square - state["variance"])}
            variance = after["variance"]
        else:
            row = state["row_var"] + move * (mean(square, -1, True) - state["row_var"])
            column = state["col_var"] + move * (mean(square, -2, True) - state["col_var"])
            after = {"row_var": row, "col_var": column}
            variance = row * column / maximum(mean(row, -2, True), least)
        update = gradient / sqrt(maximum(variance, least * least))
        update = update / maximum(1.0, sqrt(mean(update * update)) / group["d"])
        return p - size * update, after


class Muon(Optimizer):
    """Momentum whose matrices are made nearly orthogonal (Jordan, 2024): m' = momentum m + (1 - momentum) g, with
    Nesterov's d = (1 - momentum) g + momentum m'; five steps X = a X + (b A + c A A) X with A = X X^T, (a, b, c) =
    (3.4445, -4.775, 2.0315), from X = d / norm(d); and p (1 - lr weight_decay) - lr sqrt(max(1, rows / columns)) X.
    For matrices only; other parameters belong to another optimiser. PyTorch computes X in bfloat16, this in the
    parameter's type."""

    _per_parameter = ("momentum_buffer",)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.95,
        nesterov: bool = True,
        weight_decay: float = 0.1,
        ns_steps: int = 5,
    ) -> None:
        options = {"momentum": momentum, "nesterov": nesterov, "weight_decay": weight_decay, "ns_steps": ns_steps}
        super().__init__(params, {"lr": lr, **options})

    def _new_state(self, p: Tensor, group: Group) -> _State:
        if p.ndim != 2:
            raise Error("Muon updates matrices", op="Muon", expected="two axes", got=p._type_text, **caller())
        return super()._new_state(p, group)

    def update(self, p: Tensor, gradient: Tensor, state: _State, group: Group, rate: Tensor, step: Tensor) -> Any:
        momentum = group["momentum"]
        m = momentum * state["momentum_buffer"] + (1 - momentum) * gradient
        x = (1 - momentum) * gradient + momentum * m if group["nesterov"] else m
        tall = p.shape[0] > p.shape[1]
        x = x.T if tall else x
        x = x / functions["maximum"](functions["norm"](x), 1e-7)
        for _ in range(group["ns_steps"]):
            square = x @ x.T
            x = 3.4445 * x + (-4.775 * square + 2.0315 * (square @ square)) @ x
        x = x.T if tall else x
        scale = max(1, int(p.shape[0]) / int(p.shape[1])) ** 0.5
        return _decayed(p, rate, group) - _like(rate, p) * scale * x, {"momentum_buffer": m}
