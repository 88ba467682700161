"""Cases of the functions' table as arguments: shapes become tensors in the domains that the table names."""

import zlib

import numpy as np

import pypto as pto
import reference as ref
from pypto._dtypes import as_dtype
from pypto._functions import _split, functions, signature_of

DTYPES = {
    "b": ["bool"],
    "i": ["int8", "int16", "int32", "int64"],
    "u": ["uint8", "uint16", "uint32", "uint64"],
    "f": ["float16", "bfloat16", "float32", "float64"],
}
NAMES = {"np": np, "ref": ref, "inf": np.inf, "nan": np.nan, "None": None, "True": True, "False": False}


def table():
    return [(f, d) for f in pto.function_table() for kind in f["test"]["dtypes"] for d in DTYPES[kind]]


def main_dtype(function):
    """The type in which what is the same for all types is tested."""
    kinds = function["test"]["dtypes"]
    return "float32" if "f" in kinds else "int64" if "i" in kinds else "uint64"


def results(x):
    return list(x) if isinstance(x, (tuple, list)) else [x]


def parse(text):
    """Argument texts by name: "x=(3,5), axis=-1"."""
    return dict(part.split("=", 1) for part in _split(text.replace("'", '"')))


def values(rng, domain, shape, dtype, limit):
    """An array of the type in the domain."""
    kind = as_dtype(dtype)
    if domain.startswith("index"):
        return rng.integers(0, limit, shape)
    if domain == "bool" or kind.name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if domain == "uint64":
        return rng.integers(0, 2**63, shape, dtype=np.uint64)
    if kind.is_integer:
        low = 0 if domain in ("positive", "digits", "probability") or not kind.is_signed else -8
        low = 1 if domain in ("nonzero", "positive") and low == 0 else low
        x = rng.integers(low, 2 if domain in ("unit", "probability") else 8, shape)
        if domain == "nonzero":
            x = np.where(x == 0, 3, x)
        return x.astype(kind.numpy)
    if domain in ("unit", "probability"):
        x = rng.uniform(0.02 if domain == "probability" else -0.98, 0.98, shape)
    elif domain == "positive":
        x = rng.uniform(0.1, 8, shape)
    elif domain == "digits":
        x = rng.integers(0, 8, shape).astype(float)
    elif domain == "special":
        x = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0], shape)
    else:
        x = rng.normal(0, 3, shape)
        if domain == "small":
            x = np.clip(x, -8, 8)
        if domain == "nonzero":
            x = np.where(np.abs(x) < 0.1, 0.5, x)
    return np.asarray(x).astype(kind.numpy)


