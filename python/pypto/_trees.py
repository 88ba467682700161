"""Nested containers of tensors: arguments and results, taken apart and put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._arrays import as_tensor
from ._tensor import Tensor


def map_leaves(f: Callable[[Any], Any], x: Any) -> Any:
    """The same tuples (named ones too), lists and dicts with f(leaf) for each leaf."""
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[map_leaves(f, v) for v in x])
    if isinstance(x, (tuple, list)):
        return type(x)(map_leaves(f, v) for v in x)
    if isinstance(x, dict):
        return {k: map_leaves(f, v) for k, v in x.items()}
    return f(x)


class Slot:
    """The place of a tensor in a form."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def take_apart(x: Any, tensors: list[Any]) -> Any:
    """The form of x: its tensors are appended, and slots stand for them; the rest stays as it is."""

    def leaf(v: Any) -> Any:
        if not isinstance(v, (Tensor, np.ndarray, _core.Size)):
            return v
        tensors.append(v)
        return Slot(len(tensors) - 1)

    return map_leaves(leaf, x)


def put_together(form: Any, tensors: list[Tensor]) -> Any:
    return map_leaves(lambda v: tensors[v.number] if isinstance(v, Slot) else v, form)


def shift_slots(form: Any, by: int) -> Any:
    return map_leaves(lambda v: Slot(v.number + by) if isinstance(v, Slot) else v, form)


def numbers_as_tensors(x: Any) -> Any:
    return map_leaves(lambda v: as_tensor(v) if isinstance(v, (bool, int, float, np.generic)) else v, x)


def same_form(a: Any, b: Any) -> bool:
    if isinstance(a, Slot) or isinstance(b, Slot):
        return isinstance(a, Slot) and isinstance(b, Slot)
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(same_form(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same_form(a[k], b[k]) for k in a)
    return bool(a == b)


class Flat:
    """A call's arguments taken apart: tensors, numbers, and the rest as a hashable skeleton."""

    __slots__ = ("tensors", "numbers", "names", "keep")

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.numbers: list[Any] = []
        self.names: list[str] = []
        self.keep: list[Any] = []

    def add(self, x: Any, name: str) -> Any:
        """The skeleton of x."""
        if isinstance(x, Tensor):
            self.tensors.append(x)
            self.names.append(name)
            return "t"
        kind = type(x)
        if kind is float or kind is int:
            self.numbers.append(x)
            return "f" if kind is float else "i"
        if x is None or kind in (bool, str, bytes):
            return ("s", kind.__name__, x)
        if kind in (tuple, list):
            return (kind.__name__, *[self.add(v, f"{name}_{i}") for i, v in enumerate(x)])
        if kind is dict:
            return ("dict", *[(k, self.add(v, f"{name}_{k}")) for k, v in x.items()])
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return ("named", kind, *[self.add(v, f"{name}_{f}") for f, v in zip(kind._fields, x)])  # type: ignore[attr-defined]
        if isinstance(x, (np.ndarray, np.generic)) or (hasattr(x, "__dlpack__") and not isinstance(x, Tensor)):
            return self.add(as_tensor(x), name)
        self.keep.append(x)
        try:
            hash(x)
        except TypeError:
            return ("o", id(x))
        return ("h", x)

    def rebuild(self, skeleton: Any, tensors: Any, numbers: Any) -> Any:
        """The argument with other tensors and numbers (iterators) in their places."""
        if skeleton == "t":
            return next(tensors)
        if skeleton == "f" or skeleton == "i":
            return next(numbers)
        tag = skeleton[0]
        if tag == "s":
            return skeleton[2]
        if tag in ("tuple", "list"):
            items = [self.rebuild(s, tensors, numbers) for s in skeleton[1:]]
            return items if tag == "list" else tuple(items)
        if tag == "dict":
            return {k: self.rebuild(s, tensors, numbers) for k, s in skeleton[1:]}
        if tag == "named":
            return skeleton[1](*[self.rebuild(s, tensors, numbers) for s in skeleton[2:]])
        if tag == "h":
            return skeleton[1]
        return next(x for x in self.keep if id(x) == skeleton[1])
