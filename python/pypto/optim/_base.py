"""What optimisers share: parameter groups, state, and steps that are one program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from .._arrays import as_tensor
from .._errors import Error
from .._functions import functions
from .._gradients import no_grad
from .._tensor import Tensor
from .._trace_names import caller


def _number(x: float) -> Tensor:
    """A number as an operand; what is made of a Python number would be a constant of the program."""
    return as_tensor(np.asarray(x, np.float64))


class Group(dict):
    """Parameters with common options: a dict with "params", "lr" and the optimiser's other options.

    ``group["lr"] = value`` takes effect at the next step, also in compiled functions: the rate is an operand of
    the program. The other options are fixed when the optimiser is made.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.rate = _number(float(options["lr"]))

    def __setitem__(self, key: str, value: Any) -> None:
        if key != "lr":
            raise Error("only lr changes once the optimiser is made", op="param_groups", got=repr(key), **caller())
        rate = float(value)
        super().__setitem__(key, rate)
        self.rate._rebind(_number(rate))


class Optimizer:
    """Base of optimisers: `update` gives a parameter's next value and state, `step` applies it to all."""

    _per_parameter: tuple[str, ...] = ()  # names of the state tensors that begin as zeros like the parameter

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        name = type(self).__name__
        given = list(params)
        if not given:
            raise Error("there are no parameters", op=name, **caller())
        groups = given if isinstance(given[0], Mapping) else [{"params": given}]
        self.param_groups: list[Group] = []
        seen: set[int] = set()
        for group in groups:
            unknown = set(group) - set(defaults) - {"params"}
            if unknown:
                expected = ", ".join(defaults)
                raise Error("there is no such option", op=name, expected=expected, got=", ".join(sorted(unknown)), **caller())
            own = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
            for p in own:
                if not isinstance(p, Tensor) or not p.dtype.is_floating:
                    got = p._type_text if isinstance(p, Tensor) else type(p).__name__
                    raise Error("only tensors of floating types are learnt", op=name, got=got, **caller())
                if id(p) in seen:
                    raise Error("a parameter is given twice", op=name, got=p._type_text, **caller())
                seen.add(id(p))
            options = {**defaults, **group, "params": own}
            self._check(options)
            self.param_groups.append(Group(options))
        self.state = [self._new_state(p, g) for p, g in self._pairs()]
        self.steps = as_tensor(np.asarray(0, np.int64))

    def _check(self, options: Mapping[str, Any]) -> None:
        for key in ("lr", "weight_decay", "momentum", "eps"):
            if key in options and not float(options[key]) >= 0:
                raise Error(f"{key} is negative", op=type(self).__name__, got=str(options[key]), **caller())
        for i, beta in enumerate(options.get("betas", ())):
            if not 0 <= beta < 1:
                raise Error(f"betas[{i}] is not in [0, 1)", op=type(self).__name__, got=str(beta), **caller())

    def _pairs(self) -> list[tuple[Tensor, Group]]:
        return [(p, group) for group in self.param_groups for p in group["params"]]

    def _new_state(self, p: Tensor, group: Group) -> dict[str, Tensor]:
        return {name: functions["zeros"](p.shape, p.dtype) for name in self._per_parameter}

    def update(
        self, p: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group, rate: Tensor, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The next value of a parameter and of its state. `rate` and `step` (counted from 1) are float64."""
        raise NotImplementedError

    def step(self, gradients: Sequence[Tensor | None] | None = None, error_if_nonfinite: bool = False) -> None:
        """Updates all parameters by their gradients (`grad`, or those given, in the order of the parameters);
        one without a gradient stays. All is computed in one program, or becomes part of the compiled function
        around it. With ``error_if_nonfinite`` a gradient with NaN or an infinity is an error that leaves
        parameters and state as they were; it has to be read, so it cannot be asked for inside a trace."""
        pairs = self._pairs()
        grads = [p.grad for p, _ in pairs] if gradients is None else list(gradients)
        if len(grads) != len(pairs):
            expected = f"{len(pairs)} gradients"
            raise Error("there is not one gradient a parameter", op="step", expected=expected, got=str(len(grads)), **caller())
        for (p, _), g in zip(pairs, grads):
            if g is not None and g.shape != p.shape:
                raise Error("a gradient has another shape", op="step", expected=p._type_text, got=g._type_text, **caller())
        new: list[tuple[Tensor, Tensor]] = []
        with _core.NameScope(f"{type(self).__name__}.step"), no_grad():
            count = self.steps + 1
            step = count.astype("float64")
            new.append((self.steps, count))
            for (p, group), g, state in zip(pairs, grads, self.state):
                if g is None:
                    continue
                value, after = self.update(p, g.astype(p.dtype), state, group, group.rate, step)
                new.append((p, value.astype(p.dtype)))
                new += [(state[name], after[name].astype(state[name].dtype)) for name in state]
            finite = all_finite([g for g in grads if g is not None]) if error_if_nonfinite else None
        if not _core.current_trace():
            _core.finish_step([value for _, value in new] + ([finite] if finite is not None else []))
        if finite is not None and not finite:
            raise Error("a gradient is not finite; nothing was changed", op="step", **caller())
        for handle, value in new:
            handle._rebind(value)

    def zero_grad(self) -> None:
        """Forgets the gradients."""
        for p, _ in self._pairs():
            p.grad = None

    # --- state --------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The number of steps, the state of each parameter in order, and the options of each group."""
        groups = [{**{k: v for k, v in g.items() if k != "params"}, "params": len(g["params"])} for g in self.param_groups]
        state = [{name: t.copy() for name, t in s.items()} for s in self.state]
        return {"optimizer": type(self).__name__, "steps": self.steps.copy(), "state": state, "param_groups": groups}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes the state of an optimiser of the same kind, options and shapes; lr is taken over. Else it is
        an error that changes nothing."""
        own = self.state_dict()
        wrong = _difference(own, state)
        if wrong:
            raise Error("the state does not fit the optimiser", op="load_state_dict", got=wrong, **caller())
        values = [(self.steps, as_tensor(state["steps"], "int64"))]
        for mine, given in zip(self.state, state["state"]):
            values += [(mine[k], as_tensor(given[k]).astype(mine[k].dtype)) for k in mine]
        rates = [float(g["lr"]) for g in state["param_groups"]]
        for handle, value in values:
            handle._rebind(value)
        for group, rate in zip(self.param_groups, rates):
            group["lr"] = rate


def _difference(own: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """In what a state differs from what fits; "" if it fits."""
    if not isinstance(given, Mapping) or set(given) != set(own):
        found = sorted(given) if isinstance(given, Mapping) else type(given).__name__
        return f"{found} instead of {sorted(own)}"
    if given["optimizer"] != own["optimizer"]:
        return f"a state of {given['optimizer']}, not of {own['optimizer']}"
    for key in ("param_groups", "state"):
        if len(given[key]) != len(own[key]):
            what = "groups" if key == "param_groups" else "parameters"
            return f"{len(own[key])} {what} here, {len(given[key])} given"
    for i, (a, b) in enumerate(zip(own["param_groups"], given["param_groups"])):
        if set(a) != set(b):
            return f"group {i} has options {sorted(b)} instead of {sorted(a)}"
        for key, value in a.items():
            other = tuple(b[key]) if isinstance(b[key], list) else b[key]
            if key != "lr" and other != value:
                return f"{key} of group {i} is {value} here, {other} given"
    for i, (a, b) in enumerate(zip(own["state"], given["state"])):
        if set(a) != set(b):
            return f"parameter {i} has {sorted(b)} instead of {sorted(a)}"
        for key in a:
            shape = tuple(as_tensor(b[key]).shape)
            if shape != tuple(a[key].shape):
                return f"{key} of parameter {i}: {tuple(a[key].shape)} here, {shape} given"
    return ""


def all_finite(tensors: Sequence[Tensor]) -> Tensor:
    """Is every element of every tensor finite?"""
    result = as_tensor(True)
    for t in tensors:
        result = result & functions["all"](functions["isfinite"](t))
    return result