class Case:
    """One call: arguments in order, and the arrays that the reference sees."""

    def __init__(self, function, dtype, text):
        self.function, self.dtype = function, dtype
        self.rng = np.random.default_rng(zlib.crc32(f"{function['name']}{dtype}{text}".encode()))
        self.arrays = []
        self.by_name = {}
        signature = signature_of(function["signature"])
        given = parse(text)
        domains = function["test"]["domains"]
        self.positional, self.named = [], {}
        used, shape_of_first = 0, ()
        for name, parameter in signature.parameters.items():
            if name not in given:
                if parameter.default is not parameter.empty:
                    default = parameter.default
                    self.by_name[name] = default.name if isinstance(default, pto.DType) else default
                continue
            raw = given[name]
            takes = parameter.annotation
            value = eval(raw, dict(NAMES))
            is_shape = isinstance(value, tuple) and "Tensor" in takes
            is_list = isinstance(value, list) and ("Tensor" in takes or parameter.kind == parameter.VAR_POSITIONAL)
            if is_shape or is_list:
                domain = domains[min(used, len(domains) - 1)]
                used += 1
                shapes = value if is_list else [value]
                limits = self.limits(domain, given, shape_of_first, len(shapes))
                made = [values(self.rng, domain, s, dtype, n) for s, n in zip(shapes, limits)]
                shape_of_first = shape_of_first or shapes[0]
                self.arrays += made
                value = made if is_list else made[0]
            self.by_name[name] = value
            if parameter.kind == parameter.VAR_POSITIONAL:
                self.positional += value
            elif any(p.kind == p.VAR_POSITIONAL for p in signature.parameters.values()) and not self.positional and not self.named:
                self.positional.append(value)
            else:
                self.named[name] = value

    def limits(self, domain, given, shape, count):
        if not domain.startswith("index:"):
            return [0] * count
        of = domain.partition(":")[2]
        if of == "weight":
            return [eval(given["weight"])[0]] * count
        if of == "num_classes":
            return [eval(given["num_classes"])] * count
        axis = eval(given[of]) if of in given else int(of) if of.lstrip("-").isdigit() else -1
        if axis is None:
            return [int(np.prod(shape))] * count
        axes = axis if isinstance(axis, (tuple, list)) else [axis] * count
        return [max(1, shape[a]) for a in axes]

    def call(self, convert=lambda x: x):
        """The function's result, its arrays passed through `convert`."""

        def turn(x):
            if isinstance(x, np.ndarray):
                return convert(x)
            return [turn(v) for v in x] if isinstance(x, list) else x

        return functions[self.function["name"]](*[turn(x) for x in self.positional], **{k: turn(v) for k, v in self.named.items()})

    def reference(self):
        def wide(x):
            if isinstance(x, np.ndarray) and x.dtype.kind not in "biu":
                return x.astype(np.float64)
            return [wide(v) for v in x] if isinstance(x, list) else x

        scope = dict(NAMES) | {k: wide(v) for k, v in self.by_name.items()}
        scope |= {f"x{i}": wide(a) for i, a in enumerate(self.arrays)}
        scope.setdefault("dtype", self.dtype)
        with np.errstate(all="ignore"):
            return eval(self.function["test"]["numpy"], scope)


SMALLEST = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def check(got, want, test, dtype, where):
    """Compares a result with its float64 reference within the table's bound."""
    got_type = got.dtype.name
    got = got.numpy()
    want = np.asarray(want)
    assert got.shape == want.shape, f"{where}: shape {got.shape}, expected {want.shape}"
    if got_type not in EPS:
        # Integers wrap in the result's type.
        np.testing.assert_array_equal(got, want.astype(got.dtype), err_msg=where)
        return
    eps = EPS[got_type]
    got = got.astype(np.float64)
    want = want.astype(np.float64)
    # A half type rounds inputs of further steps: a few units more, and as much beside sums near zero.
    ulp, atol = test["ulp"], test["atol"]
    if got_type in ("float16", "bfloat16") or dtype in ("float16", "bfloat16"):
        eps = max(eps, EPS.get(dtype, 0))
        ulp, atol = max(ulp / 8, 4), max(atol, 4 * eps)
    elif got_type == "float64":
        ulp, atol = 8 * ulp, 64 * atol * EPS["float64"] / EPS["float32"]
    if test["exact"] and got_type == dtype and dtype not in ("float16", "bfloat16"):
        ulp, atol = 0, 0
        with np.errstate(all="ignore"):
            want = want.astype(got_type).astype(np.float64)  # one rounding
    with np.errstate(all="ignore"):
        largest = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028235e38}.get(got_type, np.inf)
        want = np.where(np.abs(want) > largest * (1 + eps / 2), np.copysign(np.inf, want), want)
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        bound = ulp * np.maximum(eps * np.abs(want), SMALLEST[got_type]) + atol
        wrong = ~same & ~(np.abs(got - want) <= bound)
    if wrong.any():
        at = np.unravel_index(np.argmax(wrong), wrong.shape)
        units = np.abs(got[at] - want[at]) / (eps * max(np.abs(want[at]), 1e-300))
        raise AssertionError(f"{where}: at {at} {got[at]!r}, expected {want[at]!r}: {units:.3g} units, allowed {ulp} (+{atol})")
