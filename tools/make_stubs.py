"""Writes the type stubs of the package from its tables: `__init__.pyi` (what users import) and `_core.pyi` (the methods
and operators that tensors have from the core). With --check, only says whether they are up to date."""

import ast
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "pypto"
sys.path.insert(0, str(ROOT / "python"))

from generated import settle  # noqa: E402

import pypto  # noqa: E402
from pypto import _core  # noqa: E402
from pypto._functions import KEYWORDS, functions, signature_of  # noqa: E402

WIDTH = 132
NOTE = "# Made by tools/make_stubs.py from the tables; ./dev build writes it again.\n"
KINDS = {
    "Tensor": "TensorLike",
    "DType": "DTypeLike",
    "Size": "SizeLike",
    "Shape": "ShapeLike",
    "bool": "builtins.bool",
    "tuple[int, ...]": "Sequence[int]",
    "tuple[Size, ...]": "Sequence[SizeLike]",
    "tuple[Tensor, ...]": "Sequence[TensorLike]",
}
PAIRS = ("axes", "pad_width")  # integers, or lists of them
BINARY = "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul".split()
COMPARISONS = "eq ne lt le gt ge".split()
SIZE_OPERATORS = [r + n for n in "add sub mul truediv floordiv mod".split() for r in ("", "r")] + ["pow", *COMPARISONS]

INIT_HEAD = """\
import builtins
from collections.abc import Sequence
from typing import Any, overload

"""
CORE = """\
import builtins
from collections.abc import Sequence
from typing import Any, overload

from ._dtypes import DType
from ._tensor import Tensor
{types}

{internal}

class Size:
    \"\"\"A size or a number that is known when the program runs. Arithmetic stays symbolic, a comparison becomes a
    condition of the trace, and int() fixes the value.\"\"\"

{size}
    def __neg__(self) -> Any: ...
    def __abs__(self) -> Any: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __float__(self) -> float: ...
    def __hash__(self) -> int: ...

class TensorHandle:
    @property
    def dtype(self) -> DType:
        \"\"\"The element type.\"\"\"
    @property
    def shape(self) -> tuple[int, ...]:
        \"\"\"The sizes of the axes; inside a trace some are symbolic, and calculate as integers do.\"\"\"
    @property
    def ndim(self) -> int:
        \"\"\"The number of axes.\"\"\"
{private}
{operators}
{methods}"""


def type_of(p):
    """The type that a parameter accepts, from the alternatives that the table names."""
    kinds = [k.strip() for k in p.annotation.split("|")]
    if p.name in PAIRS and kinds[0] in ("int", "Size"):
        kinds += [f"Sequence[{KINDS[k]}]" for k in kinds if k.startswith("tuple")]
    if "Tensor" in kinds and "float" in kinds:
        kinds.remove("float")  # among what tensors are made of
    return " | ".join(KINDS.get(k, k) for k in kinds)


def default_of(value):
    return value.name if isinstance(value, pypto.DType) else repr(value)


def parameter_text(p, name=None):
    text = f"{name or p.name}: {type_of(p)}"
    return text if p.default is p.empty else f"{text} = {default_of(p.default)}"


def layouts(parameters):
    """The parameter lists of a function: its own and, if it has an axis, the one with PyTorch's keywords."""
    own = []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            own.append("*" + parameter_text(p))
        else:
            own.append(parameter_text(p))
    names = [p.name for p in parameters]
    if "axis" not in names:
        return [own]
    at = names.index("axis")
    return [own, [*own[:at], "*", *(parameter_text(p, KEYWORDS.get(p.name)) for p in parameters[at:])]]


def docstring(text, indent):
    lines = []
    for line in text.replace("\\", "\\\\").splitlines():
        lines += textwrap.wrap(line, WIDTH - indent - 10) or [""]
    return textwrap.indent('"""' + "\n".join(lines) + '"""', " " * indent)


def definition(name, parameters, returns, doc, indent):
    """A function as it stands in a stub, its parameters one a line if they are too long."""
    pad = " " * indent
    text = f"{pad}def {name}({', '.join(parameters)}) -> {returns}:"
    if len(text) + len(" ...") > WIDTH:
        inner = "".join(f"{pad}    {p},\n" for p in parameters)
        text = f"{pad}def {name}(\n{inner}{pad}) -> {returns}:"
    return f"{text}\n{docstring(doc, indent + 4)}" if doc else f"{text} ..."


