"""What functions accept, as types: for annotations only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from ._core import Size
from ._dtypes import DType
from ._tensor import Tensor


class SupportsDLPack(Protocol):
    """A tensor of any library."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


TensorLike: TypeAlias = (
    Tensor | np.ndarray[Any, Any] | np.generic | bool | int | float | Size | list[Any] | tuple[Any, ...] | SupportsDLPack
)
DTypeLike: TypeAlias = DType | str | np.dtype[Any] | type[Any]
SizeLike: TypeAlias = int | Size
ShapeLike: TypeAlias = int | Size | Sequence[int | Size]
