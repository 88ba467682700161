"""What the functions of the table take: shapes of their tensors by letters, and other arguments.

A function that is not named here takes tensors of one shape, and its other parameters are known by their names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from programs import Product


@dataclass
class Template:
    """Shapes of tensors: a letter is a size, "_" none, "i<m" holds integers below m, [...] is one list."""

    shapes: str
    named: dict[str, Any] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)  # of sizes by letter

    def tokens(self) -> list[str]:
        return self.shapes.replace("[", "").replace("]", "").split()

    @property
    def listed(self) -> list[str]:
        return self.shapes.partition("[")[2].partition("]")[0].split()


@dataclass
class Rule:
    """A function of one tensor: the ranks it takes, what shapes, and further arguments."""

    ranks: tuple[int, int] = (0, 5)
    arguments: Callable[[Any, Any], dict[str, Any]] | None = None
    fits: Callable[[tuple[int, ...]], bool] | None = None
    known: bool = False  # the first axis must have a literal size


T = Template


def size(letter: str) -> Callable:
    return lambda m, letters: m.size(letters[letter])


def sizes(letters_: str) -> Callable:
    return lambda m, letters: tuple(m.size(letters[c]) for c in letters_)


BINARY = [T(s) for s in ("mk mk", "mk k", "mk m1", "1k m1", "m m", "bmk mk", "_ m", "mk _", "_ _", "bmkn m1n")]
PAIR = [T(s) for s in ("mk mk", "m m")]
LOSS = PAIR + [T("mk mk", {"reduction": r}) for r in ("sum", "none")]
EINSUMS = [
    ("ij,jk->ik", "ij jk"),
    ("bij,bjk->bik", "bij bjk"),
    ("ij,jk", "ij jk"),
    ("ii->i", "ii"),
    ("ii", "ii"),
    ("ij->ji", "ij"),
    ("i,j->ij", "i j"),
    ("ij,ij->", "ij ij"),
    ("...ij,jk->...ik", "bij jk"),
    ("ijk->k", "ijk"),
    ("bhqd,bhkd->bhqk", "bhqd bhkd"),
    ("ij,jk,kl->il", "ij jk kl"),
    ("iij,j->ij", "iij j"),
]
KEYED = {"shape": lambda m, letters: any_sizes(m, None)}

TEMPLATES: dict[str, list[Template]] = {
    "where": [T("mk mk mk"), T("mk k _"), T("m1 k mk"), T("_ mk mk")],
    "clip": [T("mk k _"), T("mk", {"min": -1, "max": 2}), T("m", {"max": 1})],
    "lerp": [T("mk mk", {"weight": 0.25}), T("mk mk k")],
    "isclose": PAIR,
    "allclose": PAIR,
    "masked_fill": [T("mk mk", {"value": 2}), T("mk k", {"value": -1})],
    # contractions
    "matmul": [T(s) for s in ("mk kn", "bmk bkn", "bmk kn", "k kn", "mk k", "k k", "bcmk ckn")],
    "dot": [T(s) for s in ("k k", "mk kn", "mk k")],
    "vdot": PAIR,
    "inner": [T(s) for s in ("k k", "mk nk")],
    "outer": [T("m n")],
    "vecdot": [T(s) for s in ("mk mk", "mk k")],
    "tensordot": [T("bmk mkn"), T("mk kn", {"axes": 1}), T("m n", {"axes": 0})],
    "linear": [T(s) for s in ("mk nk n", "bmk nk", "k nk n")],
    "einsum": [T(s, {"spec": spec}) for spec, s in EINSUMS],
    "conv1d": [
        T("bcl dc3 d", {"padding": 1}),
        T("bcl dc3", {"stride": 2, "padding": 2}),
        T("bcl dc2", {"dilation": 2, "padding": 2}),
        T("b4l 623", {"groups": 2, "padding": "same"}, {"l": 1}),
    ],
    "conv2d": [
        T("bchw dc33 d", {"padding": 1}, {"h": 1, "w": 1}),
        T("2chw dc22", {"stride": 2}, {"h": 2, "w": 2}),
        T("b4hw 4133", {"groups": 4, "padding": 1}, {"h": 1, "w": 1}),
    ],
    "conv3d": [T("1c433 dc222 d", {"padding": 1})],
    # movement
    "concat": [T("[mk nk]"), T("[mk mn]", {"axis": -1}), T("[m n k]"), T("[mk n]", {"axis": None})],
    "stack": [T("[mk mk]"), T("[mk mk mk]", {"axis": -1})],
    "hstack": [T("[mk mn]"), T("[m n]")],
    "vstack": [T("[mk nk]"), T("[k k]")],
    "broadcast_arrays": [T("m1 k"), T("mk k _")],
    "meshgrid": [T("m n"), T("m n k", {"indexing": "ij"})],
    # gather and scatter
    "take": [T("mk i<m", {"axis": 0}), T("mk ij<k", {"axis": 1}), T("m ij<m", {"axis": 0})],
    "take_along_axis": [T("mk mj<k"), T("mk jk<m", {"axis": 0})],
    "gather": [T("mk mj<k", {"axis": 1}), T("mk jk<m", {"axis": 0})],
    "index_select": [T("mk i<k", {"axis": 1}), T("mk i<m", {"axis": 0})],
    "take_nd": [T("mnk [i<m i<n]", {"axes": (0, 1)}), T("mnk [i<m i<k]", {"axes": (0, 2)})],
    "embedding": [T("mn<v vk"), T("m<v vk")],
    "one_hot": [T("m<c", {"num_classes": size("c")}), T("mn<c", {"num_classes": size("c"), "dtype": "float32"})],
    "scatter": [T("m i<m i", {"axis": 0}), T("mk mj<k mj", {"axis": 1}), T("mk jk<m jk", {"axis": 0})],
    "scatter_add": [T("m i<m i", {"axis": 0}), T("mk mj<k mj", {"axis": 1}), T("mk jk<m jk", {"axis": 0})],
    "put_along_axis": [T("mk mj<k mj", {"axis": 1})],
    "index_add": [T("mk i<m ik", {"axis": 0}), T("mk i<k mi", {"axis": 1})],
    "put_nd": [T("mnk [i<m i<n] ik", {"axes": (0, 1)}), T("mnk [i<m i<n] ik", {"axes": (0, 1), "combine": "add"})],
    # normalisation, attention, losses
    "layer_norm": [T("mk", {"normalized_shape": size("k")}), T("bmk k k", {"normalized_shape": sizes("k")})],
    "rms_norm": [T("mk", {"normalized_shape": size("k")}), T("bmk k", {"normalized_shape": sizes("k")})],
    "group_norm": [T("b6k 6 6", {"num_groups": 3}), T("b4mk", {"num_groups": 2})],
    "batch_norm": [T("mck c c"), T("mck c c c c")],
    "scaled_dot_product_attention": [T("bhsd bhtd bhte"), T("bhsd bhsd bhse", {"is_causal": True}), T("bhsd bhtd bhte st")],
    "rope_tables": [T("m", {"dim": 8}), T("mk", {"dim": 4, "base": 500.0})],
    "rope": [T("bhm8 m4 m4"), T("bhm8 m4 m4", {"layout": "interleaved"})],
    "cross_entropy": [T("mc m<c", {"reduction": r}) for r in ("mean", "sum", "none")],
    "nll_loss": [T("mc m<c", {"reduction": r}) for r in ("mean", "none")],
    "mse_loss": LOSS,
    "l1_loss": LOSS,
    "huber_loss": LOSS,
    "binary_cross_entropy": LOSS,
    "binary_cross_entropy_with_logits": LOSS,
    # random
    "random_bits": [T("_ _", KEYED), T("_ _", KEYED | {"dtype": "uint64"})],
    "uniform": [
        T("_ _", KEYED),
        T("_ _", KEYED | {"low": -1.0, "high": 3.0, "dtype": "float64"}),
        T("_ _", KEYED | {"dtype": "bfloat16"}),
    ],
    "normal": [T("_ _", KEYED), T("_ _", KEYED | {"dtype": "float64"}), T("_ _", KEYED | {"dtype": "float16"})],
    "randint": [T("_ _", KEYED | {"low": -3, "high": 10}), T("_ _", KEYED | {"low": 0, "high": 256, "dtype": "uint8"})],
    "bernoulli": [T("mk _ _")],
    "dropout": [T("mk _ _", {"p": 0.5}), T("mk _ _", {"p": 0.25, "training": False})],
    "categorical": [T("mk _ _", {}, {"k": 1})],
}
for _name in (
    "add subtract multiply divide floor_divide remainder power maximum minimum copysign bitwise_and bitwise_or bitwise_xor "
    "left_shift right_shift equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor atan2 "
    "logaddexp hypot"
).split():
    TEMPLATES[_name] = BINARY


# --- functions of one tensor ----------------------------------------------------------------------


def axes_of(m: Any, x: int) -> range:
    return range(len(m.shape(x)))


def shape_of(m: Any, x: int) -> tuple:
    return tuple(m.size(n) for n in m.shape(x))


def reshaped(m: Any, x: int) -> dict[str, Any]:
    own = shape_of(m, x)
    options: list[Any] = [own[::-1], (1, *own), (*own, 1), (Product(own),)]
    if 0 not in m.shape(x):
        options += [(-1,), (*own[:1], -1)]
    return {"shape": m.pick(options)}


def permuted(m: Any, x: int) -> dict[str, Any]:
    left = list(axes_of(m, x))
    return {"axes": tuple(left.pop(m.number(0, len(left) - 1)) for _ in axes_of(m, x))}


def squeezed(m: Any, x: int) -> dict[str, Any]:
    ones = [d for d, n in enumerate(m.shape(x)) if n == 1]
    return {"axis": m.pick(ones)} if m.chance(50) else {"axis": tuple(ones)}


def padded(m: Any, x: int) -> dict[str, Any]:
    width: Any = m.number(0, 3)
    if m.chance(60):
        width = tuple(m.number(0, 3) for _ in range(2 * len(m.shape(x))))
    return {"pad_width": width, "value": m.pick([0, 1, 3])}


def type_of_any(m: Any, x: int) -> dict[str, Any]:
    return {"dtype": m.dtype("biuf")}


def cast_type(m: Any, x: int) -> dict[str, Any]:
    return {"dtype": m.dtype("biuf" if m.program.exact[x] else "f")}


def bits_type(m: Any, x: int) -> dict[str, Any]:
    same = {1: ["int8", "uint8"], 2: ["int16", "uint16", "float16", "bfloat16"], 4: ["int32", "uint32", "float32"]}
    same[8] = ["int64", "uint64", "float64"]
    mine = next(names for names in same.values() if m.program.dtypes[x] in names)
    return {"dtype": m.pick([n for n in mine if n != m.program.dtypes[x]])}


def any_sizes(m: Any, x: Any) -> tuple:
    return tuple(m.size(n) for n in m.any_shape(0, 3))


SINGLE: dict[str, Rule] = {
    "zeros": Rule(arguments=lambda m, x: {"shape": any_sizes(m, x), "dtype": m.dtype("biuf")}),
    "ones": Rule(arguments=lambda m, x: {"shape": any_sizes(m, x), "dtype": m.dtype("biuf")}),
    "full": Rule(arguments=lambda m, x: {"shape": any_sizes(m, x), "value": m.pick([1, 2.5, True, -3]), "dtype": None}),
    "zeros_like": Rule(arguments=type_of_any),
    "ones_like": Rule(arguments=type_of_any),
    "full_like": Rule(arguments=lambda m, x: {"value": m.pick([0, 1, 3])}),
    "arange": Rule(
        arguments=lambda m, x: m.pick(
            [
                {"start": m.size(m.pick(m.dims))},
                {"start": 2, "stop": m.size(m.pick(m.dims)), "step": 3},
                {"start": 9, "stop": -4, "step": -2},
            ]
        )
    ),
    "linspace": Rule(arguments=lambda m, x: {"start": -1.0, "stop": 3.0, "num": m.number(1, 9)}),
    "eye": Rule(arguments=lambda m, x: {"n": m.size(m.pick(m.dims)), "k": m.number(-2, 2), "dtype": m.dtype("biuf")}),
    "tril": Rule((2, 5), lambda m, x: {"k": m.number(-2, 2)}),
    "triu": Rule((2, 5), lambda m, x: {"k": m.number(-2, 2)}),
    "gelu": Rule(arguments=lambda m, x: {"approximate": m.pick(["none", "tanh"])}),
    "softplus": Rule(arguments=lambda m, x: {"beta": m.pick([1.0, 2.0])}),
    "leaky_relu": Rule(arguments=lambda m, x: {"negative_slope": m.pick([0.25, 0.01])}),
    "elu": Rule(arguments=lambda m, x: {"alpha": m.pick([1.0, 0.5])}),
    "nan_to_num": Rule(arguments=lambda m, x: {"posinf": 1.0, "neginf": -1.0} if m.chance(50) else {}),
    "astype": Rule(arguments=cast_type),
    "bitcast": Rule(arguments=bits_type),
    "var": Rule(arguments=lambda m, x: {"ddof": float(m.number(0, 1))}),
    "norm": Rule(arguments=lambda m, x: {"ord": m.pick([2.0, 1.0, float("inf")])}),
    "diff": Rule((1, 5), lambda m, x: {"n": m.number(1, 2), "axis": 0}, lambda s: s[0] > 2),
    "matrix_transpose": Rule((2, 5)),
    "reshape": Rule(arguments=reshaped),
    "transpose": Rule(arguments=permuted),
    "swapaxes": Rule((2, 5), lambda m, x: {"axis1": 0, "axis2": -1}),
    "moveaxis": Rule((2, 5), lambda m, x: {"source": m.pick(axes_of(m, x)), "destination": m.pick(axes_of(m, x))}),
    "squeeze": Rule((1, 5), squeezed, lambda s: 1 in s),
    "expand_dims": Rule((0, 4), lambda m, x: {"axis": m.pick([0, -1])}),
    "flatten": Rule((1, 5), lambda m, x: {"start_axis": m.pick(axes_of(m, x))}),
    "broadcast_to": Rule((0, 3), lambda m, x: {"shape": (m.number(1, 3), *shape_of(m, x))}),
    "split": Rule((1, 5), lambda m, x: {"sections": m.pick([(1, 2), (2,)]), "axis": 0}, lambda s: s[0] > 2),
    "chunk": Rule((1, 5), lambda m, x: {"chunks": m.number(1, 3), "axis": 0}, lambda s: s[0] > 2),
    "unbind": Rule((1, 5), lambda m, x: {"axis": 0}, lambda s: 0 < s[0] < 6, known=True),
    "tile": Rule((1, 3), lambda m, x: {"reps": m.pick([2, (2, 1), (2, 1, 3)])}),
    "repeat": Rule((1, 4), lambda m, x: {"repeats": m.number(1, 3), "axis": m.pick([None, *axes_of(m, x)])}),
    "roll": Rule((1, 5), lambda m, x: {"shift": m.number(-9, 9), "axis": m.pick([None, *axes_of(m, x)])}),
    "rot90": Rule((2, 4), lambda m, x: {"k": m.number(-1, 3)}),
    "pad": Rule((1, 4), padded),
    "diagonal": Rule((2, 4), lambda m, x: {"offset": m.number(-1, 1)}),
    "sort": Rule((1, 4)),
    "argsort": Rule((1, 4)),
    "topk": Rule((1, 4), lambda m, x: {"k": m.number(1, 2), "axis": 0}, lambda s: s[0] > 1),
    "softmax": Rule((1, 5)),
    "log_softmax": Rule((1, 5)),
    "normalize": Rule((1, 4), lambda m, x: {"axis": 0, "p": m.pick([1.0, 2.0])}),
}
for _name in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"):
    SINGLE[_name] = Rule((1, 5))

# The last bit of a float operand may turn into another result.
JUMPS = set(
    "floor ceil trunc round sign floor_divide remainder copysign atan2 nan_to_num bitcast bernoulli categorical normalize one_hot "
    "argmax argmin argsort topk equal not_equal less less_equal greater greater_equal isclose allclose isinf isfinite isnan "
    "logical_and logical_or logical_xor logical_not all any count_nonzero".split()
)

# Exact by the table, yet their results may be computed with less rounding where they meet others.
ROUNDING = {"add", "subtract", "multiply", "x+number", "number-x", "x*number"}

# Functions that keep their operand's shape and type, for bodies.
BODY = (
    "abs negative relu maximum minimum add multiply x*number x+number flip sort cumsum tanh exp where square sigmoid roll clip"
).split()
