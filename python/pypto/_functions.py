"""The public functions, made from the core's table."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from . import _core
from ._dtypes import all_dtypes
from ._errors import Error
from ._tensor import Tensor

#: The table as data: name, signature, documentation, tests.
table: list[dict] = _core.function_table()

#: Every function by its name and its aliases.
functions: dict[str, Callable[..., Any]] = {}

# Names that the array API and PyTorch use for rows and functions of the table.
ALIASES = {
    "pow": "power",
    "bitwise_invert": "bitwise_not",
    "invert": "bitwise_not",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "neg": "negative",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "absolute": "abs",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "arctan2": "atan2",
    "mod": "remainder",
    "unsqueeze": "expand_dims",
}


def _split(text: str) -> list[str]:
    """Parameters of a signature: split at the commas outside brackets and quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        if quoted:
            continue
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [p for p in [*parts, text[start:].strip()] if p]


def _default(text: str) -> Any:
    names = {d.name: d for d in all_dtypes}
    if text in names:
        return names[text]
    return eval(text, {"__builtins__": {}}, {})  # a literal of the core's own table


class _Bare(str):
    """Text that signatures show without quotes."""

    __repr__ = str.__str__


def signature_of(text: str, returns: str = "Tensor") -> inspect.Signature:
    """The signature that a table's text describes."""
    parameters: list[inspect.Parameter] = []
    keyword_only = False
    for part in _split(text):
        head, _, default = part.partition("=")
        name, _, annotation = head.partition(":")
        name, annotation = name.strip(), annotation.strip()
        kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
        if name.startswith("*"):
            name, kind, keyword_only = name[1:], inspect.Parameter.VAR_POSITIONAL, True
        elif keyword_only:
            kind = inspect.Parameter.KEYWORD_ONLY
        value = _default(default.strip()) if default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, kind, default=value, annotation=_Bare(annotation)))
    return inspect.Signature(parameters, return_annotation=_Bare(returns))


#: PyTorch's keywords for ours.
KEYWORDS = {"axis": "dim", "keepdims": "keepdim"}


def with_keywords(signature: inspect.Signature) -> inspect.Signature:
    """The signature with PyTorch's keywords, which stand for ours."""
    parameters = list(signature.parameters.values())
    for p in signature.parameters.values():
        other = KEYWORDS.get(p.name)
        if other and other not in signature.parameters:
            parameters.append(p.replace(name=other, kind=p.KEYWORD_ONLY, default=_Bare(p.name)))
    return signature.replace(parameters=parameters)


def _with_device(made: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Functions that make tensors take `device`, as the array API has it; there is one."""

    def function(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device not in (None, "cpu"):
            raise Error("there is no such device", op=name, expected="cpu", got=str(device))
        return made(*args, **kwargs)

    return function


def _make(number: int, row: dict) -> Callable[..., Any]:
    call = _core.call_function

    def function(*args: Any, **kwargs: Any) -> Any:
        return call(number, *args, **kwargs)

    if "dtype: DType" in row["signature"] and "device" not in row["signature"]:
        function = _with_device(function, row["name"])
    function.__name__ = row["name"]
    function.__qualname__ = row["name"]
    function.__module__ = "pypto"
    function.__doc__ = row["doc"]
    function.__signature__ = with_keywords(signature_of(row["signature"], row["returns"]))  # type: ignore[attr-defined]
    return function


for _number, _row in enumerate(table):
    _f = _make(_number, _row)
    functions[_row["name"]] = _f
    for _alias in _row["aliases"]:
        functions[_alias] = _f
for _alias, _name in ALIASES.items():
    if _name in functions:
        functions.setdefault(_alias, functions[_name])


def greater(x: Any, y: Any) -> Tensor:
    """x > y, elementwise."""
    return functions["less"](y, x)


def greater_equal(x: Any, y: Any) -> Tensor:
    """x >= y, elementwise."""
    return functions["less_equal"](y, x)


functions.setdefault("greater", greater)
functions.setdefault("greater_equal", greater_equal)
functions.setdefault("gt", functions["greater"])
functions.setdefault("ge", functions["greater_equal"])

for _row in table:
    if _row["method"]:
        for _name in [_row["name"], *_row["aliases"]]:
            if not hasattr(Tensor, _name):
                setattr(Tensor, _name, functions[_name])
