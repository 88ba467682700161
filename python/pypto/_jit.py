"""Compiled functions: `jit`, `kernel`, and what they share."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import numpy as np

from . import _core
from ._arrays import as_tensor
from ._dtypes import float32
from ._errors import Error
from ._guards import Recorder, same_value
from ._specs import Parameters, TensorSpec, check_argument, parameters_of
from ._tensor import Tensor
from ._trace_names import caller
from ._tracing import Sizes, Tracer
from ._trees import Flat, Slot, put_together, take_apart

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")

# What one function keeps at most: kinds of arguments, and traces of each kind; the oldest go first.
_MAX_GROUPS, _MAX_TRACES = 1024, 64

_ALL_TENSORS = [("t",) * n for n in range(32)]
_KEPT = 64  # traces for one kind of arguments, and kinds of arguments


class _Entry:
    """One trace: its program and the conditions under which it may be used again."""

    def __init__(self, core: Any, guards: Any, result: Any, arrays: list, numbers: tuple, written: list[int], results: int) -> None:
        self.core = core
        self.guards = guards
        self.result = result
        self.arrays = arrays
        self.static_numbers = numbers  # per number: its value, or None if it is a run-time operand
        self.written = written  # numbers of the argument tensors that are written
        self.results = results
        self.single = isinstance(result, Slot)


class _Group:
    """Calls with one skeleton: their traces, and what their sizes and numbers have been."""

    def __init__(self, like: _Group | None = None, entry: _Entry | None = None, instead: _Entry | None = None) -> None:
        self.entries: list[_Entry] = [instead for e in like.entries if e is entry and instead] if like else []
        self.shapes: list[tuple] = list(like.shapes) if like else []
        self.numbers: list[tuple] = list(like.numbers) if like else []
        self.keep: list[Any] = like.keep if like else []  # what the skeleton knows by its id


class Compiled(Generic[P, R]):
    """A function that is traced once for a kind of arguments and then runs as native code.

    A size or number that is seen with a second value becomes symbolic; ``Tensor["B", 64]`` annotations
    make it so from the start. What the function reads from outside is watched, and a change traces anew.
    """

    def __init__(self, fn: Callable[P, R], *, passes_off: Sequence[str] = (), target: str = "") -> None:
        if not callable(fn):
            raise Error("this is not a function", op=type(self).__name__, got=type(fn).__name__)
        self._fn = fn
        self._passes_off = list(passes_off)
        self._target = target
        self._groups: dict[Any, _Group] = {}
        self._parameters: Parameters = parameters_of(fn)
        self._last: _Entry | None = None
        self._schedules: str | None = None
        #: Why the function was traced, one sentence for each trace.
        self.reasons: list[str] = []
        functools.update_wrapper(self, fn, updated=())
        self.__name__ = getattr(fn, "__name__", type(fn).__name__)

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.__name__}, traced {len(self.reasons)} times>"

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Compiled[P, R]: ...
    @overload
    def __get__(self: Compiled[Concatenate[Any, Q], R], instance: object, owner: Any = None) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    # --- calls --------------------------------------------------------------------------------------

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if _core.current_trace():
            with _core.NameScope(self.__name__):
                return self._fn(*args, **kwargs)
        flat = Flat()
        skeleton: Any
        if not kwargs and len(args) < 32 and self._only_tensors(flat.tensors, args):
            return self._call(_ALL_TENSORS[len(args)], flat, args, kwargs)
        flat = Flat()
        names = self._parameters.names
        parts = [flat.add(a, names[i] if i < len(names) else f"arg{i}") for i, a in enumerate(args)]
        skeleton = (tuple(parts), tuple((k, flat.add(v, k)) for k, v in kwargs.items()))
        return self._call(skeleton, flat, args, kwargs)

    @staticmethod
    def _only_tensors(tensors: list, args: Any) -> bool:
        """Appends the arguments as tensors; false if one is neither a tensor nor an ordinary array."""
        for a in args:
            if type(a) is np.ndarray:
                a = _core.from_plain_array(a)
            if type(a) is not Tensor:
                return False
            tensors.append(a)
        return True

    def _call(self, skeleton: Any, flat: Flat, args: Any, kwargs: Any) -> Any:
        # A handle that comes twice is one handle inside too, so that what is written to it is seen by both.
        same: tuple[int, ...] = ()
        ids = list(map(id, flat.tensors))
        if len(set(ids)) < len(ids):
            same = tuple(map(ids.index, ids))
        key = (skeleton, same) if same else skeleton
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= _KEPT:
                self._groups.pop(next(iter(self._groups)), None)
            group = self._groups[key] = _Group()
            group.keep = flat.keep
        why = None
        for entry in group.entries:  # the newest first, whose reason counts
            numbers = self._run_time_numbers(entry, flat.numbers)
            if numbers is None:
                continue
            changed = entry.guards.changed()
            if changed is not None:
                why = why or f"{changed} changed"
                continue
            for handle, array in entry.arrays:
                handle._assign(as_tensor(array))
            out = entry.core.call(flat.tensors, numbers)
            if out is not None:
                return self._finish(entry, out, flat)
        entry = self._trace(group, skeleton, same, flat, args, kwargs, why)
        out = entry.core.call(flat.tensors, self._run_time_numbers(entry, flat.numbers))
        if out is None:
            raise _core_fault("a trace does not fit the call that made it", str(entry.core.graph))
        return self._finish(entry, out, flat)

    def _finish(self, entry: _Entry, out: list[Tensor], flat: Flat) -> Any:
        self._last = entry
        for number, value in zip(entry.written, out[entry.results :]):
            _core.rebind(flat.tensors[number], value)
        return out[0] if entry.single else put_together(entry.result, out)

    @staticmethod
    def _run_time_numbers(entry: _Entry, numbers: list) -> list | None:
        if not numbers:
            return []
        run_time = []
        for static, n in zip(entry.static_numbers, numbers):
            if static is None:
                run_time.append(n)
            elif not same_value(static, n):
                return None
        return run_time

    # --- traces -------------------------------------------------------------------------------------

    def _trace(
        self, group: _Group, skeleton: Any, same: tuple[int, ...], flat: Flat, args: Any, kwargs: Any, why: str | None
    ) -> _Entry:
        where = caller()
        self._check_arguments(args, kwargs, where)
        reason = self._explain(group, flat, why)
        # What the calls have been so far is kept when the function has been traced without an error.
        seen = [*group.shapes, tuple(t.shape for t in flat.tensors)]
        seen_numbers = [*group.numbers, tuple(flat.numbers)]
        dynamic = [
            any(not same_value(v, values[0]) for v in values) and (isinstance(values[-1], float) or abs(values[-1]) < 2**63)
            for values in zip(*seen_numbers)
        ]
        names = flat.names or self._parameters.names
        tracer = Tracer()
        with tracer:
            shapes = self._symbolic_shapes(tracer, seen, flat, names)
            tensors = [
                tracer.argument(names[i] if i < len(names) else f"x{i}", t.dtype, shape)
                for i, (t, shape) in enumerate(zip(flat.tensors, shapes))
            ]
            for placeholder, t in zip(tensors, flat.tensors):
                _core.continue_tape(placeholder, t)
            tensors = [tensors[i] for i in same] or tensors
            numbers, symbols, signs = [], [], []
            for i, n in enumerate(flat.numbers):
                if not dynamic[i]:
                    numbers.append(n)
                    continue
                symbols.append(tracer.fresh_name(f"n{i}"))
                signs.append(None if isinstance(n, float) else n < 0)
                numbers.append((tracer.core.number if signs[-1] is None else tracer.core.integer)(symbols[-1], n))
            if skeleton and all(s == "t" for s in skeleton):
                call_args, call_kwargs = tensors, {}
            else:
                ts, ns = iter(tensors), iter(numbers)
                call_args = [flat.rebuild(s, ts, ns) for s in (skeleton[0] if skeleton else ())]
                call_kwargs = {k: flat.rebuild(s, ts, ns) for k, s in (skeleton[1] if skeleton else ())}
            entry = self._build(tracer, call_args, call_kwargs, symbols, signs)
        entry.static_numbers = tuple(None if d else n for d, n in zip(dynamic, flat.numbers))
        group.entries.insert(0, entry)
        del group.entries[_KEPT:]
        group.shapes, group.numbers = seen[-_KEPT:], seen_numbers[-_KEPT:]
        self.reasons.append(reason)
        return entry

    def _build(self, tracer: Tracer, args: Any, kwargs: Any, symbols: list[str], signs: list[bool | None]) -> _Entry:
        """Runs the function inside the trace and compiles its graph. `signs` tells which of the run-time
        numbers are negative ints, with None for floats."""
        mode = bool(_core.gradients_enabled())
        recorder = Recorder()
        recorder.root(self._fn, self.__name__)
        for value, name in zip(args, self._parameters.names):
            recorder.root(value, name)
        for name, value in kwargs.items():
            recorder.root(value, name)
        with _core.NameScope(self.__name__), recorder:
            out = self._fn(*args, **kwargs)
        tensors: list[Any] = []
        result = take_apart(out, tensors)
        results = [tracer.inside(t) for t in tensors]
        written = sorted(tracer.written_arguments)
        state = [tracer.inside(handle) for handle, _ in tracer.written.values()]
        arguments = [tracer.written_arguments[n] for n in written]
        outputs = [*results, *arguments, *state]
        gradients = []  # per gradient from outside: the output that it becomes, -1: None, -2: as before
        for _, now, changed in tracer.core.gradients():
            gradients.append(-2 if not changed else -1 if now is None else len(outputs))
            if gradients[-1] >= 0:
                outputs.append(tracer.inside(now))
        graph = tracer.core.finish(outputs, self.__name__)
        _core.count_trace()
        executable = _core.compile_graph(graph, self._passes_off, self._target)
        if self._schedules:
            executable = executable.with_schedule(self._schedules)
        core = _core.Entry(
            tracer.core,
            graph,
            executable,
            tracer.captured,
            symbols,
            [sign is None for sign in signs],
            [bool(sign) for sign in signs],
            len(results) + len(written),
            [handle for handle, _ in tracer.written.values()],
            [bool(_core.requires_gradient(t)) for t in outputs],
            gradients,
            mode,
            tracer.reads_gradient_mode,
        )
        return _Entry(core, recorder.guards, result, tracer.arrays, (), written, len(results))

    def _symbolic_shapes(self, tracer: Tracer, seen: list[tuple], flat: Flat, names: list[str]) -> list[list]:
        """Shapes of the placeholders. Sizes that varied alike so far share a symbol."""
        sizes = Sizes(tracer)
        comparable = [s for s in seen if [len(x) for x in s] == [len(t.shape) for t in flat.tensors]]
        shapes = []
        for i, t in enumerate(flat.tensors):
            want = self._parameters.specs.get(names[i]) if i < len(names) else None
            shape: list[Any] = []
            for d, n in enumerate(t.shape):
                name = want.shape[d] if want is not None and want.shape is not None else None
                history = tuple(s[i][d] for s in comparable)
                if isinstance(name, str):
                    shape.append(sizes.size(name, tracer.fresh_name(name) if name not in sizes.known else name, n))
                elif len(set(history)) > 1:
                    fresh = "" if history in sizes.known else tracer.fresh_name(f"s{len(sizes.known)}")
                    shape.append(sizes.size(history, fresh, n))
                else:
                    shape.append(n)
            shapes.append(shape)
        return shapes

    def _bound(self, args: Any, kwargs: Any) -> dict[str, Any]:
        signature = self._parameters.signature
        if signature is None:
            return {}
        try:
            return signature.bind(*args, **kwargs).arguments
        except TypeError:
            return {}  # the call itself raises Python's own message

    def _check_arguments(self, args: Any, kwargs: Any, where: dict) -> None:
        if not self._parameters.specs:
            return
        bound: dict[str, tuple[int, str]] = {}
        for name, value in self._bound(args, kwargs).items():
            want = self._parameters.specs.get(name)
            if want is not None and value is not None:
                check_argument(self.__name__, name, want, as_tensor(value), bound, where)

    def _explain(self, group: _Group, flat: Flat, why: str | None) -> str:
        if why is None:
            if not group.entries:
                why = "the first call with these kinds of arguments" if self.reasons else "the first call"
            elif flat.numbers and not any(all(map(same_value, flat.numbers, seen)) for seen in group.numbers):
                why = "a number has a new value"
            elif about_gradients := group.entries[0].core.misfit(flat.tensors):
                why = about_gradients
            else:
                why = "sizes or element types are new: " + ", ".join(t._type_text for t in flat.tensors)
        return why

    # --- looking inside -----------------------------------------------------------------------------

    def _entry(self, specs: Sequence[TensorSpec] | None = None) -> _Entry:
        if specs is None and self._last is not None:
            return self._last
        return self._from_specs(specs)

    @property
    def graph(self) -> Any:
        """The tensor graph of the last call, or of the annotations if there was none."""
        return self._entry().core.graph

    @property
    def executable(self) -> Any:
        """The compiled program of the last call, or of the annotations if there was none."""
        return self._entry().core.executable

    def show(self, level: str = "tensor", *, file: Any = None, specs: Sequence[TensorSpec] | None = None) -> str:
        """Prints the function at a level, and returns the text: "tensor", "tile", "schedule", "loop",
        "loop.lowered", "exec", "c", "llvm" or "asm"."""
        entry = self._entry(specs)
        if level == "tensor":
            text = str(entry.core.graph)
        elif level in ("tile", "schedule", "loop", "loop.lowered", "exec", "c", "llvm", "asm"):
            text = entry.core.executable.text(level, {})
        else:
            raise Error(
                "there is no such level",
                op="show",
                expected="tensor, tile, schedule, loop, loop.lowered, exec, c, llvm or asm",
                got=str(level),
                **caller(),
            )
        print(text, file=file)
        return text

    def get_code(
        self,
        backend: str = "cpu",
        *,
        lang: str = "c",
        specs: Sequence[TensorSpec] | None = None,
        target: str = "",
    ) -> str:
        """The generated code: C, LLVM IR (``lang="llvm"``) or assembly (``lang="asm"``).

        Shapes are those of the last call, of `specs`, or of the annotations, in this order of preference:
        specs, last call, annotations. Bare ``pypto.Tensor`` parameters have float32 elements, symbolic
        sizes, and the rank that their use implies (two where nothing implies one).
        """
        if backend != "cpu":
            known = ("cuda", "rocm", "oneapi", "opencl", "tpu")
            message = "this backend is not available in this version" if backend in known else "there is no such backend"
            raise Error(message, op="get_code", expected="cpu", got=str(backend), **caller())
        if lang not in ("c", "llvm", "asm"):
            raise Error("there is no such language", op="get_code", expected="c, llvm or asm", got=str(lang), **caller())
        entry = self._entry(specs)
        executable = entry.core.executable
        if target:
            executable = _core.compile_graph(entry.core.graph, self._passes_off, target)
        return executable.text(lang, {})

    def with_schedule(self, text: str) -> Compiled[P, R]:
        """The same function with a kernel's schedule replaced by `text` (as ``show("schedule")`` prints
        it). An invalid schedule is refused with the reason."""
        entry = self._entry()
        scheduled = copy.copy(entry)
        scheduled.core = entry.core.with_executable(entry.core.executable.with_schedule(text))
        result = type(self)(self._fn, passes_off=self._passes_off, target=self._target)
        result._schedules = text
        result._groups = {skeleton: _Group(group, entry, scheduled) for skeleton, group in self._groups.items()}
        result._last = scheduled
        return result

    def _from_specs(self, specs: Sequence[TensorSpec] | None) -> _Entry:
        parameters = self._parameters
        names = [n for n in parameters.names]
        if specs is not None:
            if len(specs) != len(names):
                raise Error(
                    "there must be one specification for each parameter",
                    op=self.__name__,
                    expected=f"{len(names)}: {', '.join(names)}",
                    got=str(len(specs)),
                    **caller(),
                )
            return self._trace_specs(names, list(specs))
        wanted: list[TensorSpec | None] = []
        for n in names:
            if n in parameters.specs:
                wanted.append(parameters.specs[n])
            elif n in parameters.bare or parameters.signature.parameters[n].annotation is parameters.signature.empty:  # type: ignore[union-attr]
                wanted.append(None)
            else:
                raise Error(
                    f"nothing is known about parameter {n}; call the function first, or give specs",
                    op=self.__name__,
                    **caller(),
                )
        failure: Exception | None = None
        for given in _rankings(wanted):
            try:
                return self._trace_specs(names, given)
            except Exception as e:  # also what the function raises where a rank is not the one it expects
                failure = failure or e
        assert failure is not None
        raise failure

    def _trace_specs(self, names: list[str], specs: list[TensorSpec]) -> _Entry:
        tracer = Tracer()
        with tracer:
            sizes = Sizes(tracer)
            args = []
            for name, want in zip(names, specs):
                if want.shape is None:
                    raise Error(f"the rank of {name} is not known", op=self.__name__, got=str(want), **caller())
                shape = [
                    s if isinstance(s, int) else sizes.size(s, tracer.fresh_name(s) if s not in sizes.known else "", None)
                    for s in want.shape
                ]
                args.append(tracer.argument(name, want.dtype or float32, shape))
            entry = self._build(tracer, args, {}, [], [])
        self._groups.setdefault(("t",) * len(args), _Group()).entries.append(entry)
        return entry


def _rankings(wanted: list[TensorSpec | None]) -> Any:
    """The specifications with ranks for bare tensors: two first, then what is near it."""
    free = [i for i, w in enumerate(wanted) if w is None]
    options = sorted(itertools.product((2, 3, 1, 4, 0), repeat=len(free)), key=lambda r: sum(abs(x - 2) for x in r))
    for ranks in itertools.islice(options, 700):
        given = list(wanted)
        for i, rank in zip(free, ranks):
            given[i] = TensorSpec(tuple(f"n{i}_{d}" for d in range(rank)), float32)
        yield given


def _core_fault(message: str, program: str) -> Exception:
    from ._errors import internal_error

    return internal_error(message, "jit", program)


class Jit(Compiled[P, R]):
    """What ``pypto.jit`` makes of a function."""


class Kernel(Compiled[P, R]):
    """What ``pypto.kernel`` makes of a function."""


def _decorator(cls: type, fn: Any, options: dict) -> Any:
    if fn is None:
        return lambda f: cls(f, **options)
    return cls(fn, **options)


@overload
def jit(fn: Callable[P, R], *, passes_off: Sequence[str] = ..., target: str = ...) -> Jit[P, R]: ...
@overload
def jit(fn: None = None, *, passes_off: Sequence[str] = ..., target: str = ...) -> Callable[[Callable[P, R]], Jit[P, R]]: ...
def jit(fn: Any = None, *, passes_off: Sequence[str] = (), target: str = "") -> Any:
    """Compiles a function over tensors, modules, numbers and containers of them, at its first call.

    ``passes_off`` names passes to leave out; ``target`` restricts the instruction set ("avx2", "sse").
    """
    return _decorator(Jit, fn, {"passes_off": passes_off, "target": target})


@overload
def kernel(fn: Callable[P, R], *, passes_off: Sequence[str] = ..., target: str = ...) -> Kernel[P, R]: ...
@overload
def kernel(fn: None = None, *, passes_off: Sequence[str] = ..., target: str = ...) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def kernel(fn: Any = None, *, passes_off: Sequence[str] = (), target: str = "") -> Any:
    """Compiles one operator as a unit whose code can be read and exported (``get_code``)."""
    return _decorator(Kernel, fn, {"passes_off": passes_off, "target": target})
