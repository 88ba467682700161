"""PyPTO: tensor operators in Python that become native code.

Names and semantics follow the Python array API standard where it speaks, then NumPy, then PyTorch.
"""

from __future__ import annotations

import math as _math
from typing import Any

from . import _setup  # noqa: F401 - before anything makes a tensor
from . import _core, data, nn, optim, random
from ._arrays import asarray, from_dlpack, from_numpy
from ._checkpoints import load_checkpoint, save_checkpoint
from ._control import cond, custom_op, foreign, scan, while_loop
from ._dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._dtypes import promote as result_type
from ._einsum import einsum
from ._errors import Error, InternalError
from ._files import load, save
from ._functions import functions as _functions
from ._functions import table as _table
from ._gradients import grad_enabled, is_grad_enabled, no_grad, record
from ._jit import Compiled, jit, kernel
from ._module import Buffer, Module, Parameter, module
from ._specs import TensorSpec, spec
from ._tensor import Tensor, is_tensor
from ._vmap import vmap
from .random import Generator, bernoulli, categorical, dropout, manual_seed, normal, permutation, rand, randint, randn, uniform

__version__ = "0.1.0"
__array_api_version__ = "2024.12"

pi = _math.pi
e = _math.e
inf = _math.inf
nan = _math.nan
newaxis = None

tensor = asarray
bool = bool_  # noqa: A001 - the element type's name in the array API
Size = _core.Size

# Draws that need a key are functions of pypto.random, which keeps one.
_keyed = {"random_bits", "uniform", "normal", "randint", "bernoulli", "dropout", "categorical"}
for _name, _function in _functions.items():
    if _name not in _keyed:
        globals().setdefault(_name, _function)


def permute(x: Any, *axes: Any) -> Tensor:
    """The axes in another order."""
    return asarray(x).permute(*axes)


def counters() -> dict[str, int]:
    """What the compiler has done in this process: traces, graphs and kernels compiled, hits in the disk
    cache, kernel launches, runs, microseconds of compilation; and size classes: for each program, the
    combinations of its kernels' classes that its sizes have met, each of which may compile kernels."""
    return _core.counters()


def num_threads() -> int:
    """Threads that a program may use."""
    return _core.num_threads()


def set_num_threads(n: int) -> None:
    """Sets the threads that a program may use (1 to 1024)."""
    _core.set_num_threads(n)


def materialise(*tensors: Tensor) -> None:
    """Computes tensors now, all in one program where possible."""
    _core.materialise(list(tensors))


def op_table() -> list[dict[str, Any]]:
    """The operators as data: name, family, documentation, tests."""
    return _core.op_table()


def function_table() -> list[dict[str, Any]]:
    """The public functions as data: name, signature, documentation, tests."""
    return list(_table)
