"""What a traced function reads from outside, and whether it still is what it was.

While a function is traced, every Python function that runs is noted. Its bytecode tells which globals,
closure cells and attributes it can read; their values are compared before the trace is used again.
"""

from __future__ import annotations

import dis
import itertools
import operator
import os
import struct
import sys
import sysconfig
import types
from typing import Any

import numpy as np

from . import _core
from ._dtypes import DType
from ._tensor import Tensor
from ._trace_names import PACKAGE

_SIMPLE = (bool, int, float, complex, str, bytes, type(None), DType, np.dtype, np.generic)
_MISSING = object()

# The standard library and NumPy keep caches in their globals, which are no part of what a function computes.
_INSTALLED = tuple(sysconfig.get_path(p) + os.sep for p in ("purelib", "platlib"))
_OWN = (PACKAGE, os.path.dirname(np.__file__) + os.sep, "<frozen")
_STANDARD = tuple(sysconfig.get_path(p) + os.sep for p in ("stdlib", "platstdlib"))

Chain = tuple[str, str, tuple[str, ...]]
_chains: dict[types.CodeType, list[Chain]] = {}


def _chains_of(code: types.CodeType) -> list[Chain]:
    """Reads of names with the attributes taken from them: ("global", "cfg", ("eps",))."""
    found = _chains.get(code)
    if found is not None:
        return found
    chains: dict[Chain, None] = {}
    root: tuple[str, str] | None = None
    attributes: list[str] = []

    def close() -> None:
        if root is not None:
            chains[(root[0], root[1], tuple(attributes))] = None

    for instruction in dis.get_instructions(code):
        op, arg = instruction.opname, instruction.argval
        if op in ("LOAD_ATTR", "LOAD_METHOD") and root is not None:
            attributes.append(arg)
            continue
        if op in ("PUSH_NULL", "PRECALL", "CACHE", "RESUME", "EXTENDED_ARG", "NOP"):
            continue
        close()
        root, attributes = None, []
        if op in ("LOAD_GLOBAL", "LOAD_NAME"):
            root = ("global", arg)
        elif op in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE"):
            root = ("cell", arg)
        elif op.startswith("LOAD_FAST") and isinstance(arg, str):
            root = ("local", arg)
    close()
    _chains[code] = list(chains)
    return _chains[code]


