"""Traces: running a Python function on placeholders to get its graph."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._errors import Error
from ._tensor import Tensor
from ._trace_names import caller


class _Stack(threading.local):
    def __init__(self) -> None:
        self.tracers: list[Tracer] = []


_stack = _Stack()


def current() -> Tracer | None:
    """The innermost trace of this thread."""
    return _stack.tracers[-1] if _stack.tracers else None


class Tracer:
    """One trace. Tensors from outside become inputs when they are first used (`captured`); handles from
    outside that are written become state (`written`), except in the body of a branch or a loop."""

    def __init__(self, body: bool = False) -> None:
        self.body = body
        self.core = _core.Trace(_core.fresh_trace())
        self.id = self.core.id
        self.outer: Tracer | None = None
        self.captured: list[Tensor] = []
        self.arrays: list[tuple[Tensor, np.ndarray]] = []
        self.arguments: dict[int, int] = {}  # id of a placeholder -> its number
        self.written: dict[int, tuple[Tensor, Tensor]] = {}
        self.written_arguments: dict[int, Tensor] = {}
        self.reads_gradient_mode = False
        self._placeholders: dict[int, Tensor] = {}
        self._names: set[str] = set()

    def __enter__(self) -> Tracer:
        self.outer = current()
        if self.outer is not None:
            self.core.inherit(self.outer.core)
        self.core.enter()
        _stack.tracers.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _stack.tracers.pop()
        self.core.leave()
        for handle, original in self.written.values():
            handle._assign(original)

    # --- inputs -------------------------------------------------------------------------------------

    def fresh_name(self, wanted: str) -> str:
        """A name of its own in this trace's text."""
        base = re.sub(r"[^A-Za-z0-9_.]", "_", wanted).strip(".") or "x"
        if not re.match(r"[A-Za-z_]", base):
            base = "x" + base
        name, n = base, 1
        while name in self._names:
            n += 1
            name = f"{base}_{n}"
        self._names.add(name)
        return name

    def argument(self, name: str, dtype: Any, shape: Sequence[Any]) -> Tensor:
        placeholder = self.core.input(self.fresh_name(name), dtype, tuple(shape))
        self.arguments[id(placeholder)] = len(self.arguments)
        self._placeholders[-len(self.arguments)] = placeholder  # kept alive: its id stays its own
        return placeholder

    def lift(self, handle: Tensor) -> Tensor:
        """The placeholder of a tensor from outside."""
        found = self._placeholders.get(id(handle))
        if found is not None:
            return found
        if handle._trace and not any(t.id == handle._trace for t in _stack.tracers):
            raise Error(
                "the tensor belongs to a function whose trace is over; return it from there",
                op="trace",
                operands=(handle._type_text,),
                **caller(),
            )
        name = getattr(handle, "_name", None) or f"c{len(self.captured)}"
        placeholder = self.core.input(self.fresh_name(name), handle.dtype, handle.shape)
        _core.continue_tape(placeholder, handle)
        self._placeholders[id(handle)] = placeholder
        self.captured.append(handle)
        return placeholder

    # --- results ------------------------------------------------------------------------------------

    def inside(self, x: Any) -> Tensor:
        """A result as a tensor of this trace."""
        from ._arrays import as_tensor

        tensor = as_tensor(x)
        return tensor if tensor._trace == self.id else self.lift(tensor)


def lift(handle: Tensor) -> Tensor:
    """The current trace's placeholder for a tensor of another; what the core calls."""
    tracer = current()
    if tracer is None:
        raise Error(
            "the tensor belongs to a function that was being traced; its value is not known here",
            op="trace",
            operands=(handle._type_text,),
            **caller(),
        )
    return tracer.lift(handle)


def note_write(handle: Tensor, value: Tensor) -> Tensor:
    """Called before a handle is pointed at a new value; gives the value as the current trace knows it."""
    tracer = current()
    if tracer is None:
        return value
    value = tracer.inside(value)
    number = tracer.arguments.get(id(handle))
    if number is not None:
        if tracer.body:
            _refuse(handle)
        tracer.written_arguments[number] = handle
        return value
    if handle._trace == tracer.id or id(handle) in tracer.written:
        return value
    if tracer.body:
        _refuse(handle)
    tracer.lift(handle)
    tracer.written[id(handle)] = (handle, handle._snapshot())
    return value


def _refuse(handle: Tensor) -> None:
    raise Error(
        "a tensor from outside is written in place inside a branch or a loop body; return its new value instead",
        op="in-place",
        operands=(handle._type_text,),
        **caller(),
    )


def capture_array(array: np.ndarray) -> Tensor:
    """A NumPy array used inside a trace: read again at each call, so that changes are seen."""
    from ._arrays import from_array

    root = _stack.tracers[0]
    for handle, known in root.arrays:
        if known is array:
            return handle
    handle = from_array(array, copy=True)
    root.arrays.append((handle, array))
    return handle


def note_gradient_mode() -> None:
    """Called where the function asks whether gradients are recorded."""
    for tracer in _stack.tracers:
        tracer.reads_gradient_mode = True


class Sizes:
    """Symbols for sizes and numbers of a trace."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.known: dict[Any, Any] = {}

    def size(self, key: Any, name: str, hint: int | None) -> Any:
        if key not in self.known:
            # Without a hint, comparisons are assumed to hold where an operation needs them.
            if hint is None:
                self.known[key] = self.tracer.core.symbol(name)
            else:
                self.known[key] = self.tracer.core.size(name, hint)
        return self.known[key]
