"""NumPy arrays, DLPack exporters, nested lists and numbers as tensors, and back."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from . import _core
from ._dtypes import DType, as_dtype, float32
from ._errors import Error
from ._tensor import Tensor


class _Window:
    """What NumPy reads a tensor's memory through; it keeps the memory alive."""

    __slots__ = ("__array_interface__", "_memory")

    def __init__(self, memory: Any, typestr: str) -> None:
        self._memory = memory
        self.__array_interface__ = {
            "version": 3,
            "data": (memory.address, True),
            "shape": memory.shape,
            "typestr": typestr,
        }


def to_numpy(x: Tensor) -> np.ndarray:
    """The elements as a NumPy array: a read-only view of the tensor's memory, which never changes.

    Computes the tensor if that has not happened yet. bfloat16 comes as ``ml_dtypes.bfloat16``.
    """
    memory = _core.memory_of(x)
    dtype = memory.dtype.numpy
    if 0 in memory.shape:
        empty = np.empty(memory.shape, dtype)
        empty.flags.writeable = False
        return empty
    if dtype.kind == "V" or memory.dtype.name == "bfloat16":
        return np.asarray(_Window(memory, "<u2")).view(dtype)
    return np.asarray(_Window(memory, dtype.str))


def array_dtype(array: np.ndarray) -> DType:
    """The element type of an array whose bytes are in this processor's order."""
    if array.dtype.byteorder == ">":
        raise Error("the bytes are in the other order", op="asarray", expected="native byte order", got=str(array.dtype))
    return as_dtype(array.dtype)


def from_array(array: np.ndarray, *, copy: bool) -> Tensor:
    """A tensor with the array's elements; with ``copy=False`` it borrows the array's memory."""
    if copy and (plain := _core.from_plain_array(array)) is not None:
        return plain
    dtype = array_dtype(array)
    itemsize = array.dtype.itemsize
    if any(s % itemsize for s in array.strides):
        array = np.ascontiguousarray(array)
    return _core.from_memory(
        array.ctypes.data if array.size else 0,
        dtype,
        array.shape,
        [s // itemsize for s in array.strides],
        not array.flags.writeable,
        array,
        copy or not array.size,
    )


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that borrows the array's memory: no copy if it is contiguous and aligned.

    The array must not be written while the tensor, or anything computed lazily from it, is in use.
    """
    if not isinstance(array, np.ndarray):
        raise Error("this is not a NumPy array", op="from_numpy", expected="numpy.ndarray", got=type(array).__name__)
    return from_array(array, copy=False)


def from_dlpack(x: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of any object with ``__dlpack__`` (PyTorch, JAX, NumPy, CuPy, ...).

    Borrows: the exporter's memory must not be written while the tensor is in use. ``copy=True`` copies.
    """
    if not hasattr(x, "__dlpack__"):
        raise Error("the object does not export DLPack", op="from_dlpack", got=type(x).__name__)
    if hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] != 1:
        raise Error(
            "the tensor is not in this processor's memory; copy it there first",
            op="from_dlpack",
            expected="DLPack device type 1 (CPU)",
            got=f"device type {int(x.__dlpack_device__()[0])}",
        )
    if device not in (None, "cpu"):
        raise Error("there is no such device", op="from_dlpack", expected="cpu", got=str(device))
    try:
        capsule = x.__dlpack__(max_version=(1, 0))
    except TypeError:
        capsule = x.__dlpack__()
    return _core.from_capsule(capsule, bool(copy))


def as_tensor(x: Any, dtype: Any = None, *, weak: bool = False) -> Any:
    """A tensor with x's elements. With `weak`, NumPy scalars become Python numbers, and None stands for
    what is no operand."""
    if isinstance(x, Tensor):
        return x if dtype is None else x.astype(dtype)
    from . import _tracing

    if weak and isinstance(x, np.generic) and not isinstance(x, np.void):
        array_dtype(np.asarray(x))
        return x.item()
    if weak and isinstance(x, numbers.Number) and not isinstance(x, (int, float, complex)):
        return _real(x)
    if isinstance(x, np.ndarray):
        if _core.current_trace():
            captured = _tracing.capture_array(x)
            return captured if dtype is None else captured.astype(dtype)
        return _copied(x, None if dtype is None else as_dtype(dtype))
    if hasattr(x, "__dlpack__") and not isinstance(x, np.generic):
        result = from_dlpack(x, copy=True)
        return result if dtype is None else result.astype(dtype)
    if isinstance(x, (list, tuple, numbers.Number, np.generic, _core.Size)):
        return _from_numbers(x, None if dtype is None else as_dtype(dtype))
    if hasattr(x, "__array__"):
        return as_tensor(np.asarray(x), dtype)
    if weak:
        return None
    raise Error(
        "this is not a tensor", op="asarray", expected="a tensor, an array, a number, or a nested list", got=type(x).__name__
    )


