"""Learning rates that follow the number of steps. `step` is called after the optimiser's, outside compiled functions;
each rate is the group's first rate times a factor of the number of steps, so that a schedule's state is one number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from .._errors import Error
from .._trace_names import caller
from ._base import Optimizer


class LambdaLR:
    """The first rate times ``factor(steps)``."""

    def __init__(self, optimizer: Optimizer, factor: Callable[[int], float]) -> None:
        self.optimizer, self.factor = optimizer, factor
        self.base_lrs = [float(group["lr"]) for group in optimizer.param_groups]
        self.steps = 0
        self._set()

    def _set(self) -> None:
        for group, rate in zip(self.optimizer.param_groups, self.base_lrs):
            group["lr"] = rate * self.factor(self.steps)

    def step(self) -> None:
        """One step further."""
        self.steps += 1
        self._set()

    def get_last_lr(self) -> list[float]:
        """The present rate of each group."""
        return [float(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """The number of steps and the first rates."""
        return {"schedule": type(self).__name__, "steps": self.steps, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes the state of a schedule of the same kind and number of groups; else nothing is changed."""
        own = self.state_dict()
        if set(state) != set(own) or state["schedule"] != own["schedule"] or len(state["base_lrs"]) != len(self.base_lrs):
            expected = f"a {own['schedule']} of {len(self.base_lrs)} groups"
            raise Error("the state does not fit the schedule", op="load_state_dict", expected=expected, got=repr(state), **caller())
        steps, rates = int(state["steps"]), [float(r) for r in state["base_lrs"]]
        self.steps, self.base_lrs = steps, rates
        self._set()


def _positive(n: float, name: str, op: str) -> None:
    if not n > 0:
        raise Error(f"{name} is not positive", op=op, got=str(n), **caller())


class ConstantLR(LambdaLR):
    """factor times the rate for the first `total_iters` steps, the rate itself after them."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5) -> None:
        super().__init__(optimizer, lambda t: factor if t < total_iters else 1.0)


class StepLR(LambdaLR):
    """The rate times gamma^(t // step_size)."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        _positive(step_size, "step_size", "StepLR")
        super().__init__(optimizer, lambda t: gamma ** (t // step_size))


class LinearLR(LambdaLR):
    """A warm-up: from start_factor times the rate to end_factor times it in `total_iters` steps, linearly."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5) -> None:
        _positive(total_iters, "total_iters", "LinearLR")
        super().__init__(optimizer, lambda t: start_factor + (end_factor - start_factor) * min(t, total_iters) / total_iters)


class CosineLR(LambdaLR):
    """min + (1 - min) (1 + cos(pi t / total)) / 2 times the rate, after a linear warm-up from 0 over `warmup` steps; min
    after `total` steps (Loshchilov and Hutter, 2017, without restarts)."""

    def __init__(self, optimizer: Optimizer, total: int, warmup: int = 0, min_factor: float = 0.0) -> None:
        _positive(total - warmup, "total - warmup", "CosineLR")

        def factor(t: int) -> float:
            if t < warmup:
                return t / warmup
            share = min(t - warmup, total - warmup) / (total - warmup)
            return min_factor + (1 - min_factor) * (1 + math.cos(math.pi * share)) / 2

        super().__init__(optimizer, factor)


class OneCycleLR(LambdaLR):
    """The group's rate is the peak: from peak / div_factor up to it in pct_start of `total_steps`, then down to
    peak / (div_factor final_div_factor), both along a cosine (Smith and Topin, 2018)."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_steps: int,
        pct_start: float = 0.3,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
    ) -> None:
        _positive(total_steps - 1, "total_steps - 1", "OneCycleLR")
        up = pct_start * total_steps - 1
        first, last = 1 / div_factor, 1 / (div_factor * final_div_factor)

        def along(a: float, b: float, share: float) -> float:
            return b + (a - b) / 2 * (1 + math.cos(math.pi * share))

        def factor(t: int) -> float:
            if t <= up:
                return along(first, 1.0, t / up if up else 1.0)
            return along(1.0, last, min((t - up) / (total_steps - 1 - up), 1.0))

        super().__init__(optimizer, factor)


class InverseSqrtLR(LambdaLR):
    """Up linearly over `warmup` steps, then sqrt(warmup / t) times the rate (Vaswani et al., 2017)."""

    def __init__(self, optimizer: Optimizer, warmup: int) -> None:
        _positive(warmup, "warmup", "InverseSqrtLR")
        super().__init__(optimizer, lambda t: min((t + 1) / warmup, math.sqrt(warmup / (t + 1))))
