"""Modules: objects with parameters and a `forward`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from . import _core
from ._errors import Error
from ._tensor import Tensor, _target
from ._trace_names import caller


class Parameter(Tensor):
    """A tensor that a module learns, so that it requires a gradient. ``Parameter(x)`` takes the elements of a
    tensor or an array, ``Parameter((n, d))`` draws them: normal, with standard deviation 1 / sqrt(fan-in), where
    the fan-in is the product of all sizes but the first (the size itself for a vector)."""

    __slots__ = ()

    def __init__(self, data: Any, dtype: Any = None, requires_grad: bool = True) -> None:
        if isinstance(data, (int, tuple)) and all(isinstance(n, int) for n in _tuple(data)):
            from . import random

            shape = _tuple(data)
            fan = 1
            for n in shape[1:] or shape:
                fan *= n
            data = random.normal(shape, std=1 / max(fan, 1) ** 0.5)
        super().__init__(data.detach() if isinstance(data, Tensor) else data, dtype)
        if requires_grad:
            self.requires_grad_()


class Buffer(Tensor):
    """A tensor that belongs to a module's state and is not learnt: running statistics, tables."""

    __slots__ = ()


def _tuple(x: Any) -> tuple:
    return x if isinstance(x, tuple) else (x,)


class Module:
    """Base of modules: attributes that are parameters, buffers, modules, or lists, tuples and dicts of them are
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

    def _named(self, kind: type) -> Iterator[tuple[str, Any]]:
        """The tensors of a kind by name: under each name, if several modules have one."""
        for prefix, module in self.named_modules():
            for name, value in module._children():
                if isinstance(value, kind):
                    yield (f"{prefix}.{name}" if prefix else name), value

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """The parameters by name, each once: one that several modules share has its first name."""
        return _each_once(self._named(Parameter))

    def parameters(self) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (p for _, p in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Buffer]]:
        """The buffers by name, each once."""
        return _each_once(self._named(Buffer))

    def buffers(self) -> Iterator[Buffer]:
        """The buffers, each once."""
        return (b for _, b in self.named_buffers())

    def register_buffer(self, name: str, value: Any) -> None:
        """Makes a tensor part of the module's state under a name; the same as ``self.name = Buffer(value)``."""
        setattr(self, name, value if isinstance(value, Buffer) else Buffer(value))

    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Calls `fn` with every module within, the inner ones first, and this one last."""
        for module in reversed(list(self.modules())):
            fn(module)
        return self

    # --- state --------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Tensor]:
        """The parameters and buffers by name, as handles to their present values; what several modules
        share stands there once, under its first name."""
        return {name: value.detach() for name, value in _each_once(self._named((Parameter, Buffer)))}  # type: ignore[arg-type]

    def load_state_dict(self, state: Any, strict: bool = True) -> None:
        """Takes the values of `state` (tensors or arrays by name). What several modules share may come under
        any of its names; the last one that is given counts. Nothing is changed if names are missing or
        unexpected (unless ``strict=False``), or shapes differ."""
        from ._arrays import as_tensor

        own = dict(self._named((Parameter, Buffer)))  # type: ignore[arg-type]
        values = {n: as_tensor(state[n]) for n in own if n in state}
        given = {id(own[n]) for n in values}
        missing = [n for n, _ in _each_once(iter(own.items())) if id(own[n]) not in given]
        unexpected = [n for n in state if n not in own]
        misshapen = [
            f"{n}: {tuple(own[n].shape)} here, {tuple(v.shape)} given" for n, v in values.items() if own[n].shape != v.shape
        ]
        if misshapen or (strict and (missing or unexpected)):
            lines = []
            for title, names in (("missing", missing), ("unexpected", unexpected), ("misshapen", misshapen)):
                if names:
                    lines.append(f"{title}: {', '.join(map(str, names))}")
            raise Error("the state does not fit the module", op="load_state_dict", got="; ".join(lines), **caller())
        fitting = {n: v.astype(own[n].dtype) if v.dtype != own[n].dtype else v for n, v in values.items()}
        for name, value in fitting.items():
            own[name]._rebind(value)

    def summary(self) -> str:
        """A table of what is inside: name, type, parameters and bytes of each module without those within,
        and the totals. Shared parameters are counted where they stand first."""
        seen: set[int] = set()
        rows, total, size = [], 0, 0
        for name, module in self.named_modules():
            count = held = 0
            for _, value in module._children():
                if isinstance(value, (Parameter, Buffer)) and id(value) not in seen:
                    seen.add(id(value))
                    count += int(value.size) if isinstance(value, Parameter) else 0
                    held += int(value.nbytes)
            rows.append((name, type(module).__name__, f"{count:,}", f"{held:,}"))
            total, size = total + count, size + held
        rows = [("name", "type", "parameters", "bytes"), *rows, ("total", "", f"{total:,}", f"{size:,}")]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}  {d:>{widths[3]}}" for a, b, c, d in rows]
        return "\n".join(lines)

    def requires_grad_(self, wanted: bool = True) -> Module:
        """Whether the parameters, here and within, require gradients."""
        for p in self.parameters():
            p.requires_grad_(wanted)
        return self

    def zero_grad(self) -> None:
        """Forgets the gradients of the parameters."""
        for p in self.parameters():
            p.grad = None

    def train(self, mode: bool = True) -> Module:
        """Training mode, here and within."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Evaluation mode, here and within."""
        return self.train(False)

    def to(self, target: Any) -> Module:
        """Parameters and buffers of floating types as another one, or on a device ("cpu")."""
        dtype = _target(target)
        if dtype is not None:
            if not dtype.is_floating:
                raise Error("modules hold floating types", op="to", expected="a floating type", got=str(dtype), **caller())
            held = [t for t in (*self.parameters(), *self.buffers()) if t.dtype.is_floating]
            for tensor, value in [(t, t.astype(dtype)) for t in held]:
                tensor._rebind(value)
        return self

    def __repr__(self) -> str:
        lines = [type(self).__name__ + "("]
        for name, value in self._children():
            if isinstance(value, (Parameter, Buffer)):
                lines.append(f"  {name}: {value._type_text}")
            elif isinstance(value, Module):
                lines.append(f"  {name}: " + repr(value).replace("\n", "\n  "))
        return "\n".join([*lines, ")"]) if len(lines) > 1 else lines[0] + ")"


def _each_once(named: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    for name, value in named:
        if id(value) not in seen:
            seen.add(id(value))
            yield name, value


def _entries(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (Parameter, Buffer, Module)):
        if not isinstance(value, Module) and getattr(value, "_name", None) is None:
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
