"""Makes random programs: draws functions of the table, and arguments that fit them.

Comparisons, roundings and indices turn the last bit of an operand into another result. They are given
values only that all levels compute alike ("exact": integers, and floats that were moved but not computed
with), and functions with poles and edges are given computed values only in the middle of their domain.
"""

from __future__ import annotations

import inspect
import math
from random import Random
from typing import Any

from calls import (
    BODY,
    JUMPS,
    ROUNDING,
    SINGLE,
    TEMPLATES,
    Template,
)
from hypothesis import strategies as st
from programs import CONTROL, FLOATS, OPERATORS, Body, Call, Dim, Input, Product, Program, Ref, Runner

import pypto as pto
from pypto._functions import signature_of
from pypto._tracing import Tracer

KINDS = {
    "b": ["bool"],
    "i": ["int8", "int16", "int32", "int64"],
    "u": ["uint8", "uint16", "uint32", "uint64"],
    "f": list(FLOATS),
}
SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 19, 31, 32, 33, 47, 64, 65, 67]
MOST_ELEMENTS = 3000
TABLE = {f["name"]: f for f in pto.function_table()}
SIGNATURES = {name: signature_of(f["signature"]) for name, f in TABLE.items()}
MISFITS: list[str] = []  # arguments that a function refused: few, or the rules here are wrong
NAMES = sorted(TABLE) + ["cond", "while_loop", "scan", "foreign"] * 2 + sorted(OPERATORS)


def needed_tensors(name: str) -> int:
    return sum("Tensor" in p.annotation and p.default is p.empty for p in SIGNATURES[name].parameters.values())


def kind_of(dtype: str) -> str:
    return next(k for k, names in KINDS.items() if dtype in names)


class Refused(Exception):
    """The program has nothing that the function could take."""


