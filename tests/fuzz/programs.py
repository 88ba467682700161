"""Random tensor programs as data: inputs, and calls of public functions on what came before.

A program runs lazily, inside a trace, with other sizes, or wide: all floats in float64, with noise of a
rounding's size on each result, which tells how far roundings may move the results.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

import pypto as pto
from pypto._functions import functions

FLOATS = ("float16", "bfloat16", "float32", "float64")
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


@dataclass(frozen=True)
class Ref:
    """A value: an input, or a result of a call."""

    number: int

    def __repr__(self) -> str:
        return f"v{self.number}"


@dataclass(frozen=True)
class Dim:
    """The size of an axis of a value."""

    number: int
    axis: int

    def __repr__(self) -> str:
        return f"v{self.number}.shape[{self.axis}]"


@dataclass(frozen=True)
class Product:
    """A product of sizes."""

    sizes: tuple[Any, ...]


@dataclass
class Input:
    dtype: str
    shape: tuple[int, ...]
    layout: str  # "plain", "reversed", "transposed", "doubled" or "repeated"
    domain: str  # "digits", "real", "special", "unit", "extreme"
    seed: int

    def array(self, shape: tuple[int, ...]) -> np.ndarray:
        """Elements at the strides that the layout says."""
        rng = np.random.default_rng([self.seed, *shape])
        kind = np.dtype(ml_dtypes.bfloat16) if self.dtype == "bfloat16" else np.dtype(self.dtype)
        made = list(shape)
        if self.layout == "repeated":
            made[0] = min(made[0], 1)
        x = np.asarray(elements(rng, self.domain, kind, made)).astype(kind)
        if self.layout == "repeated":
            return np.broadcast_to(x, shape)
        if self.layout == "reversed":
            return np.ascontiguousarray(x[::-1, ...])[::-1, ...]
        if self.layout == "transposed":
            return np.ascontiguousarray(x.T).T
        if self.layout == "doubled":
            return np.ascontiguousarray(np.repeat(x, 2, axis=-1))[..., ::2]
        return x


def elements(rng: np.random.Generator, domain: str, kind: np.dtype, shape: list[int]) -> np.ndarray:
    if kind == np.bool_:
        return rng.integers(0, 2, shape)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        if domain == "extreme":
            return rng.choice(np.array([info.min, info.min + 1, 0, 1, 3, info.max], kind), shape)
        return rng.integers(max(info.min, -8), 9, shape)
    if domain == "special":
        return rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5, 1e-3], shape)
    if domain == "digits":
        return rng.integers(-8, 9, shape) / 4.0
    if domain == "unit":
        return rng.uniform(0.05, 0.95, shape)
    return rng.normal(0, 2, shape)


@dataclass
class Call:
    """A function of the table with its arguments, or control flow with its bodies."""

    name: str
    args: list[Any] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    bodies: list[Body] = field(default_factory=list)
    results: int = 1

    def __repr__(self) -> str:
        parts = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.named.items()]
        inner = "".join("\n    " + repr(b).replace("\n", "\n    ") for b in self.bodies)
        return f"{self.name}({', '.join(parts)}){inner}"


@dataclass
class Body:
    """A function inside control flow: parameters, then values of the program around it, then calls."""

    parameters: int
    captured: list[int]
    calls: list[Call]
    outputs: list[int]

    def __repr__(self) -> str:
        head = f"body of {self.parameters}, captured {self.captured}:"
        return "\n".join([head, *[f"  {c!r}" for c in self.calls], f"  gives {self.outputs}"])

    def run(self, parameters: list[Any], outer: list[Any]) -> list[Any]:
        values = [*parameters, *[outer[i] for i in self.captured]]
        Runner(values).run(self.calls)
        return [values[i] for i in self.outputs]


# --- running -----------------------------------------------------------------------------------------

# Draws differ between types, and bits mean something in one type only: made as they are, widened after.
AS_THEY_ARE = {"bitcast", "random_bits", "uniform", "normal", "randint", "bernoulli", "dropout", "categorical"}


def doubled(x: Any) -> Any:
    """A pure foreign function."""
    return x + x


class Runner:
    """Appends the results of calls to the values."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def argument(self, x: Any) -> Any:
        if isinstance(x, Ref):
            return self.values[x.number]
        if isinstance(x, Dim):
            return self.values[x.number].shape[x.axis]
        if isinstance(x, Product):
            return functools.reduce(operator.mul, self.argument(x.sizes), 1)
        if isinstance(x, (tuple, list)):
            return type(x)(self.argument(v) for v in x)
        return x

    def call(self, c: Call) -> list[Any]:
        args = [self.argument(a) for a in c.args]
        named = {k: self.argument(v) for k, v in c.named.items()}
        out = CONTROL[c.name](c, args, named, self.values) if c.name in CONTROL else functions[c.name](*args, **named)
        return list(out) if isinstance(out, (tuple, list)) else [out]

    def run(self, calls: list[Call]) -> None:
        for c in calls:
            self.values += self.call(c)


def run_cond(c: Call, args: list, named: dict, values: list) -> Any:
    then, otherwise = c.bodies
    return pto.cond(args[0], lambda *xs: then.run(list(xs), values)[0], lambda *xs: otherwise.run(list(xs), values)[0], *args[1:])


