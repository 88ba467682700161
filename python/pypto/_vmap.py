"""Batching: a function over one more axis of its arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _core
from ._arrays import as_tensor
from ._errors import Error
from ._functions import functions
from ._tensor import Tensor
from ._trace_names import caller
from ._tracing import Tracer
from ._trees import map_leaves, numbers_as_tensors, put_together, take_apart


def _fail(message: str, **facts: Any) -> Error:
    return Error(message, op="vmap", **facts, **caller())


def _paired(axes: Any, x: Any, what: str) -> Iterator[tuple[Any, int | None]]:
    """The leaves of x, each with its axis; one axis stands for all leaves below it."""
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        leaves: list[Any] = []
        map_leaves(leaves.append, x)
        yield from ((leaf, axes) for leaf in leaves)
    elif isinstance(axes, (tuple, list)) and isinstance(x, (tuple, list)) and len(axes) == len(x):
        for a, v in zip(axes, x):
            yield from _paired(a, v, what)
    elif isinstance(axes, dict) and isinstance(x, dict) and axes.keys() == x.keys():
        for k, v in x.items():
            yield from _paired(axes[k], v, what)
    else:
        raise _fail(f"{what} has another structure", expected=f"an int, None, or what fits {_form(x)}", got=repr(axes))


def _form(x: Any) -> str:
    return repr(map_leaves(lambda v: v._type_text if isinstance(v, Tensor) else v, x))


def _axis(axis: int, rank: int, what: str, type_text: str) -> int:
    if not -rank <= axis < rank:
        expected = f"{-rank} .. {rank - 1}" if rank else "None: a tensor without axes is not mapped"
        raise _fail(f"{what} {axis} is out of range for {type_text}", expected=expected, got=str(axis))
    return axis % rank


def _is_array(x: Any) -> bool:
    return isinstance(x, (Tensor, np.ndarray)) or hasattr(x, "__dlpack__")


def _move(x: Tensor, source: int, to: int) -> Tensor:
    return x if source == to else functions["moveaxis"](x, source, to)


def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, *, axis_size: Any = None) -> Callable[..., Any]:
    """The function over one more axis: ``vmap(f)(x, y)`` gives ``f(x[i], y[i])`` for every i, stacked.

    `in_axes` says which axis of each positional argument is mapped: an int, None (the argument is the same
    for all), or a container of them that fits the arguments. Keyword arguments are not mapped. `out_axes`
    says where the new axis stands in the results; None asks for a result that is the same for all.
    `axis_size` is the size of the axis where no argument has it. `fn` runs once, on tensors without the
    axis. A random draw of shape s inside is one of shape (size, *s) outside, and differs over the axis.
    """
    if not callable(fn):
        raise _fail("this is not a function", got=type(fn).__name__)
    name = getattr(fn, "__name__", type(fn).__name__)

    @functools.wraps(fn, updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        size = axis_size
        tensors: list[Tensor] = []
        axes: list[int] = []
        for leaf, axis in _paired(in_axes, args, "in_axes"):
            if axis is None or leaf is None:
                continue
            if not _is_array(leaf):
                raise _fail("only tensors are mapped", expected="None in in_axes for it", got=type(leaf).__name__)
            tensor = as_tensor(leaf)
            axis = _axis(axis, tensor.ndim, "in_axes", tensor._type_text)
            n = tensor.shape[axis]
            if size is None:
                size = n
            elif size != n:
                raise _fail("the mapped axes have different sizes", expected=str(size), got=f"{n} in {tensor._type_text}")
            tensors.append(tensor)
            axes.append(axis)
        if size is None:
            raise _fail("nothing is mapped", expected="an axis in in_axes, or axis_size")
        tracer = Tracer()
        with tracer:
            numbers = iter(range(len(tensors)))
            known: dict[tuple[int, int], Tensor] = {}
            leaves = iter(_paired(in_axes, args, "in_axes"))

            def placeholder(_: Any) -> Any:
                leaf, axis = next(leaves)
                if axis is None or leaf is None:
                    return leaf
                i = next(numbers)
                t = tensors[i]
                made = tracer.argument(f"x{i}", t.dtype, t.shape[: axes[i]] + t.shape[axes[i] + 1 :])
                # A handle that comes twice is one inside too.
                return known.setdefault((id(t), axes[i]), made)

            call_args = map_leaves(placeholder, args)
            with _core.NameScope(name):
                out = fn(*call_args, **kwargs)
            out = numbers_as_tensors(out)
            found: list[Any] = []
            form = take_apart(out, found)
            places = [a for v, a in _paired(out_axes, out, "out_axes") if isinstance(v, (Tensor, np.ndarray, _core.Size))]
            # Snapshots, as handles from outside get their own values back.
            outputs = [tracer.inside(t)._snapshot() for t in found]
            written = [(n, tracer.inside(t)._snapshot()) for n, t in sorted(tracer.written_arguments.items())]
            state = [(handle, tracer.inside(handle)._snapshot()) for handle, _ in tracer.written.values()]
        front = [_move(t, a, 0) for t, a in zip(tensors, axes)]
        every = [*outputs, *[v for _, v in written], *[v for _, v in state]]
        results = _core.batch(tracer.core, every, [*front, *tracer.captured], len(front), size)

        def whole(x: Tensor, batched: bool) -> Tensor:
            return x if batched else functions["broadcast_to"](x, (size, *x.shape))

        placed = []
        for (x, batched), axis in zip(results, places):
            if axis is None:
                if batched:
                    raise _fail("a result differs over the mapped axis", expected="an axis in out_axes", got="None")
                placed.append(x)
                continue
            x = whole(x, batched)
            placed.append(_move(x, 0, _axis(axis, x.ndim, "out_axes", x._type_text)))
        rest = results[len(outputs) :]
        for (handle, _), (_, batched) in zip(state, rest[len(written) :]):
            if batched:
                raise _fail(
                    "a tensor from outside is written in place with values that differ over the mapped axis",
                    operands=(handle._type_text,),
                )
        for (n, _), (x, batched) in zip(written, rest):
            tensors[n]._rebind(_move(whole(x, batched), 0, axes[n]))
        for (handle, _), (x, _) in zip(state, rest[len(written) :]):
            handle._rebind(x)
        return put_together(form, placed)

    mapped.__annotations__ = {}  # of tensors without the axis
    try:
        signature = inspect.signature(fn)
        bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        mapped.__signature__ = signature.replace(parameters=bare, return_annotation=signature.empty)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        pass
    return mapped
