"""More cases of a function, made from those of its row: its tensors in other ranks and sizes (0, 1, primes, beside
the widths of vectors)."""

import functools
import pathlib
import zlib

import pypto as pto
from cases import Case, main_dtype, parse
from pypto._functions import signature_of

# Of pointwise functions: any rank from 0 to 6.
POINTWISE = [
    "()", "(0,)", "(1,)", "(7,)", "(15,)", "(16,)", "(17,)", "(63,)", "(64,)", "(65,)", "(257,)", "(1,1)", "(31,33)",
    "(3,0,5)", "(2,13,3)", "(2,3,5,7)", "(1,2,1,3,2)", "(2,1,3,1,2,5)", "(2,1,0,1,2,5)",
]  # fmt: skip
# Operands of two shapes, of those with several.
BROADCAST = [
    ("()", "(17,)"), ("(33,)", "(1,)"), ("(5,1)", "(1,17)"), ("(1,)", "(0,)"), ("(3,1,33)", "(7,1)"),
    ("(2,1,3,1)", "(5,1,4)"), ("(2,1,3,1,2,1)", "(1,2,1,3,1,5)"), ("(16,1)", "(16,31)"),
]  # fmt: skip
# Of functions along an axis: the axis first, last and between, short and long.
ALONG = [
    ("(1,)", 0), ("(2,)", 0), ("(7,)", -1), ("(15,)", 0), ("(16,)", 0), ("(17,)", -1), ("(33,)", 0), ("(257,)", 0),
    ("(17,33)", 0), ("(33,17)", 1), ("(5,64)", -1), ("(65,3)", 0), ("(13,1,7)", 1), ("(3,5,17)", 0), ("(2,0,3)", 0),
    ("(2,3,4,5)", 2), ("(2,1,3,2,3)", -3), ("(1,2,1,3,2,5)", 3), ("(2,2,3,1,2,3)", -1), ("(2,3,2,1,2,17)", 0),
]  # fmt: skip
# Where the axis is no more than a position, or the number of results depends on it.
NOT_ALONG = {"squeeze", "expand_dims", "unbind", "split", "chunk"}

# Of functions whose arguments go with their shapes: one a line.
MORE: dict[str, list[str]] = {}
for line in pathlib.Path(__file__).with_name("shapes.txt").read_text().splitlines():
    if not line.startswith("#"):
        name, _, text = line.partition(": ")
        MORE.setdefault(name, []).append(text)


def tensors(function, text):
    """The arguments of a case that are tensors, by name; None where some are lists of them."""
    found = {}
    for name, parameter in signature_of(function["signature"]).parameters.items():
        if name not in (given := parse(text)):
            continue
        if given[name].startswith("[") and "(" in given[name]:
            return None
        if given[name].startswith("(") and "Tensor" in parameter.annotation:
            found[name] = given[name]
    return found


def joined(arguments):
    return ", ".join(f"{name}={value}" for name, value in arguments.items())


def is_pointwise(function, text):
    """Are all tensors of one shape of rank 1, and the result too?"""
    shapes = tensors(function, text)
    parameters = signature_of(function["signature"]).parameters
    if not shapes or len(set(shapes.values())) > 1 or "axis" in parameters or "shape" in parameters:
        return False
    shape = eval(next(iter(shapes.values())))
    reference = Case(function, main_dtype(function), text).reference()
    return len(shape) == 1 and getattr(reference, "shape", None) == shape


@functools.cache
def _variants(name):
    function = next(f for f in pto.function_table() if f["name"] == name)
    found = list(MORE.get(name, []))
    along = set()
    for text in function["cases"]:
        shapes, given = tensors(function, text), parse(text)
        if is_pointwise(function, text):
            found += [joined({**given, **dict.fromkeys(shapes, shape)}) for shape in POINTWISE]
            if len(shapes) > 1:
                for pair in BROADCAST:
                    turned = {name: pair[i % 2] for i, name in enumerate(shapes)}
                    found.append(joined({**given, **turned}))
        elif shapes and list(shapes) == [next(iter(given))] and "axis" in signature_of(function["signature"]).parameters:
            tensor = next(iter(shapes))
            others = joined({k: v for k, v in given.items() if k not in (tensor, "axis", "k")})
            if name in NOT_ALONG or others in along or not isinstance(eval(given.get("axis", "0")), int):
                continue
            along.add(others)
            for shape, axis in ALONG:
                changed = {**given, tensor: shape, "axis": str(axis)}
                if "k" in given:
                    changed["k"] = str(min(int(given["k"]), eval(shape)[axis]))
                found.append(joined(changed))
    return list(dict.fromkeys(found))


def variants(function, dtype):
    """All of them in the function's main type, every fourth in the others (another fourth for each)."""
    found = _variants(function["name"])
    if dtype == main_dtype(function):
        return found
    start = zlib.crc32(f"{function['name']}{dtype}".encode()) % 4
    return found[start::4]
