"""The tensor: a handle to an immutable value that is computed when it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _core
from ._dtypes import DType, as_dtype
from ._errors import Error

bool_ = bool  # Tensor has a method of that name


class Tensor(_core.TensorHandle):
    """A dense tensor.

    Operators are recorded and run when a result is read (``numpy()``, ``item()``, printing, a branch on a
    value). In-place syntax (``x += y``, ``x[i] = v``) points this handle at a new value; no other
    handle sees it. ``pypto.Tensor["B", 64, pypto.float16]`` is an annotation: axes by name or size, then
    the element type.
    """

    __slots__ = ("_name",)
    _name: str  # what a module calls it
    __array_priority__ = 1000
    __array_ufunc__ = None  # NumPy's operators leave mixed operations to ours
    # Elements are compared, so a tensor is hashed by identity.
    __hash__ = object.__hash__

    def __init__(self, data: Any, dtype: Any = None) -> None:
        from ._arrays import as_tensor

        value = as_tensor(data, dtype)
        super().__init__()
        self._assign(value)

    def __class_getitem__(cls, items: Any) -> Any:
        from ._specs import annotation

        return annotation(items)

    # --- facts --------------------------------------------------------------------------------------

    @property
    def device(self) -> str:
        """Where the elements are: "cpu"."""
        return "cpu"

    @property
    def size(self) -> Any:
        """The number of elements."""
        n: Any = 1
        for s in self.shape:
            n = n * s
        return n

    def dim(self) -> int:
        """The number of axes."""
        return self.ndim

    def numel(self) -> Any:
        """The number of elements."""
        return self.size

    @property
    def nbytes(self) -> Any:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def T(self) -> Tensor:
        """The matrix transposed; of other ranks, the axes reversed."""
        return _function("transpose")(self)

    @property
    def mT(self) -> Tensor:
        """The last two axes exchanged."""
        if self.ndim < 2:
            raise Error("the tensor has fewer than two axes", op="mT", got=self._type_text)
        return _function("swapaxes")(self, -1, -2)

    # --- reading ------------------------------------------------------------------------------------

    def numpy(self) -> np.ndarray:
        """The elements as a read-only NumPy array (computes the tensor)."""
        from ._arrays import to_numpy

        self._readable("numpy")
        return to_numpy(self)

    def item(self) -> Any:
        """The one element as a Python number."""
        self._readable("item")
        if any(s != 1 for s in self.shape):
            raise Error("the tensor has not exactly one element", op="item", got=self._type_text)
        return _core.item(self)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.numpy().tolist()

    def wait(self) -> Tensor:
        """Computes the tensor now."""
        self._readable("wait")
        _core.materialise([self])
        return self

    def _readable(self, what: str) -> None:
        trace = _core.current_trace()
        if trace and self._trace == trace:
            raise Error(
                "the value is not known while the function is traced",
                op=what,
                expected="pypto.where, pypto.cond or pypto.while_loop for what depends on values",
                got=self._type_text,
                **_caller(),
            )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
        self._readable("__dlpack__")
        if dl_device not in (None, (1, 0)):
            raise BufferError("the tensor is in this processor's memory")
        return _core.to_capsule(self, max_version is not None and max_version[0] >= 1, bool(copy))

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        import pypto

        return pypto

    def __bool__(self) -> bool:
        return bool(self._scalar("bool"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __index__(self) -> int:
        if not self.dtype.is_integer:
            raise TypeError(f"a tensor of {self.dtype} is not an index")
        return int(self._scalar("index"))

    def _scalar(self, what: str) -> Any:
        if self.ndim and any(s != 1 for s in self.shape):
            raise Error(
                "the tensor has no elements: it is neither true nor false; use all() or any()"
                if what == "bool" and 0 in self.shape
                else "the truth of a tensor with several elements is ambiguous; use all() or any()"
                if what == "bool"
                else "only a tensor with one element is a number",
                op=what,
                got=self._type_text,
                **_caller(),
            )
        return self.item()

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("a tensor without axes has no length")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TypeError("a tensor without axes cannot be walked")
        return iter([self[i] for i in range(int(self.shape[0]))])

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __repr__(self) -> str:
        from ._printing import tensor_repr

        return tensor_repr(self)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __reduce__(self) -> Any:
        array = self.numpy()
        raw = array.view(np.uint16) if self.dtype.name == "bfloat16" else array
        return _unpickle, (type(self), np.array(raw), self.dtype.name, self.requires_grad and self.is_leaf)

    def __copy__(self) -> Tensor:
        return self._copy()

    def __deepcopy__(self, memo: dict) -> Tensor:
        return type(self)._from(self.detach(), self.requires_grad and self.is_leaf)

    @classmethod
    def _from(cls, value: Tensor, requires_grad: bool_) -> Any:
        result = cls.__new__(cls)
        _core.TensorHandle.__init__(result)
        result._assign(value)
        return result.requires_grad_() if requires_grad else result

    def copy(self) -> Tensor:
        """A handle of its own to the same value."""
        return self._copy()

    clone = copy

    # --- gradients ----------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool_:
        """Is what is computed from the tensor recorded, so that its gradient can be asked for? Setting it
        makes the tensor one at which a record begins (or, with False, no longer)."""
        return bool_(_core.requires_gradient(self))

    @requires_grad.setter
    def requires_grad(self, wanted: bool_) -> None:
        _core.require_gradient(self, wanted)

    def requires_grad_(self, wanted: bool_ = True) -> Tensor:
        """Sets `requires_grad`, and gives the tensor."""
        _core.require_gradient(self, wanted)
        return self

    @property
    def is_leaf(self) -> bool_:
        """Was the tensor not computed from others that require a gradient?"""
        return bool_(_core.is_leaf(self))

    @property
    def grad(self) -> Tensor | None:
        """The gradient of a leaf that requires one: the sum of what came to it since it was None."""
        gradient: Tensor | None = _core.gradient(self)
        return gradient

    @grad.setter
    def grad(self, gradient: Tensor | None) -> None:
        _core.set_gradient(self, gradient)

    def backward(self, gradient: Tensor | None = None, retain_graph: bool_ = False) -> None:
        """Adds the gradient of this tensor (of one element, or with the gradient of its elements given) to
        `grad` of every leaf that requires one and that it was computed from, and releases the record."""
        _core.backward(self, gradient, retain_graph)

    def detach(self) -> Tensor:
        """A handle to the same value, through which no gradient passes."""
        detached: Tensor = _core.detached(self)
        return detached

    def to(self, target: Any) -> Tensor:
        """The tensor as another element type, or on a device ("cpu")."""
        dtype = _target(target)
        return self if dtype is None else self.astype(dtype)

    def cpu(self) -> Tensor:
        """The tensor in this processor's memory: itself."""
        return self

    def float(self) -> Tensor:
        """As float32."""
        return self.astype("float32")

    def half(self) -> Tensor:
        """As float16."""
        return self.astype("float16")

    def bool(self) -> Tensor:
        """x != 0."""
        return self.astype("bool")

    def long(self) -> Tensor:
        """As int64."""
        return self.astype("int64")

    def astype(self, dtype: Any) -> Tensor:
        """The elements converted: rounded to nearest even; float to integer saturates, NaN gives 0."""
        return _core.cast(self, dtype)

    type = astype

    # --- movement with PyTorch's and NumPy's argument forms -------------------------------------------

    def reshape(self, *shape: Any) -> Tensor:
        """The elements, row-major, in another shape; one size may be -1."""
        return _function("reshape")(self, _listed(shape))

    view = reshape

    def transpose(self, *axes: Any) -> Tensor:
        """The axes in another order (all of them), reversed without arguments, or two exchanged as
        PyTorch does if two are given for a tensor of another rank."""
        if not axes or axes == (None,):
            return _function("transpose")(self)
        order = _listed(axes)
        if len(order) == 2 and self.ndim != 2:
            return _function("swapaxes")(self, *order)
        return _function("transpose")(self, tuple(order))

    def permute(self, *axes: Any) -> Tensor:
        """The axes in another order."""
        with _core.NameScope("permute", True):
            return _function("transpose")(self, tuple(_listed(axes)))

    def expand(self, *shape: Any) -> Tensor:
        """Axes of size 1 repeated to `shape`; -1 keeps a size."""
        sizes = list(_listed(shape))
        offset = len(sizes) - self.ndim
        for i, s in enumerate(sizes):
            if isinstance(s, int) and s == -1 and i >= offset:
                sizes[i] = self.shape[i - offset]
        with _core.NameScope("expand", True):
            return _function("broadcast_to")(self, tuple(sizes))

    def unsqueeze(self, dim: int) -> Tensor:
        """A new axis of size 1 at `dim`."""
        with _core.NameScope("unsqueeze", True):
            return _function("expand_dims")(self, dim)

    # --- indexing ---------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Tensor:
        from ._indexing import get

        return get(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        from ._indexing import put

        self._rebind(put(self, index, value))

    def _rebind(self, value: Tensor) -> Tensor:
        from ._tracing import note_write

        _core.rebind(self, note_write(self, value))
        return self

    # --- operators ---------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Tensor:
        return _matmul(self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return _matmul(other, self)

    def __imatmul__(self, other: Any) -> Tensor:
        return _in_place(self, _matmul(self, other), "@=")

    def __neg__(self) -> Tensor:
        return _core.unary("negative", self)

    def __pos__(self) -> Tensor:
        return self._copy()

    def __abs__(self) -> Tensor:
        return _core.unary("abs", self)

    def __invert__(self) -> Tensor:
        return _core.unary("bitwise_not", self)

    def __pow__(self, other: Any) -> Tensor:
        return _function("power")(self, other)

    def __rpow__(self, other: Any) -> Tensor:
        return _function("power")(other, self)

    def __ipow__(self, other: Any) -> Tensor:
        return _in_place(self, self**other, "**=")

    def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Tensor, Tensor]:
        return other // self, other % self

    def __round__(self, digits: int | None = None) -> Tensor:
        if not digits:
            return _core.unary("round", self)
        scale = 10.0**digits
        return _core.unary("round", self * scale) / scale


def _matmul(a: Any, b: Any) -> Any:
    if isinstance(a, (int, float)) or isinstance(b, (int, float)):
        return NotImplemented
    return _core.matmul(a, b)


def _in_place(x: Tensor, result: Any, symbol: str) -> Any:
    if result is NotImplemented:
        return result
    if result.dtype != x.dtype:
        if x.dtype.is_floating or not result.dtype.is_floating and x.dtype.name != "bool":
            result = result.astype(x.dtype)
        else:
            raise Error(
                "the result cannot be kept in the tensor's element type", op=symbol, expected=str(x.dtype), got=str(result.dtype)
            )
    if result.ndim != x.ndim or any(a != b for a, b in zip(result.shape, x.shape)):
        raise Error("the result has another shape than the tensor", op=symbol, expected=x._type_text, got=result._type_text)
    return x._rebind(result)


def _operator(name: str, row: str, symbol: str, swapped_row: str | None = None) -> None:
    binary = _core.binary

    def forward(self: Tensor, other: Any) -> Any:
        return binary(row, self, other, False)

    def backward(self: Tensor, other: Any) -> Any:
        return binary(row, self, other, True)

    def in_place(self: Tensor, other: Any) -> Any:
        return _in_place(self, binary(row, self, other, False), symbol + "=")

    for prefix, f in (("", forward), ("r", backward), ("i", in_place)):
        f.__name__ = f"__{prefix}{name}__"
        setattr(Tensor, f.__name__, f)


def _comparison(name: str, row: str, swapped: bool) -> None:
    binary = _core.binary

    def compare(self: Tensor, other: Any) -> Any:
        return binary(row, self, other, swapped)

    compare.__name__ = f"__{name}__"
    setattr(Tensor, compare.__name__, compare)


for _name, _row, _symbol in [
    ("add", "add", "+"),
    ("sub", "subtract", "-"),
    ("mul", "multiply", "*"),
    ("truediv", "divide", "/"),
    ("floordiv", "floor_divide", "//"),
    ("mod", "remainder", "%"),
    ("and", "bitwise_and", "&"),
    ("or", "bitwise_or", "|"),
    ("xor", "bitwise_xor", "^"),
    ("lshift", "left_shift", "<<"),
    ("rshift", "right_shift", ">>"),
]:
    _operator(_name, _row, _symbol)
for _name, _row, _swapped in [
    ("eq", "equal", False),
    ("ne", "not_equal", False),
    ("lt", "less", False),
    ("le", "less_equal", False),
    ("gt", "less", True),
    ("ge", "less_equal", True),
]:
    _comparison(_name, _row, _swapped)
Tensor.__hash__ = object.__hash__  # type: ignore

# Names before a colon that stand for backends.
_devices = {"cpu", "cuda", "rocm", "oneapi", "opencl", "tpu"}


def _target(target: Any) -> DType | None:
    """The element type that `to` is asked for, or None for this processor."""
    if isinstance(target, str):
        if target in ("cpu", "cpu:0"):
            return None
        if target.partition(":")[0] in _devices:
            raise Error("this device is not available", op="to", expected="cpu", got=target)
        try:
            return as_dtype(target)
        except Error:
            raise Error("this is neither an element type nor a device", op="to", expected="cpu, float32, ...", got=target) from None
    return as_dtype(target)


def _listed(items: tuple) -> Any:
    return items[0] if len(items) == 1 and isinstance(items[0], (tuple, list)) else items


def _function(name: str) -> Any:
    from ._functions import functions

    return functions[name]


def _caller() -> dict:
    from ._trace_names import caller

    return caller()


def _unpickle(cls: type, array: np.ndarray, dtype: str, requires_grad: bool = False) -> Tensor:
    from ._arrays import from_array

    if dtype == "bfloat16":
        import ml_dtypes

        array = array.view(ml_dtypes.bfloat16)
    value = from_array(array, copy=True)
    return cls._from(value, requires_grad)  # type: ignore[attr-defined,no-any-return]


def is_tensor(x: Any) -> bool:
    """Whether x is a Tensor."""
    return isinstance(x, Tensor)


__all__ = ["DType", "Tensor", "is_tensor"]
