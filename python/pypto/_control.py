"""Control flow on values: cond, while_loop, scan; foreign calls; custom operators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from . import _core
from ._arrays import as_tensor
from ._errors import Error
from ._jit import _put_together, _Slot, _take_apart
from ._specs import TensorSpec
from ._tensor import Tensor
from ._trace_names import caller
from ._tracing import Tracer

P = ParamSpec("P")
R = TypeVar("R")


class _Body:
    """A function traced on its own: its graph, its result's form, and what it reads from outside."""

    def __init__(self, fn: Callable[..., Any], name: str, types: Sequence[Tensor], form: Any, shapes: Sequence[Any]) -> None:
        self.fn, self.name, self.types, self.form, self.shapes = fn, name, types, form, shapes
        self.trace([])

    def trace(self, captured: Sequence[Tensor]) -> None:
        """Traces with these tensors from outside as the first captured ones, so that graphs agree."""
        self.tracer = Tracer()
        with self.tracer as tracer:
            placeholders = [tracer.argument(f"x{i}", t.dtype, s) for i, (t, s) in enumerate(zip(self.types, self.shapes))]
            for handle in captured:
                tracer.lift(handle)
            with _core.NameScope(self.name):
                out = self.fn(*_put_together(self.form, placeholders))
            tensors: list[Any] = []
            self.result = _take_apart(out, tensors)
            self.outputs = [tracer.inside(t) for t in tensors]
            if tracer.written_arguments:
                raise Error("a branch or loop body writes its argument in place; return the new value", op=self.name, **caller())
            self.graph = tracer.core.finish(self.outputs, self.name)
        self.captured = list(tracer.captured)


def _operands(values: Any) -> tuple[list[Tensor], Any]:
    tensors: list[Any] = []
    form = _take_apart(_numbers_as_tensors(values), tensors)
    return [as_tensor(t) for t in tensors], form


def _numbers_as_tensors(x: Any) -> Any:
    if isinstance(x, (bool, int, float)):
        return as_tensor(x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[_numbers_as_tensors(v) for v in x])
    if isinstance(x, (tuple, list)):
        return type(x)(_numbers_as_tensors(v) for v in x)
    if isinstance(x, dict):
        return {k: _numbers_as_tensors(v) for k, v in x.items()}
    return x


def _together(bodies: Sequence[_Body]) -> list[Tensor]:
    """Traces the bodies again where they read different tensors from outside, so that all take the same."""
    union: dict[int, Tensor] = {}
    for body in bodies:
        for handle in body.captured:
            union.setdefault(id(handle), handle)
    handles = list(union.values())
    for body in bodies:
        if [id(h) for h in body.captured] != [id(h) for h in handles]:
            body.trace(handles)
    return handles


