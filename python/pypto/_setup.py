"""Tells the core the package's classes."""

from . import _core
from ._arrays import as_tensor
from ._dtypes import DType, all_dtypes, as_dtype
from ._errors import Error, internal_error
from ._tensor import Tensor
from ._trace_names import PACKAGE
from ._tracing import lift

_core.set_classes(Tensor, all_dtypes, DType, as_dtype, as_tensor, lift, Error, internal_error, PACKAGE)
