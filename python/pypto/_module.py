"""Modules: objects with parameters and a `forward`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import _core
from ._errors import Error
from ._tensor import Tensor, _target
from ._trace_names import caller


class Parameter(Tensor):
    """A tensor that a module learns. ``Parameter(x)`` takes the elements of a tensor or an array,
    ``Parameter((n, d))`` draws them: normal, with standard deviation 1 / sqrt(fan-in), where the fan-in
    is the product of all sizes but the first (the size itself for a vector)."""

    __slots__ = ()

    def __init__(self, data: Any, dtype: Any = None) -> None:
        if isinstance(data, (int, tuple)) and all(isinstance(n, int) for n in _tuple(data)):
            from . import random

            shape = _tuple(data)
            fan = 1
            for n in shape[1:] or shape:
                fan *= n
            data = random.normal(shape, std=1 / max(fan, 1) ** 0.5)
        super().__init__(data, dtype)


def _tuple(x: Any) -> tuple:
    return x if isinstance(x, tuple) else (x,)


class Module:
    """Base of modules: attributes that are parameters, modules, or lists, tuples and dicts of them are
    found by name; calling the module runs `forward` under the class's name."""

    training: bool = True

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        raise Error(f"{type(self).__name__} defines no forward", op=type(self).__name__, **caller())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _core.NameScope(f"{type(self).__name__}.forward"):
            return self.forward(*args, **kwargs)

    # --- walks --------------------------------------------------------------------------------------

    def _children(self) -> Iterator[tuple[str, Any]]:
        for name, value in vars(self).items():
            yield from _entries(name, value)

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all within, by name ("layers.0.attention"); each once."""
        seen: set[int] = set()
        stack: list[tuple[str, Module]] = [(prefix, self)]
        while stack:
            name, module = stack.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield name, module
            inner = [(f"{name}.{n}" if name else n, m) for n, m in module._children() if isinstance(m, Module)]
            stack.extend(reversed(inner))

    def modules(self) -> Iterator[Module]:
        """This module and all within."""
        return (m for _, m in self.named_modules())

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """The parameters by name, each once."""
        seen: set[int] = set()
        for prefix, module in self.named_modules():
            for name, value in module._children():
                if isinstance(value, Parameter) and id(value) not in seen:
                    seen.add(id(value))
                    yield (f"{prefix}.{name}" if prefix else name), value

    def parameters(self) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (p for _, p in self.named_parameters())

    # --- state --------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Tensor]:
        """The parameters by name, as handles to their present values."""
        return {name: p.copy() for name, p in self.named_parameters()}

    def load_state_dict(self, state: Any, strict: bool = True) -> None:
        """Takes the values of `state` (tensors or arrays by name). Nothing is changed if names are missing
        or unexpected (unless ``strict=False``), or shapes differ."""
        from ._arrays import as_tensor

        own = dict(self.named_parameters())
        missing = [n for n in own if n not in state]
        unexpected = [n for n in state if n not in own]
        values = {n: as_tensor(state[n]) for n in own if n in state}
        misshapen = [
            f"{n}: {tuple(own[n].shape)} here, {tuple(v.shape)} given" for n, v in values.items() if own[n].shape != v.shape
        ]
        if misshapen or (strict and (missing or unexpected)):
            lines = []
            for title, names in (("missing", missing), ("unexpected", unexpected), ("misshapen", misshapen)):
                if names:
                    lines.append(f"{title}: {', '.join(names)}")
            raise Error("the state does not fit the module", op="load_state_dict", got="; ".join(lines), **caller())
        for name, value in values.items():
            own[name]._rebind(value.astype(own[name].dtype) if value.dtype != own[name].dtype else value)

    def train(self, mode: bool = True) -> Module:
        """Training mode, here and within."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Evaluation mode, here and within."""
        return self.train(False)

    def to(self, target: Any) -> Module:
        """The parameters as another floating type, or on a device ("cpu")."""
        dtype = _target(target)
        if dtype is not None:
            for parameter, value in [(p, p.astype(dtype)) for p in self.parameters()]:
                parameter._rebind(value)
        return self

    def __repr__(self) -> str:
        lines = [type(self).__name__ + "("]
        for name, value in self._children():
            if isinstance(value, Parameter):
                lines.append(f"  {name}: {value._type_text}")
            elif isinstance(value, Module):
                lines.append(f"  {name}: " + repr(value).replace("\n", "\n  "))
        return "\n".join([*lines, ")"]) if len(lines) > 1 else lines[0] + ")"


def _entries(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (Parameter, Module)):
        if isinstance(value, Parameter) and getattr(value, "_name", None) is None:
            value._name = name
        yield name, value
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _entries(f"{name}.{i}", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _entries(f"{name}.{key}", item)


def module(cls: type) -> Any:
    """Makes a class with a `forward` a Module (a class decorator)."""
    if not isinstance(cls, type):
        raise Error("@module decorates a class", op="module", got=type(cls).__name__, **caller())
    if issubclass(cls, Module):
        return cls
    made = type(cls.__name__, (cls, Module), {"__doc__": cls.__doc__})
    made.__module__, made.__qualname__ = cls.__module__, cls.__qualname__
    return made