class Maker:
    """A program in the making; its values exist as placeholders of a trace, for their types."""

    def __init__(self, random: Random, program: Program, dims: list[int], closed: bool = False) -> None:
        self.random, self.program, self.dims = random, program, dims
        self.closed = closed  # a body: it has no inputs of its own
        self.values: list[Any] = []
        self.tracer = Tracer()

    # --- draws ----------------------------------------------------------------------------------------

    def number(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def chance(self, percent: int) -> bool:
        return self.random.random() * 100 < percent

    def pick(self, items: Any) -> Any:
        items = list(items)
        if not items:
            raise Refused
        return self.random.choice(items)

    def dtype(self, kinds: str) -> str:
        return self.pick(KINDS[self.pick(kinds)])

    # --- values ---------------------------------------------------------------------------------------

    def shape(self, i: int) -> tuple[int, ...]:
        return self.program.shapes[i]

    def kind(self, i: int) -> str:
        return kind_of(self.program.dtypes[i])

    def add(self, value: Any, exact: bool) -> int:
        self.values.append(value)
        self.program.dtypes.append(value.dtype.name)
        self.program.shapes.append(tuple(value.shape))
        self.program.exact.append(exact)
        return len(self.values) - 1

    def size(self, n: int) -> Any:
        """A size as an argument: taken from a value if there is one that has it."""
        where = [Dim(i, d) for i, s in enumerate(self.program.shapes) for d, m in enumerate(s) if m == n]
        return self.pick(where) if where and (n in self.program.symbols or self.chance(50)) else n

    def new_input(self, shape: tuple[int, ...], dtype: str) -> int:
        # Inputs come before all calls: their numbers are settled at the end.
        if self.closed:
            raise Refused
        layouts = ["plain"] * 3 + (["reversed", "transposed", "doubled", "repeated"] if shape else [])
        domains = ["digits", "real", "unit"] * 3 + ["special"] if kind_of(dtype) == "f" else ["digits", "digits", "extreme"]
        made = Input(dtype, shape, self.pick(layouts), self.pick(domains), self.number(0, 1 << 30))
        value = self.tracer.argument("v", dtype, shape)
        self.program.calls.append(Call("input", [made]))
        return self.add(value, exact=True)

    def any_shape(self, least: int = 0, most: int = 4) -> tuple[int, ...]:
        rank = self.number(least, most)
        shape = tuple(self.pick(self.dims) for _ in range(rank))
        while math.prod(shape) > MOST_ELEMENTS:
            shape = tuple(min(s, 4) if s == max(shape) else s for s in shape)
        return shape

    def value(self, kinds: str, *, ranks: tuple[int, int] = (0, 5), exact: bool = False, fits: Any = None) -> int:
        """One of the values, or a new input."""
        known = [
            i
            for i, s in enumerate(self.program.shapes)
            if self.kind(i) in kinds
            and ranks[0] <= len(s) <= ranks[1]
            and (self.program.exact[i] or not exact)
            and (fits is None or fits(s))
        ]
        if known and self.chance(85):
            return self.pick(known[-8:] if self.chance(70) else known)
        shape = self.any_shape(max(0, ranks[0]), min(4, ranks[1]))
        if fits is not None and not fits(shape):
            raise Refused
        return self.new_input(shape, self.dtype(kinds))

    def operand(self, shape: tuple[int, ...], kinds: str, dtype: str | None = None, exact: bool = False) -> int:
        """A value of the shape: one there is, one made from another, or a new input."""
        usable = [
            i
            for i in range(len(self.values))
            if (self.program.dtypes[i] == dtype if dtype else self.kind(i) in kinds) and (self.program.exact[i] or not exact)
        ]
        same = [i for i in usable if self.shape(i) == shape]
        if same and self.chance(80):
            return self.pick(same)
        full = [i for i in usable if 0 < math.prod(self.shape(i))]
        if full and 0 < math.prod(shape) and self.chance(60):
            return self.fit(self.pick(full), shape)
        return self.new_input(shape, dtype or self.dtype(kinds))

    def fit(self, i: int, shape: tuple[int, ...]) -> int:
        """The elements of a value, as often as the shape wants."""
        sizes = tuple(self.size(n) for n in shape)
        own = Product(tuple(Dim(i, d) for d in range(len(self.shape(i)))))
        flat = self.emit("reshape", [Ref(i), (-1,)])
        at = self.emit("arange", [Product(sizes)])
        at = self.emit("remainder", [Ref(at), own])
        return self.emit("reshape", [Ref(self.emit("take", [Ref(flat), Ref(at)], {"axis": 0})), sizes])

    def index(self, shape: tuple[int, ...], limit: int) -> int:
        """Integers below a size."""
        if limit == 0:
            raise Refused
        i = self.operand(shape, "i", exact=True)
        if self.program.dtypes[i] not in ("int32", "int64"):
            i = self.emit("astype", [Ref(i), "int64"])
        return self.emit("remainder", [Ref(i), self.size(limit)])

    def into(self, i: int, domain: str) -> int:
        """A computed float in the middle of a domain, by functions without jumps; others as they are."""
        if self.kind(i) != "f" or (self.program.exact[i] and self.chance(50)):
            return i
        if domain == "unit":
            return self.emit("x*number", [Ref(self.emit("softsign", [Ref(i)])), 0.875])
        if domain == "probability":
            return self.emit("x+number", [Ref(self.emit("x*number", [Ref(self.emit("sigmoid", [Ref(i)])), 0.875])), 0.0625])
        i = self.emit("clip", [Ref(i)], {"min": -6.0, "max": 6.0})
        if domain in ("positive", "nonzero", "digits", "special"):
            return self.emit("x+number", [Ref(self.emit("abs", [Ref(i)])), 0.25])
        return i

    # --- calls ----------------------------------------------------------------------------------------

    def emit(self, name: str, args: list[Any], named: dict[str, Any] | None = None, bodies: list[Body] | None = None) -> int:
        """Adds a call; the number of its first result. Refuses what would turn roundings into jumps."""
        call = Call(name, args, named or {}, bodies or [])
        used = refs(args) + refs(list(call.named.values())) + [i for b in call.bodies for i in b.captured]
        exact = all(self.program.exact[i] for i in used)
        if not exact and name in JUMPS:
            raise Refused
        try:
            out = Runner(self.values).call(call)
        except pto.Error as e:
            MISFITS.append(f"{self.program.dtypes} {self.program.shapes} {call!r}: {e}")
            raise Refused from None
        call.results = len(out)
        for o in out:
            if math.prod(o.shape) > 8 * MOST_ELEMENTS or len(o.shape) > 6:
                raise Refused
            if not exact and not o.dtype.is_floating:
                raise Refused
        self.program.calls.append(call)
        computes = name in ROUNDING or (name in TABLE and not TABLE[name]["test"]["exact"]) or bool(bodies)
        for o in out:
            self.add(o, exact=exact and not (computes and o.dtype.is_floating))
        return len(self.values) - len(out)

    def step(self, name: str) -> None:
        """Draws arguments for a function, and adds its call."""
        if name in CONTROL:
            getattr(self, CONTROL_DRAWS.get(name, "draw_operator"))(name)
        elif name in TEMPLATES:
            self.draw_template(name, self.pick(TEMPLATES[name]))
        elif needed_tensors(name) > 1:
            self.draw_template(name, Template(" ".join(["mk"] * needed_tensors(name))))
        else:
            self.draw_single(name)

    def draw_single(self, name: str) -> None:
        """A function of one tensor, or of none."""
        named: dict[str, Any] = {}
        x = None
        if "x" in SIGNATURES[name].parameters:
            rule = SINGLE.get(name)
            test = TABLE[name]["test"]
            fits = (lambda s: 0 not in s) if name in NONEMPTY else rule and rule.fits
            x = self.value(test["dtypes"], ranks=rule.ranks if rule else (0, 5), exact=name in JUMPS, fits=fits)
            if rule and rule.known and self.shape(x)[0] in self.program.symbols:
                raise Refused
            x = self.into(x, test["domains"][0])
        rule = SINGLE.get(name)
        if rule and rule.arguments:
            named |= rule.arguments(self, x)
        for key, p in SIGNATURES[name].parameters.items():
            if key in named or key == "x":
                continue
            drawn = self.option(name, key, p, x)
            if drawn is not None:
                named[key] = drawn
        self.emit(name, [] if x is None else [Ref(x)], named)

    def option(self, name: str, key: str, p: inspect.Parameter, x: int | None) -> Any:
        """A parameter that may be left out: None leaves it out."""
        if p.default is not p.empty and self.chance(35):
            return None
        if key in ("keepdims", "reverse", "descending", "stable", "largest", "endpoint", "equal_nan"):
            return self.chance(50)
        if key == "axis" and x is not None:
            rank = len(self.shape(x))
            if not rank or (p.default is None and self.chance(25)):
                return None
            if "tuple" in str(p.annotation) and rank > 1 and self.chance(30):
                return (0, rank - 1)
            d = self.number(0, rank - 1)
            return d - rank if self.chance(40) else d
        if key == "dtype":
            kind = self.kind(x) if x is not None else "f"
            return self.dtype("f" if kind == "f" else "iu") if name not in ("zeros_like", "ones_like", "astype") else None
        return None

    def draw_template(self, name: str, template: Template) -> None:
        test = TABLE[name]["test"]
        letters: dict[str, int] = {}
        for c in template.shapes:
            if c.isalpha() and c not in letters:
                letters[c] = self.pick([n for n in self.dims if n >= template.least.get(c, 0)] or [template.least.get(c, 0)])
        groups = template.tokens()
        while True:
            shapes = [tuple(letters.get(c) if c.isalpha() else int(c) for c in t.partition("<")[0] if c != "_") for t in groups]
            work = max([math.prod(s) for s in shapes] + [math.prod(letters.values())])
            if work <= 4 * MOST_ELEMENTS or max(letters.values(), default=0) <= 3:
                break
            largest = max(letters, key=lambda c: letters[c])
            letters[largest] = max(template.least.get(largest, 0), 2)
            if letters[largest] > 3:
                break
        parameters = SIGNATURES[name].parameters
        tensors = [k for k, p in parameters.items() if "Tensor" in p.annotation or p.kind == p.VAR_POSITIONAL]
        operands: list[int] = []
        dtype: str | None = None
        position = 0
        named: dict[str, Any] = {}
        args: list[Any] = []
        for token, shape in zip(groups, shapes):
            slot = min(position, len(tensors) - 1)
            domain = test["domains"][min(slot, len(test["domains"]) - 1)]
            numeric = "float" in parameters[tensors[slot]].annotation
            if "<" in token:
                i: Any = Ref(self.index(shape, letters[token.partition("<")[2]]))
            elif domain == "uint64":
                i = Ref(self.operand(shape, "u", "uint64"))
            elif domain == "bool":
                i = Ref(self.operand(shape, "b"))
            elif operands and numeric and self.chance(20):
                i = self.pick([0, 1, 2, 5] if self.kind(operands[0]) in "iu" else [0.5, 2.0, -1.5]) if dtype != "bool" else True
                if not self.program.dtypes[operands[0]].startswith(("int", "uint")) and isinstance(i, int) and dtype != "bool":
                    i = float(i)
            else:
                exact = name in JUMPS
                number = self.operand(shape, test["dtypes"], dtype if dtype and self.chance(75) else None, exact)
                number = self.matched(number, operands, test["dtypes"], exact)
                number = self.into(number, domain)
                operands.append(number)
                dtype = dtype or self.program.dtypes[number]
                i = Ref(number)
            parameter = parameters[tensors[slot]]
            if parameter.kind == parameter.VAR_POSITIONAL:
                args.append(i)
            elif "tuple[Tensor" in parameter.annotation and token in template.listed:
                named.setdefault(tensors[slot], []).append(i)
                if len(named[tensors[slot]]) < len(template.listed):
                    continue
            else:
                named[tensors[slot]] = i
            position += 1
        for key, v in template.named.items():
            value = v(self, letters) if callable(v) else v
            if key == "spec":
                args.insert(0, value)
            else:
                named[key] = value
        self.emit(name, args, named)

    def matched(self, i: int, others: list[int], kinds: str, exact: bool) -> int:
        """The value, cast where its type has nothing in common with the first operand's."""
        for o in others[:1]:
            own, other = self.program.dtypes[i], self.program.dtypes[o]
            common = pto._core.promote(pto._dtypes.as_dtype(own), pto._dtypes.as_dtype(other))  # type: ignore[attr-defined]
            if common is not None and kind_of(common.name) in kinds:
                return i
            if self.kind(i) == "f" and self.kind(o) != "f" and not self.program.exact[i]:
                raise Refused
            return self.emit("astype", [Ref(i), other])
        return i

    # --- control flow and operators -------------------------------------------------------------------

    def body(self, parameters: list[int], results: list[tuple[tuple[int, ...], str] | None]) -> Body:
        """A function over values like these; results of the given types, or of any where there is None."""
        outer = self
        inner = Maker(self.random, Program(symbols=self.program.symbols), self.dims, closed=True)
        inner.tracer.__enter__()
        try:
            for i in parameters:
                value = inner.tracer.argument("x", self.program.dtypes[i], self.shape(i))
                inner.add(value, exact=self.kind(i) != "f")
            captured = []
            if outer.values and self.chance(40):
                i = self.number(0, len(outer.values) - 1)
                captured.append(i)
                inner.add(inner.tracer.argument("c", self.program.dtypes[i], self.shape(i)), outer.program.exact[i])
            for _ in range(self.number(1, 3)):
                self.attempt(inner, BODY)
            outputs = []
            for want in results:
                fitting = [
                    i
                    for i in range(len(inner.values))
                    if want is None or (inner.shape(i) == want[0] and inner.program.dtypes[i] == want[1])
                ]
                if not fitting:
                    raise Refused
                outputs.append(fitting[-1] if self.chance(80) else self.pick(fitting))
            return Body(len(parameters), captured, inner.program.calls, outputs)
        finally:
            inner.tracer.__exit__()

    @staticmethod
    def attempt(maker: Maker, names: list[str]) -> None:
        """One call, or none: what was begun is taken back."""
        before = len(maker.values), len(maker.program.calls)
        try:
            maker.step(maker.pick(names))
        except Refused:
            for held in (maker.values, maker.program.dtypes, maker.program.shapes, maker.program.exact):
                del held[before[0] :]  # type: ignore[attr-defined]
            del maker.program.calls[before[1] :]

    def draw_cond(self, name: str) -> None:
        flag = self.operand((), "b")
        operands = [self.value("biuf", ranks=(0, 3)) for _ in range(self.number(1, 2))]
        want = [(self.shape(operands[0]), self.program.dtypes[operands[0]])]
        bodies = [self.body(operands, want), self.body(operands, want)]
        self.emit("cond", [Ref(flag), *map(Ref, operands)], {}, bodies)

    def draw_while(self, name: str) -> None:
        x = self.value("biuf", ranks=(0, 3))
        body = self.body([x], [(self.shape(x), self.program.dtypes[x])])
        limit: Any = self.number(0, 4)
        if self.chance(40):
            limit = Ref(self.index((), 5))
        self.emit("while_loop", [limit, Ref(x)], {}, [body])

    def draw_scan(self, name: str) -> None:
        carry = self.value("biuf", ranks=(0, 2))
        xs = self.value("biuf", ranks=(1, 3), fits=lambda s: s[0] <= 20)
        element = self.emit("x[i]", [Ref(xs), 0]) if self.shape(xs)[0] else None
        if element is None:
            raise Refused
        body = self.body([carry, element], [(self.shape(carry), self.program.dtypes[carry]), None])
        self.emit("scan", [Ref(carry), Ref(xs)], {"reverse": self.chance(50)}, [body])

    def draw_foreign(self, name: str) -> None:
        self.emit("foreign", [Ref(self.value("iuf"))])

    def draw_operator(self, name: str) -> None:
        if name == "tensor(size)":
            self.emit(name, [self.size(self.pick(self.dims))])
            return
        if name in ("x+number", "number-x", "x*number"):
            x = self.value("if")
            self.emit(name, [Ref(x), self.pick([2, -1, 3] if self.kind(x) == "i" else [0.5, 3, -2.0])])
            return
        x = self.value("biuf", ranks=(2 if name == "x.T" else 1, 5), fits=lambda s: s[0] > 2)
        if name == "x[i]":
            self.emit(name, [Ref(x), self.number(-3, 2)])
        elif name == "x[a:b:c]":
            a, b = self.number(-3, 3), self.number(-3, 5)
            self.emit(name, [Ref(x), a, b if self.chance(60) else None, self.pick([1, 2, -1, -3])])
        elif name == "x[..., ::c]":
            self.emit(name, [Ref(x), self.pick([2, -1, 3, -2])])
        elif name == "x[i]=":
            self.emit(name, [Ref(x), Ref(self.operand(self.shape(x)[1:], "", self.program.dtypes[x])), self.number(-3, 2)])
        else:
            self.emit(name, [Ref(x)])


CONTROL_DRAWS = {"cond": "draw_cond", "while_loop": "draw_while", "scan": "draw_scan", "foreign": "draw_foreign"}
NONEMPTY = {"max", "min", "argmax", "argmin"}


def refs(x: Any) -> list[int]:
    if isinstance(x, Ref):
        return [x.number]
    if isinstance(x, (tuple, list)):
        return [i for v in x for i in refs(v)]
    return []


def settled(program: Program, made: str) -> Program:
    """Inputs first: they were made where they were needed."""
    starts, number = [], 0
    for c in program.calls:
        starts.append(number)
        number += c.results
    inputs = [k for k, c in enumerate(program.calls) if c.name == "input"]
    others = [k for k, c in enumerate(program.calls) if c.name != "input"]
    new: dict[int, int] = {}
    for k in inputs + others:
        for r in range(program.calls[k].results):
            new[starts[k] + r] = len(new)

    def move(x: Any) -> Any:
        if isinstance(x, Ref):
            return Ref(new[x.number])
        if isinstance(x, Dim):
            return Dim(new[x.number], x.axis)
        if isinstance(x, Product):
            return Product(move(x.sizes))
        return type(x)(move(v) for v in x) if isinstance(x, (tuple, list)) else x

    result = Program(made=made, symbols=program.symbols, inputs=[program.calls[k].args[0] for k in inputs])
    for k in others:
        c = program.calls[k]
        bodies = [Body(b.parameters, [new[i] for i in b.captured], b.calls, b.outputs) for b in c.bodies]
        result.calls.append(Call(c.name, move(c.args), {n: move(v) for n, v in c.named.items()}, bodies, c.results))
    old = sorted(new, key=lambda i: new[i])
    result.dtypes = [program.dtypes[i] for i in old]
    result.shapes = [program.shapes[i] for i in old]
    result.exact = [program.exact[i] for i in old]
    used = {i for c in result.calls for i in refs(c.args) + refs(list(c.named.values()))}
    first = len(inputs)
    last = [i for i in range(first, len(old)) if i not in used]
    result.outputs = last + [i for i in range(first, len(old)) if i in used][::5]
    result.rounded = [i for i in range(first, len(old)) if not result.exact[i]]
    return result


def make_program(seed: int, calls: int) -> Program:
    """A program over three or four sizes, of which some have names. Fewer calls give its beginning."""
    random = Random(seed)
    dims = [0 if random.random() < 0.04 else random.choice(SIZES) for _ in range(random.randint(3, 4))]
    dims = list(dict.fromkeys(dims))
    symbols = {n: f"N{i}" for i, n in enumerate(dims) if random.random() < 0.5}
    maker = Maker(random, Program(symbols=symbols), dims)
    with maker.tracer:
        for _ in range(calls):
            Maker.attempt(maker, NAMES)
    return settled(maker.program, f"make_program({seed}, {calls})")


def programs() -> st.SearchStrategy[Program]:
    """A failure shrinks to the shortest beginning that shows it."""
    return st.builds(make_program, st.integers(0, 2**63), st.integers(1, 5))
