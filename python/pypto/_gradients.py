"""Gradients: when they are recorded."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from . import _core
from ._errors import Error
from ._tracing import note_gradient_mode

P = ParamSpec("P")
R = TypeVar("R")


def is_grad_enabled() -> bool:
    """Are gradients recorded (in this thread)?"""
    note_gradient_mode()
    return bool(_core.gradients_enabled())


class GradientMode:
    """Whether gradients are recorded: as a context manager in its block, as a decorator while the function
    runs. Of this thread; blocks nest."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._before = threading.local()

    def __enter__(self) -> GradientMode:
        self._before.__dict__.setdefault("modes", []).append(_core.gradients_enabled())
        _core.set_gradients_enabled(self._enabled)
        return self

    def __exit__(self, *_: Any) -> None:
        _core.set_gradients_enabled(self._before.modes.pop())

    def __call__(self, fn: Callable[P, R]) -> Callable[P, R]:
        enabled = self._enabled

        @functools.wraps(fn)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            before = _core.gradients_enabled()
            _core.set_gradients_enabled(enabled)
            try:
                return fn(*args, **kwargs)
            finally:
                _core.set_gradients_enabled(before)

        return call


@overload
def grad_enabled(fn: Callable[P, R]) -> Callable[P, R]: ...
@overload
def grad_enabled(fn: bool = True) -> GradientMode: ...
def grad_enabled(fn: Any = True) -> Any:
    """Records gradients, or with ``False`` does not: ``with pypto.grad_enabled(False):``, or as a decorator
    ``@pypto.grad_enabled`` or ``@pypto.grad_enabled(False)``. With gradients off nothing is kept for them."""
    if isinstance(fn, bool):
        return GradientMode(fn)
    if not callable(fn):
        raise Error("this is neither a function nor true or false", op="grad_enabled", got=type(fn).__name__)
    return GradientMode(True)(fn)


class record:
    """Records a training step: ``with pypto.record(): loss = criterion(model(x), y)``, then ``loss.backward()`` and
    ``optimizer.step()``, in the block or after it. Forward, backward and update run as one program at the step.

    If a result that a gradient may be asked through is read before that, what leads to it runs first, and what
    the gradient will need of it is kept. Whatever else is pending at the step, and still referred to, is computed
    with it. Inside a compiled function everything is one program anyway."""

    def __enter__(self) -> record:
        if not _core.current_trace():
            _core.enter_record()
        return self

    def __exit__(self, *_: Any) -> None:
        if not _core.current_trace():
            _core.leave_record()


@overload
def no_grad(fn: Callable[P, R]) -> Callable[P, R]: ...
@overload
def no_grad(fn: None = None) -> GradientMode: ...
def no_grad(fn: Any = None) -> Any:
    """Records no gradients: ``with pypto.no_grad():``, or as a decorator."""
    return GradientMode(False) if fn is None else GradientMode(False)(fn)
