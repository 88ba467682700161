"""Nested containers of tensors: arguments and results, taken apart and put together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from . import _core
from ._arrays import as_tensor
from ._errors import Error
from ._module import Module
from ._tensor import Tensor
from ._trace_names import caller


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
    """A call's arguments taken apart: tensors, numbers, and the rest as a hashable skeleton.

    Containers, and dataclasses that compare by value, stand for what they hold; other objects for
    themselves, and `keep` has those that the skeleton does not keep alive.
    """

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
        if isinstance(x, (tuple, list)):
            return ("named" if hasattr(x, "_fields") else "items", kind, *[self.add(v, f"{name}_{i}") for i, v in enumerate(x)])
        if isinstance(x, dict):
            return ("dict", kind, *[(k, type(k), self.add(v, f"{name}_{k}")) for k, v in x.items()])
        if isinstance(x, set):
            return ("set", kind, frozenset(x))
        if isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "__dlpack__"):
            return self.add(as_tensor(x), name)
        if kind.__hash__ is not None:
            hash(x)
            return ("h", kind, x)
        if dataclasses.is_dataclass(x) and not isinstance(x, Module):
            fields = dict.fromkeys([f.name for f in dataclasses.fields(x)] + list(getattr(x, "__dict__", ())))
            return ("fields", kind, *[(f, self.add(getattr(x, f), f"{name}_{f}")) for f in fields])
        if isinstance(x, Collection):
            raise Error(
                f"changes of {name} would not be noticed; pass a list, a tuple, a dict or a set instead",
                op="jit",
                got=kind.__name__,
                **caller(),
            )
        self.keep.append(x)
        return ("o", id(x))

    def rebuild(self, skeleton: Any, tensors: Any, numbers: Any) -> Any:
        """The argument with other tensors and numbers (iterators) in their places."""
        if skeleton == "t":
            return next(tensors)
        if skeleton == "f" or skeleton == "i":
            return next(numbers)
        tag = skeleton[0]
        if tag == "s":
            return skeleton[2]
        if tag in ("items", "named"):
            items = [self.rebuild(part, tensors, numbers) for part in skeleton[2:]]
            if tag == "named":
                return skeleton[1](*items)
            if issubclass(skeleton[1], tuple):
                return tuple.__new__(skeleton[1], items)
            made = skeleton[1].__new__(skeleton[1])
            made.extend(items)
            return made
        if tag == "dict":
            made = skeleton[1].__new__(skeleton[1])
            for key, _, part in skeleton[2:]:
                made[key] = self.rebuild(part, tensors, numbers)
            return made
        if tag == "set":
            return skeleton[1](skeleton[2])
        if tag == "fields":
            made = object.__new__(skeleton[1])
            for field, part in skeleton[2:]:
                object.__setattr__(made, field, self.rebuild(part, tensors, numbers))
            return made
        if tag == "h":
            return skeleton[2]
        return next(x for x in self.keep if id(x) == skeleton[1])
