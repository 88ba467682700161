"""What a traced function reads from outside, and whether it still is what it was.

While a function is traced, every Python function that runs is noted. Its bytecode tells which globals,
closure cells and attributes it can read; their values are compared before the trace is used again. What is
read in other ways (a loop over modules, an item of a list, an alias) is found at the end: whatever can be
reached from the function, its arguments and the globals it read, through containers and through attributes
of names that any of the code mentions.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import itertools
import operator
import os
import struct
import sys
import sysconfig
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _core
from ._dtypes import DType
from ._tensor import Tensor
from ._trace_names import PACKAGE

_SIMPLE = (bool, int, float, complex, str, bytes, type(None), DType, np.dtype, np.generic)
_CODE = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)
_MISSING = object()

# The standard library and NumPy keep caches in their globals, which are no part of what a function computes.
_INSTALLED = tuple(sysconfig.get_path(p) + os.sep for p in ("purelib", "platlib"))
_OWN = (PACKAGE, os.path.dirname(np.__file__) + os.sep, "<frozen")
_LAYERS = os.path.join(PACKAGE, "nn") + os.sep  # modules as users write them, with attributes that may change
_STANDARD = tuple(sysconfig.get_path(p) + os.sep for p in ("stdlib", "platstdlib"))

Chain = tuple[str, str, tuple[str, ...]]
_chains: dict[types.CodeType, list[Chain]] = {}
_mentioned: dict[types.CodeType, frozenset[str]] = {}


def _names_of(code: types.CodeType) -> frozenset[str]:
    """Attributes that the code can read: by name, or by a text such as getattr takes."""
    if code not in _mentioned:
        _mentioned[code] = frozenset([*code.co_names, *(c for c in code.co_consts if isinstance(c, str) and c.isidentifier())])
    return _mentioned[code]


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
        self._names: set[str] = {"forward"}  # mentioned by what ran; `forward` is what Module's call reads
        self._roots: list[tuple[Any, str]] = []
        self._previous: Any = None
        self._import: types.FrameType | None = None  # the outermost import that is going on

    def __enter__(self) -> Recorder:
        self._previous = sys.getprofile()
        sys.setprofile(self._profile)
        return self

    def __exit__(self, failure: Any, *_: Any) -> None:
        if self._previous is None or callable(self._previous):
            sys.setprofile(self._previous)
        else:  # a profiler written in C, such as cProfile.Profile, which only it can start again
            sys.setprofile(None)
            self._previous.enable()
        if failure is None:
            self._reach()

    def root(self, value: Any, path: str) -> None:
        """A function or argument, from which the traced code can reach others. Containers and dataclasses
        are made anew for each trace: only what they hold counts."""
        if _has_items(value):
            for item, inner in _members(value, path):
                self.root(item, inner)
        elif dataclasses.is_dataclass(value) and type(value).__hash__ is None:
            self.root(vars(value), path)
        else:
            self._roots.append((value, path))

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
        if _is_own(code):
            return
        self.record(code, frame.f_globals, frame.f_locals)

    def record(self, code: types.CodeType, scope: dict, local: dict) -> None:
        self._names |= _names_of(code)
        for kind, name, attributes in _chains_of(code):
            if kind == "global":
                if name not in scope:  # a builtin, unless a global of that name is defined later
                    self._absent(scope, name, f"global {name}")
                    continue
                value = scope[name]
                self._name(scope, name, value, f"global {name}")
                self._roots.append((value, name))
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

    def _is_new(self, key: Any) -> bool:
        """Is this the first guard of the key?"""
        before = len(self._seen)
        self._seen.add(key)
        return len(self._seen) > before

    def _absent(self, scope: dict, name: str, what: str) -> None:
        if self._is_new((id(scope), name)):
            self.guards.absent(scope, name, what)

    def cells(self, function: Any) -> None:
        """The closure of the traced function itself, by its cells."""
        closure = getattr(function, "__closure__", None) or ()
        for name, cell in zip(function.__code__.co_freevars, closure):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            if not self._is_new(("cell", id(cell))):
                continue
            if _has_items(value):
                self._items(lambda cell=cell: cell.cell_contents, value, f"closure variable {name}")
            else:
                self.guards.cell(cell, value, not isinstance(value, _SIMPLE), f"closure variable {name}")
            self._roots.append((value, name))
            if isinstance(value, types.FunctionType):
                self.cells(value)

    def _attributes(self, value: Any, attributes: tuple[str, ...], path: str) -> None:
        for attribute in attributes:
            if isinstance(value, (Tensor, *_SIMPLE, *_CODE)):
                return
            if isinstance(value, types.ModuleType) and (value.__name__.partition(".")[0] in ("pypto", "numpy", "math")):
                return
            path = f"{path}.{attribute}"
            own = value.__dict__ if not isinstance(value, type) and hasattr(value, "__dict__") else None
            if own is not None and attribute in own:
                following = own[attribute]
                self._keep.append(value)
                self._name(own, attribute, following, path)
            else:
                cls = value if isinstance(value, type) else type(value)
                following = _in_class(cls, attribute)
                if following is _MISSING or isinstance(following, property):
                    return
                self._class_attribute(cls, attribute, following, path)
                if own is not None:
                    self._absent(own, attribute, path)
                if isinstance(following, types.MemberDescriptorType):
                    following = self._slot(value, attribute, path)
            value = following

    def _class_attribute(self, cls: type, attribute: str, value: Any, path: str) -> None:
        if self._is_new(("class", cls, attribute)):
            self.guards.attribute(cls, attribute, value, not isinstance(value, _SIMPLE), path)
            if _has_items(value):
                self._items(lambda: _in_class(cls, attribute), value, path)

    def _slot(self, value: Any, attribute: str, path: str) -> Any:
        """An attribute kept in a slot."""
        now = getattr(value, attribute, _MISSING)
        if self._is_new(("slot", id(value), attribute)):
            self._keep.append(value)
            self.guards.call(lambda: _same(getattr(value, attribute, _MISSING), now), path)
        return now

    def _reach(self) -> None:
        """Guards whatever can be reached from the roots by the names that were mentioned."""
        reached: set[int] = set()
        stack = self._roots[::-1]
        while stack:
            value, path = stack.pop()
            if id(value) in reached or isinstance(value, (Tensor, np.ndarray, types.ModuleType, *_SIMPLE)):
                continue
            reached.add(id(value))
            self._keep.append(value)
            if isinstance(value, types.MethodType):
                stack += [(value.__self__, path), (value.__func__, path)]
            elif isinstance(value, functools.partial):
                stack += [(value.func, path), (value.args, path), (value.keywords, path)]
            elif isinstance(value, types.FunctionType):
                if not _is_own(value.__code__):
                    stack += self._function(value, path)
                elif hasattr(value, "__wrapped__"):
                    stack.append((value.__wrapped__, path))
            elif _has_items(value):
                self._items(lambda value=value: value, value, path)
                stack += _members(value, path)
            elif isinstance(value, type):
                stack += self._class(value, path)
            else:
                stack += self._object(value, path)

    def _function(self, function: types.FunctionType, path: str) -> list[tuple[Any, str]]:
        before = len(self._roots)
        self.cells(function)
        defaults, named = function.__defaults__, function.__kwdefaults__
        if defaults is not None:
            self.guards.call(lambda: function.__defaults__ is defaults, f"a default value of {path}")
        return [*self._roots[before:], (defaults, f"a default value of {path}"), (named, f"a default value of {path}")]

    def _class(self, cls: type, path: str) -> list[tuple[Any, str]]:
        if cls.__module__.partition(".")[0] in ("builtins", "pypto", "numpy"):
            return []
        found = []
        for name in self._names:
            value = _in_class(cls, name)
            if value is not _MISSING and not isinstance(value, types.MemberDescriptorType):
                self._class_attribute(cls, name, value, f"{path}.{name}")
                found.append((value, f"{path}.{name}"))
        return found

    def _object(self, value: Any, path: str) -> list[tuple[Any, str]]:
        cls = type(value)
        found = self._class(cls, path)
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            for name in self._names & own.keys():
                self._name(own, name, own[name], f"{path}.{name}")
                found.append((own[name], f"{path}.{name}"))
            if cls.__module__ != "builtins":  # a new attribute may stand before one of the class
                self.guards.length(own, f"what {path} has")
        for name in self._names:
            if isinstance(_in_class(cls, name), types.MemberDescriptorType):
                found.append((self._slot(value, name, f"{path}.{name}"), f"{path}.{name}"))
        return found

    def _name(self, where: dict, name: str, value: Any, what: str) -> None:
        if not self._is_new((id(where), name)):
            return
        if isinstance(value, types.FunctionType) and value.__closure__:
            self.cells(value)
        self.guards.name(where, name, value, not isinstance(value, _SIMPLE), what)
        if _has_items(value):
            self._items(lambda: where.get(name), value, what)

    def _items(self, read: Any, value: Any, what: str) -> None:
        """The items of a list, tuple, dict or set; what changes inside of them is watched on its own."""
        if not self._is_new(("items", id(value))):
            return
        self._keep.append(value)
        items, length = list(_walk(value)), len(value)

        def unchanged() -> bool:
            now = read()
            if type(now) is not type(value) or len(now) != length:
                return False
            return all(map(operator.is_, _walk(now), items)) or all(map(_same, _walk(now), items))

        self.guards.call(unchanged, what)


def _is_own(code: types.CodeType) -> bool:
    file = code.co_filename
    return (file.startswith(_OWN) and not file.startswith(_LAYERS)) or (
        file.startswith(_STANDARD) and not file.startswith(_INSTALLED)
    )


def _in_class(cls: type, name: str) -> Any:
    return next((c.__dict__[name] for c in cls.__mro__ if name in c.__dict__), _MISSING)


def _members(value: Any, path: str) -> list[tuple[Any, str]]:
    if isinstance(value, dict):
        return [(v, f"{path}[{k!r}]") for k, v in value.items()]
    return [(v, f"{path}[{i}]") for i, v in enumerate(value)]


def same_value(a: Any, b: Any) -> bool:
    """Equal values of one type; 0.0 is not -0.0, and NaN is itself."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    return bool(a == b)


def _has_items(value: Any) -> bool:
    return isinstance(value, (list, tuple, dict, set))


def _walk(value: Any) -> Iterable:
    return itertools.chain(value, value.values()) if isinstance(value, dict) else value


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, _SIMPLE) and same_value(a, b))
