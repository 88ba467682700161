"""Indexing as in NumPy: slices, integers, None, ..., integer arrays and boolean masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._errors import Error
from ._tensor import Tensor


def _fail(message: str, x: Tensor, expected: str | None = None, got: str | None = None) -> None:
    raise Error(message, op="index", expected=expected, got=got, operands=(x._type_text,))


def _is_mask(i: Any) -> bool:
    return isinstance(i, (Tensor, np.ndarray)) and i.dtype == "bool"


def _normalise(x: Tensor, index: Any) -> list:
    """One item for each axis and each None; lists become arrays, masks stay one item."""
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_list_as_tensor(i) if isinstance(i, list) else i for i in items]
    for i in items:
        if isinstance(i, (bool, np.bool_)):
            _fail("a bool is not an index", x, got=str(i))
        if isinstance(i, (float, np.floating)):
            _fail("a float is not an index", x, expected="integers, slices, None, ... or tensors", got=str(i))
        if isinstance(i, (Tensor, np.ndarray)) and not (i.dtype == "bool" or _is_integer(i)):
            _fail("an index must be integers or bools", x, got=str(i.dtype))
    used = sum(i.ndim if _is_mask(i) else 1 for i in items if i is not None and i is not Ellipsis)
    dots = [k for k, i in enumerate(items) if i is Ellipsis]
    if len(dots) > 1:
        _fail("an index has one ellipsis at most", x)
    if used > x.ndim:
        _fail("there are more indices than axes", x, expected=f"at most {x.ndim}", got=str(used))
    at = dots[0] if dots else len(items)
    items[at : at + 1] = [slice(None)] * (x.ndim - used)
    return items


def _list_as_tensor(i: list) -> Tensor:
    from ._arrays import as_tensor

    tensor = as_tensor(i)
    return tensor.astype("int64") if tensor.size == 0 else tensor


def _parted(index: Any) -> bool:
    """Whether an ellipsis stands between index arrays. NumPy counts it even where it stands for no axes:
    the arrays' axes then come first."""
    items = index if isinstance(index, tuple) else (index,)
    at = next((k for k, i in enumerate(items) if i is Ellipsis), None)
    if at is None or not any(isinstance(i, (Tensor, np.ndarray, list)) for i in items):
        return False

    def some(part: tuple) -> bool:
        return any(i is not None and not isinstance(i, slice) for i in part)

    return some(items[:at]) and some(items[at + 1 :])


def _neighbours(axes: list) -> bool:
    return axes[-1] - axes[0] + 1 == len(axes)


def _is_integer(i: Any) -> bool:
    return i.dtype.is_integer if isinstance(i, Tensor) else i.dtype.kind in "iu"


def _masks_to_integers(x: Tensor, items: list) -> list:
    """Masks whose values are known become the positions at which they hold."""
    result: list = []
    for i in items:
        if not _is_mask(i):
            result.append(i)
            continue
        if isinstance(i, Tensor) and _core.current_trace():
            _fail("the shape of x[mask] depends on the mask's values", x, expected="pypto.where(mask, x, 0) in traced functions")
        axis = sum(1 for r in result if r is not None)
        values = np.asarray(i)
        for d, n in enumerate(values.shape):
            if axis + d >= x.ndim or x.shape[axis + d] != n:
                _fail("the mask has another shape than the axes that it selects from", x, got=f"a mask of shape {values.shape}")
        result.extend(np.nonzero(values))
    return result


def _less(a: Any, b: Any) -> bool:
    """a < b; of sizes that are not known, it is assumed, and becomes a condition of the trace."""
    return a < b if isinstance(a, int) and isinstance(b, int) else _core.assume_less(a, b)


def _slice_of(x: Tensor, s: slice, n: Any, axis: int) -> tuple[Any, Any, int]:
    """Start, size and step of a slice of an axis of n elements, clamped as Python does."""
    for part in (s.start, s.stop, s.step):
        if part is not None and not isinstance(part, _core.Size) and not hasattr(part, "__index__"):
            _fail("a slice has integer bounds", x, got=repr(part))
    step = 1 if s.step is None else int(s.step)
    if step == 0:
        _fail("a slice's step is 0", x)
    if isinstance(n, int) and not isinstance(s.start, _core.Size) and not isinstance(s.stop, _core.Size):
        start, stop, _ = slice(s.start, s.stop, step).indices(n)
        size = len(range(start, stop, step))
        return (start if size else 0), size, (step if size > 1 else 1)
    low, high = (0, n) if step > 0 else (-1, n - 1)

    def bound(v: Any, default: Any) -> Any:
        if v is None:
            return default
        if not isinstance(v, _core.Size):
            v = v.__index__()
        if not _less(-1, v):
            v = v + n
            return v if _less(low - 1, v) else low
        if default is n and v is n:
            return n
        return v if _less(v, high + 1) else high

    start = bound(s.start, low if step > 0 else high)
    stop = bound(s.stop, high if step > 0 else low)
    span = (stop - start + step - 1) // step if step > 0 else (start - stop - step - 1) // -step
    return start, (span if _less(-1, span) else 0), step


