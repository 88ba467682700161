"""Tensors as text, the way NumPy prints arrays."""

from __future__ import annotations

import numpy as np

from . import _core
from ._tensor import Tensor

# Beyond so many elements, printing shows the corners, as NumPy does.
THRESHOLD = 1000


def tensor_repr(x: Tensor) -> str:
    name = type(x).__name__ if type(x) is not Tensor else "tensor"
    trace = _core.current_trace()
    if trace and x._trace == trace:
        return f"<traced {x._type_text} by {x._row}>"
    if x._trace:
        return f"<traced {x._type_text}, of a function whose trace is over>"
    with np.printoptions(threshold=THRESHOLD):
        array = x.numpy()
        shown = array.astype(np.float32) if x.dtype.name == "bfloat16" else array
        body = np.array2string(shown, separator=", ", prefix=name + "(")
    extra = "" if x.dtype.name in ("float32", "int64", "bool") and array.size else f", dtype={x.dtype}"
    if not array.size:
        extra = f", shape={tuple(array.shape)}" + extra
    return f"{name}({body}{extra})"
