"""Runs a program at all levels and compares: bits where they must agree, else within what roundings explain."""

from __future__ import annotations

from typing import Any

import numpy as np
from programs import EPS, Program, Wide

import pypto as pto
from pypto import _core
from pypto._tracing import Tracer


def bits_equal(got: np.ndarray, want: np.ndarray) -> bool:
    """The same bits, or both not a number."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype.kind in "biu":
        return bool(np.array_equal(got, want))
    raw = f"u{got.dtype.itemsize}"
    same = np.ascontiguousarray(got).view(raw) == np.ascontiguousarray(want).view(raw)
    return bool(np.all(same | (np.isnan(got) & np.isnan(want))))


def distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How far apart: 0 for what is the same, infinite where one is a number and the other is not."""
    far = np.abs(x - y)
    return np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0, np.where(np.isnan(far), np.inf, far))


class Expected:
    """What a program gives by the interpreter of tensor graphs, and how far each result may be from it."""

    def __init__(self, program: Program, graph: Any, tensors: list[Any]) -> None:
        self.program = program
        self.values = [t.numpy() for t in graph.interpret(tensors)]
        self.errors = self._errors(tensors)

    def _errors(self, tensors: list[Any]) -> list[np.ndarray]:
        """By float64, and by float64 with a rounding's noise on every result."""
        program = self.program
        tracer = Tracer()
        with tracer:
            start = [tracer.argument("v", t.dtype, t.shape) for t in tensors]
            values = [v.astype("float64") if v.dtype.is_floating else v for v in start]
            shapes = [program.shapes[i] for i in program.rounded]
            noise = [tracer.argument("n", "float64", s) for s in shapes]
            Wide(values, program, noise).run(program.calls)
            graph = tracer.core.finish([values[i] for i in program.outputs], "wide")
        rng = np.random.default_rng(len(program.calls))
        runs = []
        for scale in (0, 2, 2):
            drawn = [
                pto.asarray(1 + scale * EPS[program.dtypes[i]] * rng.uniform(-1, 1, s)) for i, s in zip(program.rounded, shapes)
            ]
            runs.append([t.numpy() for t in graph.interpret([*tensors, *drawn])])
        errors = []
        with np.errstate(all="ignore"):
            for i, own, true, *noisy in zip(program.outputs, self.values, *runs):
                if own.dtype.kind in "biu" or program.exact[i]:
                    errors.append(np.zeros(own.shape))
                    continue
                own = own.astype(np.float64)
                eps = EPS[program.dtypes[i]]
                spread = np.max([distance(x, true) for x in (own, *noisy)], axis=0)
                largest = np.max(spread, initial=0, where=np.isfinite(spread))
                near = np.abs(np.where(np.isfinite(own), own, 0))
                errors.append(np.where(np.isinf(spread), np.inf, 30 * largest + 16 * eps * near))
        return errors

    def check(self, got: list[Any], what: str) -> None:
        for at, (i, g, want, error) in enumerate(zip(self.program.outputs, got, self.values, self.errors)):
            g = g.numpy()
            kinds = f"{g.dtype}{g.shape}", f"{want.dtype}{want.shape}"
            assert kinds[0] == kinds[1], f"{what}: result {at} is {kinds[0]}, not {kinds[1]}"
            with np.errstate(all="ignore"):
                integers = g.dtype.kind in "biu"
                fine = g == want if integers else distance(g.astype(np.float64), want.astype(np.float64)) <= error
            if not np.all(fine):
                where = np.unravel_index(np.argmin(fine), fine.shape)
                raise AssertionError(
                    f"{what}: v{i} {[int(w) for w in where]} is {g[where]!r}, not {want[where]!r}, within {error[where]:.3g} "
                    f"({np.count_nonzero(~fine)} of {fine.size})"
                )


def same_bits(got: list[Any], want: list[Any], what: str) -> None:
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        g, w = g.numpy(), w.numpy()
        if not bits_equal(g, w):
            shown = [pair for pair in zip(g.flat, w.flat) if pair[0] != pair[1]][:3]
            raise AssertionError(f"{what}: result {i} has other bits: {g.dtype}{g.shape}, {w.dtype}{w.shape}, {shown}")