def function_text(name, row, indent=0):
    found = layouts(list(signature_of(row["signature"]).parameters.values()))
    if indent:
        found = [["self", *layout[1:]] for layout in found]
    lines = []
    for layout in found:
        if len(found) > 1:
            lines.append(" " * indent + "@overload")
        lines.append(definition(name, layout, row["returns"], row["doc"] if layout is found[0] else "", indent))
    return "\n".join(lines)


# --- the core ---------------------------------------------------------------------------------------


def methods():
    """The functions of the table that tensors have as methods, as _functions sets them."""
    for row in pypto.function_table():
        first = None
        for name in [row["name"], *row["aliases"]] if row["method"] else []:
            if vars(pypto.Tensor).get(name) is not functions[name]:
                continue
            yield function_text(name, row, 4) if first is None else f"    {name} = {first}"
            first = first or name


def types_used(text):
    """The import of the types that occur in a text."""
    names = [n for n in ("DTypeLike", "ShapeLike", "SizeLike", "TensorLike") if n in text]
    return f"from ._types import {', '.join(names)}"


def core_stub():
    size = [f"    def __{name}__(self, other: Any) -> Any: ..." for name in SIZE_OPERATORS]
    operators = [f"    def __{r}{name}__(self, other: TensorLike) -> Tensor: ..." for name in BINARY for r in ("", "r", "i")]
    for name in COMPARISONS:
        note = "  # type: ignore[override]" if name in ("eq", "ne") else ""
        operators.append(f"    def __{name}__(self, other: TensorLike) -> Tensor: ...{note}")
    parts = {
        "size": size,
        "operators": operators,
        "methods": list(methods()),
        # What only the package itself uses.
        "private": [f"    {n}: Any" for n in sorted(vars(_core.TensorHandle)) if n.startswith("_") and not n.startswith("__")],
        "internal": [f"{n}: Any" for n in dir(_core) if not n.startswith("__") and n not in ("Size", "TensorHandle")],
    }
    texts = {name: "\n".join(lines) for name, lines in parts.items()}
    return NOTE + CORE.format(types=types_used("".join(texts.values())), **texts) + "\n"


# --- the package ------------------------------------------------------------------------------------


def package_stub():
    """The names of __init__.py made explicit, and the functions of the table."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    imports, constants, own = [], [], {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            for a in node.names:
                if a.asname and not a.asname.startswith("_"):  # another name is no re-export for type checkers
                    imports.append(f"from .{node.module} import {a.name} as _{a.asname}")
                    constants.append(f"{a.asname} = _{a.asname}")
                elif not (a.asname or a.name).startswith("_"):
                    imports.append(f"from .{node.module or ''} import {a.name} as {a.name}")
        elif isinstance(node, ast.FunctionDef):
            doc = ast.get_docstring(node) or ""
            returns = f" -> {ast.unparse(node.returns)}"
            own[node.name] = f"def {node.name}({ast.unparse(node.args)}){returns}:\n{docstring(doc, 4)}"
        elif isinstance(node, ast.Assign):
            name = node.targets[0].id
            value = getattr(pypto, name, None)
            if isinstance(value, type):
                imports.append(f"from ._core import {value.__name__} as {name}")
            elif callable(value):
                constants.append(f"{name} = {ast.unparse(node.value)}")
            elif not name.startswith("_") or name.endswith("__"):
                constants.append(f"{name}: {'None' if value is None else type(value).__name__}")
    rows = {row["name"]: row for row in pypto.function_table()}
    texts = list(own.values())
    for name, function in functions.items():
        if name in own or getattr(pypto, name, None) is not function:
            continue
        row = rows.get(function.__name__)
        if name == function.__name__ and row:
            texts.append(function_text(name, row))
        else:
            texts.append(f"{name} = {function.__name__}")
    imports.append(types_used("\n".join(texts)))
    return NOTE + INIT_HEAD + "\n".join(imports) + "\n\n" + "\n".join(constants) + "\n\n" + "\n".join(texts) + "\n"


if __name__ == "__main__":
    settle({PACKAGE / "_core.pyi": core_stub(), PACKAGE / "__init__.pyi": package_stub()}, "./dev build")
