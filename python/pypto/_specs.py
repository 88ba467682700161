"""Types of tensors as annotations and specifications: sizes by name or number, and an element type."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import _core
from ._dtypes import DType, as_dtype, float32
from ._errors import Error
from ._tensor import Tensor


@dataclass(frozen=True)
class TensorSpec:
    """Shape (ints and names of symbolic sizes; None: any rank) and element type (None: any)."""

    shape: tuple[Any, ...] | None
    dtype: DType | None

    def __str__(self) -> str:
        shape = "..." if self.shape is None else ", ".join(str(s) for s in self.shape)
        return f"Tensor[{shape}, {self.dtype}]" if self.dtype else f"Tensor[{shape}]"


def spec(shape: Any, dtype: Any = float32) -> TensorSpec:
    """The type of a tensor: ``spec((128, "N"), pypto.bfloat16)``; strings name symbolic sizes."""
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    for s in shape:
        if isinstance(s, _core.Size):
            continue
        if not isinstance(s, (int, str)) or isinstance(s, bool) or (isinstance(s, int) and s < 0) or s == "":
            raise Error("a size is an integer >= 0 or a name", op="spec", got=repr(s))
    return TensorSpec(shape, as_dtype(dtype))


def annotation(items: Any) -> TensorSpec:
    """What ``Tensor["B", 64, float16]`` means."""
    items = items if isinstance(items, tuple) else (items,)
    dtype = None
    if items and not isinstance(items[-1], (int, str)):
        if items[-1] is not Ellipsis:
            dtype = as_dtype(items[-1])
            items = items[:-1]
    if items == (Ellipsis,):
        return TensorSpec(None, dtype)
    return TensorSpec(spec(items, float32).shape, dtype)


@dataclass
class Parameters:
    """A function's parameters with what their annotations say about tensors."""

    signature: inspect.Signature | None
    specs: dict[str, TensorSpec]
    bare: set[str]  # annotated as Tensor without sizes

    @property
    def names(self) -> list[str]:
        return list(self.signature.parameters) if self.signature else []


def parameters_of(fn: Callable[..., Any]) -> Parameters:
    """Reads a function's signature and annotations (also if they are strings)."""
    try:
        signature = inspect.signature(_described(fn))
    except (TypeError, ValueError):
        return Parameters(None, {}, set())
    try:
        hints = _hints(fn)
    except Exception:  # annotations that cannot be evaluated say nothing
        hints = {}
    specs, bare = {}, set()
    for name in signature.parameters:
        hint = hints.get(name)
        if typing.get_origin(hint) is typing.Annotated:
            kind, *sizes = typing.get_args(hint)
            hint = annotation(tuple(sizes)) if kind is Tensor else kind
        if isinstance(hint, TensorSpec):
            specs[name] = hint
        elif hint is Tensor:
            bare.add(name)
    return Parameters(signature, specs, bare)


def _described(fn: Any) -> Any:
    """What has the signature: a module's is its forward's."""
    if inspect.isfunction(fn) or inspect.ismethod(fn):
        return fn
    return getattr(fn, "forward", fn)


def _hints(fn: Callable[..., Any]) -> dict[str, Any]:
    target = _described(fn)
    if not inspect.isfunction(target) and not inspect.ismethod(target):
        target = getattr(type(target), "__call__")
    target = inspect.unwrap(target)
    raw = dict(getattr(target, "__annotations__", {}))
    scope = getattr(target, "__globals__", {})
    for name, hint in raw.items():
        if isinstance(hint, str):
            try:
                raw[name] = eval(hint, scope, {})  # as typing.get_type_hints does, but sizes are no types
            except NameError:
                raw[name] = typing.Any
    return raw


def check_argument(fn_name: str, name: str, want: TensorSpec, got: Tensor, bound: dict[str, tuple[int, str]], where: dict) -> None:
    """Raises the user's error if a tensor is not what the annotation says; binds the named sizes."""
    expected = str(want)
    if want.dtype is not None and got.dtype != want.dtype:
        raise Error(f"argument {name} has another element type", op=fn_name, expected=expected, got=got._type_text, **where)
    if want.shape is None:
        return
    if got.ndim != len(want.shape):
        raise Error(f"argument {name} has another rank", op=fn_name, expected=expected, got=got._type_text, **where)
    for size, n in zip(want.shape, got.shape):
        if isinstance(size, int):
            if size != n:
                raise Error(f"argument {name} has another size", op=fn_name, expected=expected, got=got._type_text, **where)
        elif size in bound and bound[size][0] != n:
            other = bound[size]
            raise Error(
                f"the size {size} is {other[0]} in {other[1]} and {n} in {name}",
                op=fn_name,
                label=size,
                expected=expected,
                got=got._type_text,
                **where,
            )
        else:
            bound.setdefault(size, (n, name))