def _same_form(a: Any, b: Any) -> bool:
    if isinstance(a, _Slot) or isinstance(b, _Slot):
        return isinstance(a, _Slot) and isinstance(b, _Slot)
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(_same_form(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(_same_form(a[k], b[k]) for k in a)
    return bool(a == b)


def cond(predicate: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:
    """``then(*operands)`` if the bool tensor `predicate` (one element) holds, else ``otherwise(*operands)``.

    Only the chosen branch runs. Both must give results of the same structure, shapes and dtypes.
    """
    tensors, form = _operands(tuple(operands))
    shapes = [t.shape for t in tensors]
    bodies = [_Body(then, "then", tensors, form, shapes), _Body(otherwise, "else", tensors, form, shapes)]
    if not _same_form(bodies[0].result, bodies[1].result):
        raise Error("the branches give results of different structure", op="cond", **caller())
    captured = _together(bodies)
    predicate = as_tensor(predicate)
    if predicate.ndim:
        predicate = predicate.reshape(())
    if predicate.dtype != "bool":
        predicate = predicate != 0
    out = _core.make_cond([predicate, *tensors, *captured], bodies[0].graph, bodies[1].graph)
    return _put_together(bodies[0].result, out)


def while_loop(condition: Callable[..., Any], body: Callable[..., Any], state: Any) -> Any:
    """Applies ``body(*state)`` as long as ``condition(*state)`` holds, and gives the last state.

    `state` is a tuple of tensors (or nested containers); shapes and dtypes stay the same.
    """
    single = not isinstance(state, (tuple, list))
    tensors, form = _operands((state,) if single else tuple(state))
    shapes = [t.shape for t in tensors]

    def step(*args: Any) -> Any:
        out = body(*args)
        return (out,) if single else tuple(out)

    def holds(*args: Any) -> Any:
        result = as_tensor(condition(*args))
        return (result if result.dtype == "bool" else result != 0).reshape(())

    test, loop = _Body(holds, "condition", tensors, form, shapes), _Body(step, "body", tensors, form, shapes)
    if not _same_form(loop.result, form):
        raise Error("the body must give a state of the same structure", op="while_loop", **caller())
    captured = _together([test, loop])
    out = _core.make_while([*tensors, *captured], len(tensors), test.graph, loop.graph)
    result = _put_together(form, out)
    return result[0] if single else result


def scan(body: Callable[[Any, Any], Any], init: Any, xs: Any, *, reverse: bool = False) -> tuple[Any, Any]:
    """Walks the leading axis of `xs`: ``carry, y = body(carry, x)`` at each position.

    Gives the last carry and the results y stacked along a new leading axis. `xs` is a tensor or a
    container of tensors with the same leading size; with ``reverse`` the walk starts at the end.
    """
    carry, carry_form = _operands(init)
    sequences, xs_form = _operands(xs)
    if not sequences:
        raise Error("there is nothing to walk", op="scan", expected="at least one tensor in xs", **caller())
    for s in sequences:
        if s.ndim == 0:
            raise Error("a tensor without axes cannot be walked", op="scan", got=s._type_text, **caller())
        if s.shape[0] != sequences[0].shape[0]:
            raise Error(
                "the tensors have different leading sizes",
                op="scan",
                operands=tuple(t._type_text for t in sequences),
                **caller(),
            )
    offset = len(carry)

    def step(c: Any, x: Any) -> Any:
        c, y = body(c, x)
        return _numbers_as_tensors(c), _numbers_as_tensors(y)

    shifted = _shift(xs_form, offset)
    shapes = [t.shape for t in carry] + [t.shape[1:] for t in sequences]
    loop = _Body(step, "body", [*carry, *sequences], (carry_form, shifted), shapes)
    if not _same_form(loop.result[0], carry_form):
        raise Error("the body must give a carry of the same structure", op="scan", **caller())
    out = _core.make_scan(
        [*carry, *sequences, *loop.captured], len(carry), len(sequences), sequences[0].shape[0], reverse, loop.graph
    )
    return _put_together(loop.result[0], out), _put_together(loop.result[1], out)


def _shift(form: Any, by: int) -> Any:
    if isinstance(form, _Slot):
        return _Slot(form.number + by)
    if isinstance(form, (tuple, list)):
        return type(form)(_shift(f, by) for f in form)
    if isinstance(form, dict):
        return {k: _shift(v, by) for k, v in form.items()}
    return form


def foreign(fn: Callable[..., Any], out: Any, *, pure: bool = True, name: str | None = None) -> Callable[..., Any]:
    """An operator that calls a Python function on tensors when it runs.

    `out` is the type of the result, ``pypto.spec(shape, dtype)``, or a tuple of them, or a function from
    the operands to these. Calls to a pure function may be merged, or dropped where unused.
    """
    label = name or getattr(fn, "__name__", "foreign")

    def run(*tensors: Tensor) -> list[Any]:
        result = fn(*tensors)
        return [as_tensor(r) for r in (result if isinstance(result, (tuple, list)) else (result,))]

    number = _core.register_foreign(run)

    @functools.wraps(fn)
    def call(*operands: Any) -> Any:
        tensors = [as_tensor(o) for o in operands]
        specs = out(*tensors) if callable(out) else out
        single = isinstance(specs, TensorSpec)
        listed = [specs] if single else list(specs)
        results = _core.make_foreign(label, number, pure, tensors, [s.dtype for s in listed], [s.shape for s in listed])
        return results[0] if single else results

    return call


@overload
def custom_op(fn: Callable[P, R], *, name: str | None = None) -> Callable[P, R]: ...
@overload
def custom_op(fn: None = None, *, name: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def custom_op(fn: Any = None, *, name: str | None = None) -> Any:
    """A Python function over tensors as an operator: shown under its name, fused with its neighbours."""
    if fn is None:
        return lambda f: custom_op(f, name=name)
    if not callable(fn):
        raise Error("this is not a function", op="custom_op", got=type(fn).__name__, **caller())
    label = name or fn.__name__

    @functools.wraps(fn)
    def operator(*args: Any, **kwargs: Any) -> Any:
        with _core.NameScope(label):
            return fn(*args, **kwargs)

    return operator