GRAPH_PASSES = [name for name, _ in _core.graph_passes()] + ["fuse"]
LOOP_PASSES = [name for name, _ in _core.loop_passes()]
# What decides the bits, and what the code needs, stays: without them kernels are refused.
OPTIONAL = [p for p in LOOP_PASSES if p not in ("expand_math", "vectorise", "unroll", "flatten")]


# What other sizes than those of the trace may rightly meet; levels differ in how much they know of it.
ERRORS = ["out of range", "the sizes are not those that this"]


class Levels:
    """One compiled program, and the checks that may be made of it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.tensors = [pto.from_numpy(x) for x in program.arrays()]
        self.jit = pto.jit(program.function())
        self.got = list(self.jit(*self.tensors))
        self.graph, self.executable = self.jit.graph, self.jit.executable
        self.expected = Expected(program, self.graph, self.tensors)
        self.expected.check(self.got, "compiled")

    def lazy(self) -> list[str]:
        """The rows that lazy evaluation has beside those of the trace."""
        got = list(self.program.run(self.tensors))
        rows = [t._row for t in (*self.tensors, *got)]
        pto.materialise(*got)
        self.expected.check(got, "lazy")
        return rows

    def tile(self) -> None:
        self.expected.check(self.executable.interpret(self.tensors), "tile level, interpreted")

    def graph_text(self) -> None:
        parsed = _core.Graph.parse(str(self.graph))
        assert str(parsed) == str(self.graph)
        same_bits(_core.compile_graph(parsed).run(self.tensors, {}), self.got, "the graph's text")

    def exec_text(self) -> None:
        parsed = _core.Executable.parse(str(self.executable))
        assert str(parsed) == str(self.executable)
        same_bits(parsed.run(self.tensors, {}), self.got, "the program's text")

    def text(self, level: str) -> None:
        """The text of a level runs natively and, below the definitions of kernels, interpreted: all with the same bits."""
        text = self.executable.text(level, {})
        parsed = _core.Executable.parse(text)
        assert str(parsed) == text
        same_bits(parsed.run(self.tensors, {}), self.got, f"text of {level}")
        if level != "tile":
            same_bits(parsed.interpret(self.tensors), self.got, f"{level}, interpreted")

    def without(self, name: str) -> None:
        got = _core.compile_graph(self.graph, [name]).run(self.tensors, {})
        self.expected.check(got, f"without {name}")
        if name in LOOP_PASSES:
            same_bits(got, self.got, f"without {name}")

    def narrow(self, target: str) -> None:
        self.expected.check(_core.compile_graph(self.graph, [], target).run(self.tensors, {}), target)

    def other_sizes(self, sizes: dict[int, int]) -> bool:
        """The same program with other values of its named sizes; False if its guards do not hold for them, or
        indices are out of range, which then is an error at all levels."""
        tensors = [pto.from_numpy(x) for x in self.program.arrays(sizes)]
        runs = [lambda: self.graph.interpret(tensors), lambda: self.executable.run(tensors, {})]
        runs.append(lambda: self.executable.interpret(tensors))
        results, errors = [], []
        for run in runs:
            try:
                results.append([t.numpy() for t in run()])
            except pto.Error as e:
                errors.append(next((kind for kind in ERRORS if kind in e.message), e.message))
        if errors:
            assert len(errors) == 3 and len(set(errors)) == 1, errors
            return False
        for number, *values in zip(self.program.outputs, *results, strict=True):
            for v in values[1:]:
                assert v.shape == values[0].shape and v.dtype == values[0].dtype
                if self.program.exact[number]:
                    assert np.array_equal(v, values[0], equal_nan=v.dtype.kind not in "biu"), f"v{number} with sizes {sizes}"
        return True


def graph_rows(graph: Any) -> list[str]:
    return [node[0] for node in graph.nodes]