class Recorder:
    """Records reads while it is active (a context manager around the traced call)."""

    def __init__(self) -> None:
        self.guards = _core.Guards()
        self._seen: set[Any] = set()
        self._keep: list[Any] = []
        self._previous: Any = None
        self._import: types.FrameType | None = None  # the outermost import that is going on

    def __enter__(self) -> Recorder:
        self._previous = sys.getprofile()
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._previous is None or callable(self._previous):
            sys.setprofile(self._previous)
        else:  # a profiler written in C, such as cProfile.Profile, which only it can start again
            sys.setprofile(None)
            self._previous.enable()

    def _profile(self, frame: types.FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if self._import is not None:  # what an import runs is no part of the function
            if event == "return" and frame is self._import:
                self._import = None
            return
        if event != "call":
            return
        file = code.co_filename
        if code.co_name == "_find_and_load" and file.startswith("<frozen importlib"):
            self._import = frame
            return
        if file.startswith(_OWN) or (file.startswith(_STANDARD) and not file.startswith(_INSTALLED)):
            return
        self.record(code, frame.f_globals, frame.f_locals)

    def record(self, code: types.CodeType, scope: dict, local: dict) -> None:
        for kind, name, attributes in _chains_of(code):
            if kind == "global":
                if name not in scope:  # a builtin, unless a global of that name is defined later
                    self._absent(scope, name)
                    continue
                value = scope[name]
                self._name(scope, name, value, f"global {name}")
            elif name in local:
                value = local[name]
                # A cell itself is found through the function objects (`cells`); what a nested function made
                # during the trace closes over is made anew by each trace.
                if kind == "cell" and isinstance(value, types.FunctionType):
                    self.cells(value)
                elif isinstance(value, (Tensor, *_SIMPLE)):
                    continue
            else:
                continue
            self._attributes(value, attributes, name)

    def _absent(self, scope: dict, name: str) -> None:
        key = (id(scope), name)
        if key not in self._seen:
            self._seen.add(key)
            self.guards.absent(scope, name, f"global {name}")

    def cells(self, function: Any) -> None:
        """The closure of the traced function itself, by its cells."""
        closure = getattr(function, "__closure__", None) or ()
        for name, cell in zip(function.__code__.co_freevars, closure):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            key = ("cell", id(cell))
            if key in self._seen:
                continue
            self._seen.add(key)
            if _has_items(value):
                self._items(lambda cell=cell: cell.cell_contents, value, f"closure variable {name}")
            else:
                self.guards.cell(cell, value, not isinstance(value, _SIMPLE), f"closure variable {name}")
            if isinstance(value, types.FunctionType):
                self.cells(value)

    def _attributes(self, value: Any, attributes: tuple[str, ...], path: str) -> None:
        for attribute in attributes:
            if isinstance(value, (Tensor, type, *_SIMPLE, types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
                return
            if isinstance(value, types.ModuleType) and (value.__name__.partition(".")[0] in ("pypto", "numpy", "math")):
                return
            path = f"{path}.{attribute}"
            own = getattr(value, "__dict__", None)
            if isinstance(own, dict) and attribute in own:
                following = own[attribute]
                self._keep.append(value)
                self._name(own, attribute, following, path)
            else:
                holder = next((c for c in type(value).__mro__ if attribute in c.__dict__), None)
                if holder is None:
                    return
                following = holder.__dict__[attribute]
                if isinstance(following, property):
                    return
                key = ("class", id(own) if isinstance(own, dict) else id(holder), attribute)
                if key not in self._seen:
                    self._seen.add(key)
                    self._keep.append(value)
                    self._class_attribute(own if isinstance(own, dict) else {}, holder, attribute, following, path)
            value = following

    def _class_attribute(self, own: dict, holder: type, attribute: str, value: Any, path: str) -> None:
        """An attribute of the class that the object itself does not have (`own` are those that it has)."""
        simple = isinstance(value, _SIMPLE)

        def unchanged() -> bool:
            now = holder.__dict__.get(attribute, _MISSING)
            return (now is value or (simple and same_value(now, value))) and attribute not in own

        self.guards.call(unchanged, path)

    def _name(self, where: dict, name: str, value: Any, what: str) -> None:
        key = (id(where), name)
        if key in self._seen:
            return
        self._seen.add(key)
        if isinstance(value, types.FunctionType) and value.__closure__:
            self.cells(value)
        self.guards.name(where, name, value, not isinstance(value, _SIMPLE), what)
        if _has_items(value):
            self._items(lambda: where.get(name), value, what)

    def _items(self, read: Any, value: Any, what: str) -> None:
        """A list, tuple, dict or set: its items, two levels deep."""
        key = ("items", id(value))
        if key in self._seen:
            return
        self._seen.add(key)
        then, items = _snapshot(value), _flat_items(value)

        def unchanged() -> bool:
            now = read()
            if now is value and items is not None and _holds(now, items):
                return True
            return type(now) is type(value) and _same(_snapshot(now), then)

        self.guards.call(unchanged, what)


def same_value(a: Any, b: Any) -> bool:
    """Equal values of one type; 0.0 is not -0.0, and NaN is itself."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    return bool(a == b)


def _has_items(value: Any) -> bool:
    return isinstance(value, (list, tuple, dict, set))


def _flat_items(value: Any) -> list | None:
    """The items, if none of them can change by itself: then it is enough that they are the same objects."""
    if isinstance(value, set):
        return None
    items = [*value, *value.values()] if isinstance(value, dict) else list(value)
    return items if all(isinstance(v, _SIMPLE) for v in items) else None


def _holds(value: Any, items: list) -> bool:
    found = itertools.chain(value, value.values()) if isinstance(value, dict) else value
    size = 2 * len(value) if isinstance(value, dict) else len(value)
    return size == len(items) and all(map(operator.is_, found, items))


def _snapshot(value: Any, depth: int = 3) -> Any:
    if isinstance(value, dict):
        return [(k, _snapshot(v, depth - 1)) for k, v in value.items()] if depth else value
    if isinstance(value, (list, tuple)):
        return [_snapshot(v, depth - 1) for v in value] if depth else value
    if isinstance(value, set):
        return set(value)
    return value


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b))
    if isinstance(a, set) and isinstance(b, set):
        return a == b
    return isinstance(a, _SIMPLE) and same_value(a, b)