def _position(x: Tensor, i: Any, n: Any, axis: int) -> Any:
    """An integer index, wrapped and checked."""
    if not isinstance(i, _core.Size):
        i = i.__index__()
    wrapped = i if _less(-1, i) else i + n
    if not (_less(-1, wrapped) and _less(wrapped, n)):
        raise OutOfBounds(
            f"index {i} is out of bounds for axis {axis} of size {n}", op="index", label=str(axis), operands=(x._type_text,)
        )
    return wrapped


class OutOfBounds(Error, IndexError):
    """An index beyond the end of its axis; an IndexError too, so that iteration stops at it."""


def _plan(x: Tensor, items: list) -> tuple[list, list, list]:
    """Per axis of x (start, size, step), then what is left: "keep", "drop", None or an array, in order."""
    advanced = any(isinstance(i, (Tensor, np.ndarray)) for i in items)
    starts: list[tuple] = []
    after: list[Any] = []
    axis = 0
    for i in items:
        if i is None:
            after.append(None)
            continue
        n = x.shape[axis]
        if isinstance(i, slice):
            starts.append(_slice_of(x, i, n, axis))
            after.append("keep")
        elif isinstance(i, (Tensor, np.ndarray)):
            starts.append((0, n, 1))
            after.append(i)
        else:
            if not isinstance(i, _core.Size) and not hasattr(i, "__index__"):
                _fail("this is not an index", x, expected="integers, slices, None, ... or tensors", got=repr(i))
            at = _position(x, i, n, axis)
            if advanced:
                starts.append((0, n, 1))
                after.append(at)
            else:
                starts.append((at, 1, 1))
                after.append("drop")
        axis += 1
    return starts, after, items


def _is_whole(starts: list, shape: tuple) -> bool:
    return all(_is_all(start, size, step, n) for (start, size, step), n in zip(starts, shape))


def _is_all(start: Any, size: Any, step: int, n: Any) -> bool:
    same = size == n if isinstance(size, int) and isinstance(n, int) else size is n
    return step == 1 and isinstance(start, int) and start == 0 and same


def get(x: Tensor, index: Any) -> Tensor:
    """x[index]."""
    from ._functions import functions

    if isinstance(index, Tensor) and index.dtype == "bool" and index.ndim == 0:
        _fail("a bool is not an index", x)
    items = _masks_to_integers(x, _normalise(x, index))
    starts, after, _ = _plan(x, items)
    result = x
    if not _is_whole(starts, x.shape):
        result = _core.slice(x, [s[0] for s in starts], [s[1] for s in starts], [s[2] for s in starts])
    shape, arrays, axes = [], [], []
    axis = 0
    for what in after:
        if what is None:
            shape.append(1)
            continue
        size = starts[axis][1]
        axis += 1
        if isinstance(what, str):
            if what == "keep":
                shape.append(size)
            continue
        arrays.append(what)
        axes.append(len(shape))
        shape.append(size)
    if any(what is None or (isinstance(what, str) and what == "drop") for what in after):
        result = functions["reshape"](result, tuple(shape))
    if arrays:
        with _core.NameScope("index", True):
            tensors = [_index_tensor(a) for a in arrays]
            result = functions["take_nd"](result, tensors, tuple(axes))
            if _parted(index) and _neighbours(axes):
                joint = list(range(axes[0], axes[0] + max(t.ndim for t in tensors)))
                rest = [d for d in range(result.ndim) if d not in joint]
                result = functions["transpose"](result, (*joint, *rest))
    return result if result is not x else x._copy()


def _index_tensor(a: Any) -> Tensor:
    from ._arrays import as_tensor

    return as_tensor(a)


def _written(x: Tensor, value: Any) -> Tensor:
    """The value in x's type. Numbers must fit it; of floats written to integers, the fraction is dropped."""
    from ._arrays import as_tensor

    if isinstance(value, np.generic) and not isinstance(value, np.void):
        value = value.item()
    if isinstance(value, float) and x.dtype.is_integer:
        limits = np.iinfo(x.dtype.numpy)
        if not limits.min - 1 < value < limits.max + 1:
            _fail(f"the number {value} does not fit the type {x.dtype}", x, got=str(value))
        value = int(value)
    if isinstance(value, (int, float, list, tuple, _core.Size)):
        return as_tensor(value, x.dtype)
    value = as_tensor(value)
    return value if value.dtype == x.dtype else value.astype(x.dtype)


