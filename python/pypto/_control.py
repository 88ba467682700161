"""Control flow on values: cond, while_loop, scan; foreign calls; custom operators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from . import _core
from ._arrays import as_tensor
from ._errors import Error
from ._specs import TensorSpec
from ._tensor import Tensor
from ._trace_names import caller
from ._tracing import Tracer
from ._trees import numbers_as_tensors, put_together, same_form, shift_slots, take_apart

P = ParamSpec("P")
R = TypeVar("R")


class _Body:
    """A function traced on its own: its results, their form, and what it reads from outside."""

    def __init__(self, fn: Callable[..., Any], name: str, types: Sequence[Tensor], form: Any, shapes: Sequence[Any]) -> None:
        self.name = name
        self.tracer = Tracer(body=True)
        with self.tracer as tracer:
            self.arguments = [tracer.argument(f"x{i}", t.dtype, s) for i, (t, s) in enumerate(zip(types, shapes))]
            with _core.NameScope(name):
                out = fn(*put_together(form, self.arguments))
            tensors: list[Any] = []
            self.result = take_apart(numbers_as_tensors(out), tensors)
            self.outputs = [tracer.inside(t) for t in tensors]

    def graph(self, captured: Sequence[Tensor]) -> Any:
        """The graph, which takes these tensors from outside after its arguments."""
        with self.tracer as tracer:
            inputs = [*self.arguments, *[tracer.lift(handle) for handle in captured]]
            return tracer.core.finish(self.outputs, self.name, inputs)


def _operands(values: Any) -> tuple[list[Tensor], Any]:
    tensors: list[Any] = []
    form = take_apart(numbers_as_tensors(values), tensors)
    return [as_tensor(t) for t in tensors], form


def _captured(bodies: Sequence[_Body]) -> list[Tensor]:
    """What any of the bodies reads from outside: all of them take all of it."""
    return list({id(handle): handle for body in bodies for handle in body.tracer.captured}.values())


def cond(predicate: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:
    """``then(*operands)`` if the bool tensor `predicate` (one element) holds, else ``otherwise(*operands)``.

    Only the chosen branch runs. Both must give results of the same structure, shapes and dtypes.
    """
    tensors, form = _operands(tuple(operands))
    shapes = [t.shape for t in tensors]
    bodies = [_Body(then, "then", tensors, form, shapes), _Body(otherwise, "else", tensors, form, shapes)]
    if not same_form(bodies[0].result, bodies[1].result):
        raise Error("the branches give results of different structure", op="cond", **caller())
    predicate = as_tensor(predicate)
    if predicate.ndim:
        if any(n != 1 for n in predicate.shape):
            raise Error("the condition has not exactly one element", op="cond", got=predicate._type_text)
        predicate = predicate.reshape(())
    if predicate.dtype != "bool":
        predicate = predicate != 0
    captured = _captured(bodies)
    out = _core.make_cond([predicate, *tensors, *captured], *[body.graph(captured) for body in bodies])
    return put_together(bodies[0].result, out)


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
    if not same_form(loop.result, form):
        raise Error("the body must give a state of the same structure", op="while_loop", **caller())
    captured = _captured([test, loop])
    out = _core.make_while([*tensors, *captured], len(tensors), test.graph(captured), loop.graph(captured))
    result = put_together(form, out)
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
    shapes = [t.shape for t in carry] + [t.shape[1:] for t in sequences]
    form = (carry_form, shift_slots(xs_form, len(carry)))

    def step(c: Any, x: Any) -> Any:
        c, y = body(c, x)
        return c, y

    loop = _Body(step, "body", [*carry, *sequences], form, shapes)
    if not same_form(loop.result[0], carry_form):
        raise Error("the body must give a carry of the same structure", op="scan", **caller())
    operands = [*carry, *sequences, *loop.tracer.captured]
    graph = loop.graph(loop.tracer.captured)
    out = _core.make_scan(operands, len(carry), len(sequences), sequences[0].shape[0], reverse, graph)
    return put_together(loop.result[0], out), put_together(loop.result[1], out)


def foreign(
    fn: Callable[..., Any], out: Any, *, pure: bool = True, name: str | None = None, vmap: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """An operator that calls a Python function on tensors when it runs.

    `out` is the type of the result, ``pypto.spec(shape, dtype)``, or a tuple of them, or a function from
    the operands to these. Calls to a pure function may be merged, or dropped where unused. A function that
    is not pure runs once for each call, used or not: at once, or whenever the compiled function around it does.
    ``vmap(size, batched, *operands)`` gives the results (a tuple of them) for operands of which the
    `batched` have a new leading axis of that size, as the results must; without it ``pypto.vmap`` refuses the operator.
    """
    label = name or getattr(fn, "__name__", "foreign")

    def run(*tensors: Tensor) -> list[Any]:
        result = fn(*tensors)
        return [as_tensor(r) for r in (result if isinstance(result, (tuple, list)) else (result,))]

    registered = _core.register_foreign(run)

    def batched_results(size: Any, batched: tuple[bool, ...], tensors: tuple[Tensor, ...]) -> list[Any]:
        result = vmap(size, batched, *tensors)  # type: ignore[misc]
        return [as_tensor(r) for r in (result if isinstance(result, (tuple, list)) else (result,))]

    rule = None if vmap is None else batched_results

    @functools.wraps(fn)
    def call(*operands: Any) -> Any:
        tensors = [as_tensor(o) for o in operands]
        specs = out(*tensors) if callable(out) else out
        single = isinstance(specs, TensorSpec)
        listed = [specs] if single else list(specs)
        results = _core.make_foreign(label, registered, pure, tensors, [s.dtype for s in listed], [s.shape for s in listed], rule)
        return results[0] if single else results

    return call


@overload
def custom_op(fn: Callable[P, R], *, name: str | None = None) -> Callable[P, R]: ...
@overload
def custom_op(fn: None = None, *, name: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def custom_op(fn: Any = None, *, name: str | None = None) -> Any:
    """A Python function over tensors as an operator: shown under its name, fused with its neighbours.

    Its arguments and results are values: what it writes in place stays inside.
    """
    if fn is None:
        return lambda f: custom_op(f, name=name)
    if not callable(fn):
        raise Error("this is not a function", op="custom_op", got=type(fn).__name__, **caller())
    label = name or getattr(fn, "__name__", type(fn).__name__)

    @functools.wraps(fn)
    def operator(*args: Any, **kwargs: Any) -> Any:
        tensors: list[Any] = []
        form = take_apart((args, kwargs), tensors)
        values, named = put_together(form, [t.copy() if isinstance(t, Tensor) else t for t in tensors])
        with _core.NameScope(label):
            return fn(*values, **named)

    return operator
