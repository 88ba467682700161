"""Element types."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._errors import Error


class DType:
    """An element type, such as ``pto.float32``.

    Equal to its name and to the NumPy type of the same name. ``itemsize`` is in bytes.
    """

    __slots__ = ("_code", "name", "short", "itemsize", "is_floating", "is_integer", "is_signed", "_numpy")

    def __init__(self, code: int, facts: tuple) -> None:
        self._code = code
        self.name, self.short, self.itemsize, self.is_floating, self.is_integer, self.is_signed = facts
        self._numpy: np.dtype | None = None if self.name == "bfloat16" else np.dtype(self.name)

    @property
    def numpy(self) -> np.dtype:
        """The NumPy type (``bfloat16`` by ml_dtypes)."""
        if self._numpy is None:
            import ml_dtypes

            self._numpy = np.dtype(ml_dtypes.bfloat16)
        return self._numpy

    def __repr__(self) -> str:
        return f"pypto.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self._code == other._code
        if other is None:
            return False
        try:
            return self._code == as_dtype(other)._code
        except (Error, TypeError):
            return False

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self):
        return as_dtype, (self.name,)


all_dtypes = [DType(code, facts) for code, facts in enumerate(_core.dtype_facts())]
_by_name = {d.name: d for d in all_dtypes} | {d.short: d for d in all_dtypes}
_by_name |= {"half": _by_name["float16"], "float": _by_name["float32"], "double": _by_name["float64"]}
_by_type: dict[Any, DType] = {bool: _by_name["bool"], int: _by_name["int64"], float: _by_name["float32"]}
_by_type |= {d._numpy.type: d for d in all_dtypes if d._numpy is not None}

bool_: DType = _by_name["bool"]
int8: DType = _by_name["int8"]
int16: DType = _by_name["int16"]
int32: DType = _by_name["int32"]
int64: DType = _by_name["int64"]
uint8: DType = _by_name["uint8"]
uint16: DType = _by_name["uint16"]
uint32: DType = _by_name["uint32"]
uint64: DType = _by_name["uint64"]
float16: DType = _by_name["float16"]
bfloat16: DType = _by_name["bfloat16"]
float32: DType = _by_name["float32"]
float64: DType = _by_name["float64"]


def as_dtype(x: Any) -> DType:
    """The element type that `x` names: a DType, a name, a NumPy type, or bool, int, float."""
    if isinstance(x, DType):
        return x
    if isinstance(x, str):
        name = x
    else:
        try:
            found = _by_type.get(x)
        except TypeError:
            found = None
        if found is not None:
            return found
        name = getattr(x, "name", None) or getattr(x, "__name__", None) or str(x).rpartition(".")[2]
    if isinstance(name, str) and name in _by_name:
        return _by_name[name]
    what = "complex numbers are not supported" if str(name).startswith("complex") else "this is not an element type"
    raise Error(what, op="dtype", expected=", ".join(d.name for d in all_dtypes), got=str(x))


def promote(a: Any, b: Any) -> DType:
    """The type of an operation on tensors of types `a` and `b`; an error where there is none."""
    result = _core.promote(as_dtype(a), as_dtype(b))
    if result is None:
        raise Error("these types have no common type", op="result_type", got=f"{as_dtype(a)} and {as_dtype(b)}")
    return result