def _fitting(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Python's integers, which must fit an integer type."""
    if dtype.is_integer and array.dtype.kind in "iu" and array.size:
        limits = np.iinfo(dtype.numpy)
        low, high = int(array.min()), int(array.max())
        if low < limits.min or high > limits.max:
            outside = low if low < limits.min else high
            raise Error(f"the integer {outside} does not fit the type {dtype}", op="asarray", got=str(outside))
    return array


def _copied(array: np.ndarray, dtype: DType | None) -> Tensor:
    """A tensor of its own with the elements, converted by the rules for casts."""
    if dtype is None or array.dtype == dtype.numpy:
        return from_array(array, copy=True)
    if dtype.is_integer and array_dtype(array).is_floating:  # what NumPy leaves open
        return from_array(array, copy=True).astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return from_array(array.astype(dtype.numpy), copy=True)


def _from_numbers(x: Any, dtype: DType | None) -> Tensor:
    if isinstance(x, _core.Size) or (isinstance(x, numbers.Number) and not isinstance(x, np.generic)):
        if isinstance(x, complex) and not isinstance(x, (int, float)):
            raise Error("complex numbers are not supported", op="asarray", got=repr(x))
        if not isinstance(x, (int, float, _core.Size)):
            x = _real(x)
        if dtype is not None and isinstance(x, int):
            _fitting(np.asarray(x), dtype)
        return _core.from_scalar(x, dtype)
    try:
        nested = isinstance(x, (list, tuple)) and _holds_tensors(x)
    except RecursionError:
        raise Error("the list holds itself, or is nested too deeply", op="asarray") from None
    if nested:
        from ._functions import functions

        return functions["stack"]([as_tensor(v, dtype) for v in x])
    try:
        array = np.asarray(x)
    except ValueError as e:
        raise Error("the nested list is ragged", op="asarray", got=str(e)) from None
    if array.dtype == object and all(isinstance(v, int) for v in array.flat):
        raise Error("a number does not fit in 64 bits", op="asarray", got=repr(x)[:80])
    if array.dtype == object and all(isinstance(v, numbers.Number) for v in array.flat):
        array = np.asarray([_real(v) for v in array.flat]).reshape(array.shape)
    if array.dtype == np.float64 and (dtype is None or dtype.is_integer) and not isinstance(x, np.generic):
        array = _large_integers(x, array)
    if array.dtype == object:
        raise Error("the list holds what are no numbers", op="asarray", got=repr(x)[:80])
    if dtype is None and array.dtype == np.float64 and not isinstance(x, np.generic):
        dtype = float32  # Python's floats take the default type
    if dtype is None and array.size == 0 and not isinstance(x, np.generic):
        dtype = float32
    return _copied(array if dtype is None else _fitting(array, dtype), dtype)


def _real(x: Any) -> float:
    """A fraction, a decimal, ... as a float."""
    try:
        return float(x)
    except (TypeError, ValueError, OverflowError):
        raise Error("this is not a real number", op="asarray", got=repr(x)[:80]) from None


def _large_integers(x: Any, array: np.ndarray) -> np.ndarray:
    """Integers above int64 among others, of which NumPy makes floats."""
    if not array.size or float(array.max()) < 2.0**63:
        return array
    items = np.asarray(x, object)
    if not all(isinstance(v, int) for v in items.flat):
        return array
    if any(v < 0 for v in items.flat):
        raise Error("no integer type holds all of these", op="asarray", got=repr(x)[:80])
    return items.astype(np.uint64)


def _holds_tensors(x: Any) -> bool:
    return any(isinstance(v, (Tensor, _core.Size)) or (isinstance(v, (list, tuple)) and _holds_tensors(v)) for v in x)


def asarray(x: Any, dtype: Any = None, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor with x's elements: from a tensor, a NumPy array, a DLPack exporter, a number or a nested
    list. Foreign memory is copied (``from_numpy`` and ``from_dlpack`` borrow). Python floats give
    float32, ints int64. ``copy=False`` is an error where a copy is needed."""
    if device not in (None, "cpu"):
        raise Error("there is no such device", op="asarray", expected="cpu", got=str(device))
    if isinstance(x, Tensor):
        result = x if dtype is None else x.astype(dtype)
        return result.copy() if copy and result is x else result
    if copy is False:
        raise Error("the elements cannot be taken over without a copy", op="asarray", got=type(x).__name__)
    return as_tensor(x, dtype)