def run_while(c: Call, args: list, named: dict, values: list) -> Any:
    (body,) = c.bodies
    limit, state = args
    start = pto.zeros((), "int64")
    return pto.while_loop(lambda i, x: i < limit, lambda i, x: (i + 1, body.run([x], values)[0]), (start, state))


def run_scan(c: Call, args: list, named: dict, values: list) -> Any:
    (body,) = c.bodies

    def step(carry: Any, x: Any) -> tuple:
        out = body.run([carry, x], values)
        return out[0], out[1]

    return pto.scan(step, args[0], args[1], **named)


def run_foreign(c: Call, args: list, named: dict, values: list) -> Any:
    x = args[0]
    function = pto.foreign(lambda t: doubled(t.numpy()), lambda t: pto.TensorSpec(t.shape, t.dtype), name="doubled")
    return function(x)


def run_operator(c: Call, args: list, named: dict, values: list) -> Any:
    """Python's operators, slices and assignment."""
    return OPERATORS[c.name](*args, **named)


def assigned(x: Any, value: Any, at: int) -> Any:
    y = x.copy()
    y[at] = value
    return y


OPERATORS: dict[str, Callable[..., Any]] = {
    "x[i]": lambda x, i: x[i],
    "x[a:b:c]": lambda x, a, b, c: x[a:b:c],
    "x[..., ::c]": lambda x, c: x[..., ::c],
    "x[i]=": lambda x, value, at: assigned(x, value, at),
    "x.T": lambda x: x.mT,
    "x+number": lambda x, n: x + n,
    "number-x": lambda x, n: n - x,
    "x*number": lambda x, n: x * n,
    "tensor(size)": lambda n: pto.asarray(n),
}
CONTROL: dict[str, Callable[..., Any]] = {
    "cond": run_cond,
    "while_loop": run_while,
    "scan": run_scan,
    "foreign": run_foreign,
    **{name: run_operator for name in OPERATORS},
}


class Wide(Runner):
    """Floats in float64, each result moved by its noise: a unit of the type that it would have had."""

    def __init__(self, values: list[Any], program: Program, noise: list[Any]) -> None:
        super().__init__(values)
        self.program, self.noise = program, noise

    def run(self, calls: list[Call]) -> None:
        for c in calls:
            number = len(self.values)
            for i, x in enumerate(self.call(widened(c, self.program, self.values, number))):
                if x.dtype.is_floating:
                    x = x.astype("float64")
                    if number + i in self.program.rounded:
                        x = x * self.noise[self.program.rounded.index(number + i)]
                self.values.append(x)


def widened(c: Call, program: Program, values: list[Any], number: int) -> Call:
    """The call with its types of floats changed; what must keep its types gets its operands in them."""
    if c.name in AS_THEY_ARE:
        narrow = [functions["astype"](v, program.dtypes[i]) if i < number else v for i, v in enumerate(values)]
        return Call(c.name, Runner(narrow).argument(c.args), Runner(narrow).argument(c.named))
    change = lambda v: "float64" if isinstance(v, str) and v in FLOATS else v  # noqa: E731
    named = {k: change(v) for k, v in c.named.items()}
    bodies = [Body(b.parameters, b.captured, [widened(k, program, [], 0) for k in b.calls], b.outputs) for b in c.bodies]
    return Call(c.name, [change(a) for a in c.args], named, bodies)


@dataclass
class Program:
    made: str = ""  # what makes it again
    inputs: list[Input] = field(default_factory=list)
    symbols: dict[int, str] = field(default_factory=dict)  # sizes that have a name
    calls: list[Call] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)  # of the values
    exact: list[bool] = field(default_factory=list)  # whether all levels must agree in the value's bits
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    rounded: list[int] = field(default_factory=list)  # results of calls that are floats, and not exact

    def __repr__(self) -> str:
        lines = [self.made, f"sizes {self.symbols}"]
        lines += [f"v{i} = {x.dtype}{list(x.shape)} {x.layout} {x.domain} {x.seed}" for i, x in enumerate(self.inputs)]
        number = len(self.inputs)
        for c in self.calls:
            own = range(number, number + c.results)
            kinds = ", ".join(f"{self.dtypes[n]}{list(self.shapes[n])}{'' if self.exact[n] else ' rounded'}" for n in own)
            lines.append(f"{', '.join(f'v{n}' for n in own)} = {c!r}    # {kinds}")
            number += c.results
        return "\n".join([*lines, f"gives {self.outputs}"])

    def run(self, tensors: Any) -> tuple:
        values = list(tensors)
        Runner(values).run(self.calls)
        return tuple(values[i] for i in self.outputs)

    def arrays(self, sizes: dict[int, int] | None = None) -> list[np.ndarray]:
        """The inputs' elements, with other sizes in place of the named ones."""
        sizes = sizes or {}
        return [x.array(tuple(sizes.get(n, n) for n in x.shape)) for x in self.inputs]

    def function(self) -> Any:
        """A function with one parameter for each input, annotated with the names of sizes."""
        names = [f"v{i}" for i in range(len(self.inputs))]
        scope: dict[str, Any] = {"program": self}
        exec(f"def fuzzed({', '.join(names)}):\n    return program.run([{', '.join(names)}])", scope)
        function = scope["fuzzed"]
        for name, x in zip(names, self.inputs):
            shape = tuple(self.symbols.get(n, n) for n in x.shape)
            function.__annotations__[name] = pto.spec(shape, x.dtype)
        return function