def put(x: Tensor, index: Any, value: Any, parted: bool = False) -> Tensor:
    """x with `value`, broadcast, at index; `parted`: index arrays do not count as neighbours."""
    from ._arrays import as_tensor
    from ._functions import functions

    items = _normalise(x, index)
    value = _written(x, value)
    if len(items) and _is_mask(items[0]) and value.ndim == 0 and all(i == slice(None) for i in items[1:]):
        mask = as_tensor(items[0])
        for d in range(mask.ndim):
            if mask.shape[d] != x.shape[d]:
                _fail("the mask has another shape than the axes that it selects from", x, got=mask._type_text)
        mask = functions["reshape"](mask, (*mask.shape, *[1] * (x.ndim - mask.ndim)))
        return functions["where"](mask, value, x)
    items = _masks_to_integers(x, items)
    if any(i is None for i in items) and any(isinstance(i, (Tensor, np.ndarray)) for i in items):
        # New axes are axes of size 1 of the target.
        sizes = iter(x.shape)
        wide = functions["reshape"](x, tuple(1 if i is None else next(sizes) for i in items))
        written = put(wide, tuple(slice(None) if i is None else i for i in items), value, parted or _parted(index))
        return functions["reshape"](written, x.shape)
    starts, after, _ = _plan(x, items)
    if any(not isinstance(a, str) and a is not None for a in after):
        with _core.NameScope("index", True):
            return _scatter(x, starts, after, value, parted or _parted(index))
    # The shape of x[index], and of the same with every axis of x.
    shown, full, axis = [], [], 0
    for what in after:
        if what is None:
            shown.append(1)
            continue
        full.append(starts[axis][1])
        if what == "keep":
            shown.append(starts[axis][1])
        axis += 1
    with _core.NameScope("index", True):
        value = functions["broadcast_to"](_fitting(x, value, shown), tuple(shown))
    value = functions["reshape"](value, tuple(full))
    if _is_whole(starts, x.shape):
        return value
    backwards = [d for d, (_, _, step) in enumerate(starts) if step < 0]
    if backwards:
        value = functions["flip"](value, tuple(backwards))
        starts = [(start + (size - 1) * step, size, -step) if step < 0 else (start, size, step) for start, size, step in starts]
    if any(step != 1 for _, _, step in starts):
        arrays = [functions["arange"](size) * step + start for start, size, step in starts]
        arrays = [functions["reshape"](a, (-1, *[1] * (x.ndim - 1 - d))) for d, a in enumerate(arrays)]
        return functions["put_nd"](x, arrays, tuple(range(x.ndim)), value)
    before = [s[0] for s in starts]
    behind = [n - s[0] - s[1] for s, n in zip(starts, x.shape)]
    widths = [w for pair in zip(before, behind) for w in pair]
    inside = functions["pad"](functions["full"](value.shape, True), widths, "constant", False)
    return functions["where"](inside, functions["pad"](value, widths), x)


def _fitting(x: Tensor, value: Tensor, shown: list) -> Tensor:
    """Leading axes of size 1 that the target lacks are dropped, as NumPy does."""
    from ._functions import functions

    extra = value.ndim - len(shown)
    if extra > 0 and all(s == 1 for s in value.shape[:extra]):
        value = functions["reshape"](value, value.shape[extra:])
    elif extra > 0:
        _fail("the value has more axes than what it is written to", x, got=value._type_text)
    return value


def _scatter(x: Tensor, starts: list, after: list, value: Tensor, parted: bool) -> Tensor:
    """Integer arrays for every axis, so that one scatter writes."""
    from ._arrays import as_tensor
    from ._functions import functions

    arrays = [a for a in after if not isinstance(a, str)]
    axes = [d for d, a in enumerate(after) if not isinstance(a, str)]
    whole = all(isinstance(a, str) is False or _is_whole([s], (n,)) for a, s, n in zip(after, starts, x.shape))
    if whole and not parted:
        return functions["put_nd"](x, [as_tensor(a) for a in arrays], tuple(axes), value)
    # Slices beside arrays: NumPy's order of the result's axes, then every axis by its positions.
    tensors = [as_tensor(a) for a in arrays]
    joint = functions["broadcast_arrays"](*tensors) if len(tensors) > 1 else tensors
    joint = list(joint) if isinstance(joint, (tuple, list)) else [joint]
    rank = joint[0].ndim
    neighbours = _neighbours(axes) and not parted
    kept = [d for d in range(x.ndim) if d not in axes]
    at = sum(1 for d in kept if d < axes[0]) if neighbours else 0
    total = len(kept) + rank
    positions: dict[int, Tensor] = {}
    for k, d in enumerate(kept):
        start, size, step = starts[d]
        place = k if k < at else k + rank
        shape = [1] * total
        shape[place] = size
        positions[d] = functions["reshape"](functions["arange"](size) * step + start, tuple(shape))
    for d, a in zip(axes, joint):
        shape = [1] * at + list(a.shape) + [1] * (total - at - rank)
        positions[d] = functions["reshape"](a, tuple(shape))
    return functions["put_nd"](x, [positions[d] for d in range(x.ndim)], tuple(range(x.ndim)), value)
