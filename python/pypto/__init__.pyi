# Made by tools/make_stubs.py from the tables; ./dev build writes it again.
import builtins
from collections.abc import Sequence
from typing import Any, overload

from . import data as data
from . import nn as nn
from . import optim as optim
from . import random as random
from ._arrays import asarray as asarray
from ._arrays import from_dlpack as from_dlpack
from ._arrays import from_numpy as from_numpy
from ._checkpoints import load_checkpoint as load_checkpoint
from ._checkpoints import save_checkpoint as save_checkpoint
from ._control import cond as cond
from ._control import custom_op as custom_op
from ._control import foreign as foreign
from ._control import scan as scan
from ._control import while_loop as while_loop
from ._dtypes import DType as DType
from ._dtypes import bfloat16 as bfloat16
from ._dtypes import bool_ as bool_
from ._dtypes import float16 as float16
from ._dtypes import float32 as float32
from ._dtypes import float64 as float64
from ._dtypes import int8 as int8
from ._dtypes import int16 as int16
from ._dtypes import int32 as int32
from ._dtypes import int64 as int64
from ._dtypes import uint8 as uint8
from ._dtypes import uint16 as uint16
from ._dtypes import uint32 as uint32
from ._dtypes import uint64 as uint64
from ._dtypes import promote as _result_type
from ._einsum import einsum as einsum
from ._errors import Error as Error
from ._errors import InternalError as InternalError
from ._files import load as load
from ._files import save as save
from ._gradients import grad_enabled as grad_enabled
from ._gradients import is_grad_enabled as is_grad_enabled
from ._gradients import no_grad as no_grad
from ._gradients import record as record
from ._jit import Compiled as Compiled
from ._jit import jit as jit
from ._jit import kernel as kernel
from ._module import Buffer as Buffer
from ._module import Module as Module
from ._module import Parameter as Parameter
from ._module import module as module
from ._specs import TensorSpec as TensorSpec
from ._specs import spec as spec
from ._tensor import Tensor as Tensor
from ._tensor import is_tensor as is_tensor
from ._vmap import vmap as vmap
from .random import Generator as Generator
from .random import bernoulli as bernoulli
from .random import categorical as categorical
from .random import dropout as dropout
from .random import manual_seed as manual_seed
from .random import normal as normal
from .random import permutation as permutation
from .random import rand as rand
from .random import randint as randint
from .random import randn as randn
from .random import uniform as uniform
from ._core import Size as Size
from ._types import DTypeLike, ShapeLike, SizeLike, TensorLike

result_type = _result_type
__version__: str
__array_api_version__: str
pi: float
e: float
inf: float
nan: float
newaxis: None
tensor = asarray
bool: DType

def permute(x: Any, *axes: Any) -> Tensor:
    """The axes in another order."""
def counters() -> dict[str, int]:
    """What the compiler has done in this process: traces, graphs and kernels compiled, hits in the disk
    cache, kernel launches, runs, microseconds of compilation; and size classes: for each program, the
    combinations of its kernels' classes that its sizes have met, each of which may compile kernels."""
def num_threads() -> int:
    """Threads that a program may use."""
def set_num_threads(n: int) -> None:
    """Sets the threads that a program may use (1 to 1024)."""
def materialise(*tensors: Tensor) -> None:
    """Computes tensors now, all in one program where possible."""
def op_table() -> list[dict[str, Any]]:
    """The operators as data: name, family, documentation, tests."""
def function_table() -> list[dict[str, Any]]:
    """The public functions as data: name, signature, documentation, tests."""
def zeros(shape: ShapeLike, dtype: DTypeLike = float32) -> Tensor:
    """A tensor of zeros."""
def ones(shape: ShapeLike, dtype: DTypeLike = float32) -> Tensor:
    """A tensor of ones."""
def full(shape: ShapeLike, value: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of one value; the type is the value's unless it is given."""
def zeros_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros of the shape and type of x."""
def ones_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Ones of the shape and type of x."""
def full_like(x: TensorLike, value: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """One value in the shape and type of x."""
def arange(
    start: SizeLike | float,
    stop: SizeLike | float | None = None,
    step: int | float = 1,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """start, start + step, ... below stop (above it for a negative step); arange(n) is 0 .. n-1. int64 if all three are
    integers, else float32."""
def linspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: builtins.bool = True,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """num evenly spaced numbers from start to stop, which is the last unless endpoint is False."""
def eye(n: SizeLike, m: SizeLike | None = None, k: SizeLike = 0, dtype: DTypeLike = float32) -> Tensor:
    """Ones on the k-th diagonal of an n x m matrix, zeros elsewhere."""
def tril(x: TensorLike, k: SizeLike = 0) -> Tensor:
    """x with zeros above the k-th diagonal of its last two axes."""
def triu(x: TensorLike, k: SizeLike = 0) -> Tensor:
    """x with zeros below the k-th diagonal of its last two axes."""
def meshgrid(*xs: TensorLike, indexing: str = 'xy') -> tuple[Tensor, ...]:
    """Coordinates of a grid, one tensor per vector; with "xy" the first two axes are exchanged."""
def relu(x: TensorLike) -> Tensor:
    """max(x, 0)."""
def gelu(x: TensorLike, approximate: str = 'none') -> Tensor:
    """x * Phi(x), Phi the normal distribution function; "tanh" approximates it."""
def silu(x: TensorLike) -> Tensor:
    """x * sigmoid(x)."""
swish = silu
def sigmoid(x: TensorLike) -> Tensor:
    """1 / (1 + exp(-x))."""
def log_sigmoid(x: TensorLike) -> Tensor:
    """log(sigmoid(x))."""
def softplus(x: TensorLike, beta: float = 1.0) -> Tensor:
    """log(1 + exp(beta x)) / beta."""
def leaky_relu(x: TensorLike, negative_slope: float = 0.01) -> Tensor:
    """x where it is positive, negative_slope * x elsewhere."""
def elu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """x where it is positive, alpha (exp(x) - 1) elsewhere."""
def relu6(x: TensorLike) -> Tensor:
    """x within 0 .. 6."""
def hardsigmoid(x: TensorLike) -> Tensor:
    """x / 6 + 1/2 within 0 .. 1."""
def hardswish(x: TensorLike) -> Tensor:
    """x * hardsigmoid(x)."""
def mish(x: TensorLike) -> Tensor:
    """x * tanh(softplus(x))."""
def softsign(x: TensorLike) -> Tensor:
    """x / (1 + |x|)."""
def clip(x: TensorLike, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """x within min .. max; NaN stays NaN, and max wins where min > max."""
clamp = clip
def square(x: TensorLike) -> Tensor:
    """x * x."""
def rsqrt(x: TensorLike) -> Tensor:
    """1 / sqrt(x)."""
def reciprocal(x: TensorLike) -> Tensor:
    """1 / x."""
def logaddexp(x: TensorLike, y: TensorLike) -> Tensor:
    """log(exp(x) + exp(y)), without overflow."""
def hypot(x: TensorLike, y: TensorLike) -> Tensor:
    """sqrt(x*x + y*y), without overflow."""
def lerp(x: TensorLike, y: TensorLike, weight: TensorLike) -> Tensor:
    """x + weight * (y - x)."""
def asinh(x: TensorLike) -> Tensor:
    """The inverse of sinh."""
arcsinh = asinh
def acosh(x: TensorLike) -> Tensor:
    """The inverse of cosh; NaN below 1."""
arccosh = acosh
def atanh(x: TensorLike) -> Tensor:
    """The inverse of tanh; infinite at -1 and 1, NaN beyond."""
arctanh = atanh
def deg2rad(x: TensorLike) -> Tensor:
    """Degrees to radians."""
def rad2deg(x: TensorLike) -> Tensor:
    """Radians to degrees."""
def nan_to_num(x: TensorLike, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """x with NaN and the infinities replaced (the infinities by the largest finite values)."""
def greater(x: TensorLike, y: TensorLike) -> Tensor:
    """Is x greater than y?"""
def greater_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Is x greater than or equal to y?"""
def logical_and(x: TensorLike, y: TensorLike) -> Tensor:
    """Are both different from zero?"""
def logical_or(x: TensorLike, y: TensorLike) -> Tensor:
    """Is either different from zero?"""
def logical_xor(x: TensorLike, y: TensorLike) -> Tensor:
    """Is exactly one of them different from zero?"""
def logical_not(x: TensorLike) -> Tensor:
    """Is it zero?"""
def isclose(x: TensorLike, y: TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: builtins.bool = False) -> Tensor:
    """Is |x - y| <= atol + rtol |y|? Equal infinities are close."""
def isinf(x: TensorLike) -> Tensor:
    """Is it infinite?"""
def isfinite(x: TensorLike) -> Tensor:
    """Is it neither infinite nor NaN?"""
def isnan(x: TensorLike) -> Tensor:
    """Is it NaN?"""
def astype(x: TensorLike, dtype: DTypeLike) -> Tensor:
    """x converted: to the nearest value, ties to even; float to integer truncates towards zero and saturates, NaN gives 0;
    integers wrap; to bool, is it different from zero?"""
cast = astype
@overload
def sum(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: builtins.bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Sum over axes (all by default). Integers and bools are summed in 64 bits, halves in float32."""
@overload
def sum(
    x: TensorLike,
    *,
    dim: int | Sequence[int] | None = None,
    keepdim: builtins.bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
@overload
def prod(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: builtins.bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Product over axes (all by default), in the types in which sum adds."""
@overload
def prod(
    x: TensorLike,
    *,
    dim: int | Sequence[int] | None = None,
    keepdim: builtins.bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
@overload
def mean(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: builtins.bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Mean over axes (all by default); of integers in float32; of nothing NaN."""
@overload
def mean(
    x: TensorLike,
    *,
    dim: int | Sequence[int] | None = None,
    keepdim: builtins.bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
@overload
def max(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
    """Greatest value over axes (all by default); NaN if there is one. An error for an axis of size 0."""
@overload
def max(x: TensorLike, *, dim: int | Sequence[int] | None = None, keepdim: builtins.bool = False) -> Tensor: ...
amax = max
@overload
def min(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
    """Least value over axes (all by default); NaN if there is one. An error for an axis of size 0."""
@overload
def min(x: TensorLike, *, dim: int | Sequence[int] | None = None, keepdim: builtins.bool = False) -> Tensor: ...
amin = min
@overload
def argmax(x: TensorLike, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
    """Position (int64) of the first greatest value along an axis, or in the flattened tensor; NaN is the greatest."""
@overload
def argmax(x: TensorLike, *, dim: int | None = None, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def argmin(x: TensorLike, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
    """Position (int64) of the first least value along an axis, or in the flattened tensor; NaN is the least."""
@overload
def argmin(x: TensorLike, *, dim: int | None = None, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def var(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: builtins.bool = False,
    ddof: float = 0.0,
    correction: float | None = None,
) -> Tensor:
    """Variance over axes (all by default): the sum of squared deviations divided by n - ddof (`correction` is another name
    of ddof)."""
@overload
def var(
    x: TensorLike,
    *,
    dim: int | Sequence[int] | None = None,
    keepdim: builtins.bool = False,
    ddof: float = 0.0,
    correction: float | None = None,
) -> Tensor: ...
@overload
def std(
    x: TensorLike,
    axis: int | Sequence[int] | None = None,
    keepdims: builtins.bool = False,
    ddof: float = 0.0,
    correction: float | None = None,
) -> Tensor:
    """Square root of var."""
@overload
def std(
    x: TensorLike,
    *,
    dim: int | Sequence[int] | None = None,
    keepdim: builtins.bool = False,
    ddof: float = 0.0,
    correction: float | None = None,
) -> Tensor: ...
@overload
def all(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
    """Are all elements different from zero?"""
@overload
def all(x: TensorLike, *, dim: int | Sequence[int] | None = None, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def any(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
    """Is any element different from zero?"""
@overload
def any(x: TensorLike, *, dim: int | Sequence[int] | None = None, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def count_nonzero(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
    """How many elements (int64) are different from zero?"""
@overload
def count_nonzero(x: TensorLike, *, dim: int | Sequence[int] | None = None, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def logsumexp(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
    """log(sum(exp(x))) over axes (all by default), without overflow; -inf where all are -inf."""
@overload
def logsumexp(x: TensorLike, *, dim: int | Sequence[int] | None = None, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def norm(x: TensorLike, ord: float = 2.0, axis: int | Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
    """The vector norm of order `ord` over axes (all by default): sum(|x|^ord)^(1/ord); inf, -inf: the greatest, the least
    |x|; 0: the number of nonzero elements."""
@overload
def norm(x: TensorLike, ord: float = 2.0, *, dim: int | Sequence[int] | None = None, keepdim: builtins.bool = False) -> Tensor: ...
def allclose(
    x: TensorLike,
    y: TensorLike,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: builtins.bool = False,
) -> Tensor:
    """Are all elements close (isclose)?"""
@overload
def cumsum(x: TensorLike, axis: int | None = None, reverse: builtins.bool = False, dtype: DTypeLike | None = None) -> Tensor:
    """Running sum along an axis, or of the flattened tensor, in the types in which sum adds."""
@overload
def cumsum(x: TensorLike, *, dim: int | None = None, reverse: builtins.bool = False, dtype: DTypeLike | None = None) -> Tensor: ...
cumulative_sum = cumsum
@overload
def cumprod(x: TensorLike, axis: int | None = None, reverse: builtins.bool = False, dtype: DTypeLike | None = None) -> Tensor:
    """Running product along an axis, or of the flattened tensor."""
@overload
def cumprod(x: TensorLike, *, dim: int | None = None, reverse: builtins.bool = False, dtype: DTypeLike | None = None) -> Tensor: ...
cumulative_prod = cumprod
@overload
def cummax(x: TensorLike, axis: int | None = None, reverse: builtins.bool = False) -> Tensor:
    """Running maximum (the values) along an axis, or of the flattened tensor."""
@overload
def cummax(x: TensorLike, *, dim: int | None = None, reverse: builtins.bool = False) -> Tensor: ...
@overload
def cummin(x: TensorLike, axis: int | None = None, reverse: builtins.bool = False) -> Tensor:
    """Running minimum (the values) along an axis, or of the flattened tensor."""
@overload
def cummin(x: TensorLike, *, dim: int | None = None, reverse: builtins.bool = False) -> Tensor: ...
@overload
def logcumsumexp(x: TensorLike, axis: int | None = None, reverse: builtins.bool = False) -> Tensor:
    """log(cumsum(exp(x))), without overflow."""
@overload
def logcumsumexp(x: TensorLike, *, dim: int | None = None, reverse: builtins.bool = False) -> Tensor: ...
@overload
def diff(x: TensorLike, n: int = 1, axis: int = -1) -> Tensor:
    """Differences of neighbours along an axis, n times."""
@overload
def diff(x: TensorLike, n: int = 1, *, dim: int = -1) -> Tensor: ...
def matmul(x: TensorLike, y: TensorLike) -> Tensor:
    """Product of matrices over the last axis of x and the axis before the last of y. Vectors are rows on the left and
    columns on the right; axes before the last two broadcast."""
mm = matmul
bmm = matmul
def dot(x: TensorLike, y: TensorLike) -> Tensor:
    """The last axis of x with the axis before the last of y (the only one of a vector); with a scalar, the product."""
def vdot(x: TensorLike, y: TensorLike) -> Tensor:
    """The sum of products of all elements of both."""
def inner(x: TensorLike, y: TensorLike) -> Tensor:
    """The last axis of x with the last axis of y; with a scalar, the product."""
def outer(x: TensorLike, y: TensorLike) -> Tensor:
    """Every element of x with every element of y."""
@overload
def vecdot(x: TensorLike, y: TensorLike, axis: int = -1) -> Tensor:
    """The sum of products along an axis; the others broadcast."""
@overload
def vecdot(x: TensorLike, y: TensorLike, *, dim: int = -1) -> Tensor: ...
def tensordot(x: TensorLike, y: TensorLike, axes: int | Sequence[int] | Sequence[Sequence[int]] = 2) -> Tensor:
    """Sums over the last `axes` axes of x and the first of y; or over the axes of x that the first half of `axes` names,
    with those of y that the second half names."""
def linear(x: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Tensor:
    """x @ weight.T + bias: x [..., features], weight [outputs, features]."""
def matrix_transpose(x: TensorLike) -> Tensor:
    """The last two axes exchanged."""
def conv1d(
    x: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation over the last axis: x [batch, channels, ...], weight [outputs, channels / groups, ...]. Outside x
    are zeros: `padding` before and after each axis, or "valid" (none), or "same" (the result has the sizes of x)."""
def conv2d(
    x: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation over the last 2 axes: x [batch, channels, ...], weight [outputs, channels / groups, ...]. Outside x
    are zeros: `padding` before and after each axis, or "valid" (none), or "same" (the result has the sizes of x)."""
def conv3d(
    x: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation over the last 3 axes: x [batch, channels, ...], weight [outputs, channels / groups, ...]. Outside x
    are zeros: `padding` before and after each axis, or "valid" (none), or "same" (the result has the sizes of x)."""
def reshape(x: TensorLike, shape: ShapeLike) -> Tensor:
    """The same elements in row-major order in another shape; one size may be -1."""
def transpose(x: TensorLike, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in another order (reversed by default)."""
permute_dims = transpose
def swapaxes(x: TensorLike, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged."""
def moveaxis(x: TensorLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Axes moved to other places; the rest keep their order."""
@overload
def squeeze(x: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """Without axes of size 1 (all of them by default). An error if a named axis has another size."""
@overload
def squeeze(x: TensorLike, *, dim: int | Sequence[int] | None = None) -> Tensor: ...
@overload
def expand_dims(x: TensorLike, axis: int | Sequence[int]) -> Tensor:
    """With new axes of size 1 at these places of the result."""
@overload
def expand_dims(x: TensorLike, *, dim: int | Sequence[int]) -> Tensor: ...
unsqueeze = expand_dims
def flatten(x: TensorLike, start_axis: int = 0, end_axis: int = -1) -> Tensor:
    """The axes from start_axis to end_axis as one."""
def ravel(x: TensorLike) -> Tensor:
    """All elements in row-major order."""
def broadcast_to(x: TensorLike, shape: ShapeLike) -> Tensor:
    """x repeated to a larger shape by NumPy's rule; -1 keeps a size."""
expand = broadcast_to
def broadcast_arrays(*xs: TensorLike) -> tuple[Tensor, ...]:
    """All tensors in the shape to which they broadcast together."""
@overload
def concat(xs: Sequence[TensorLike], axis: int | None = 0) -> Tensor:
    """Tensors one after the other along an axis (flattened if it is None), promoted to one type."""
@overload
def concat(xs: Sequence[TensorLike], *, dim: int | None = 0) -> Tensor: ...
concatenate = concat
cat = concat
@overload
def stack(xs: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
@overload
def stack(xs: Sequence[TensorLike], *, dim: int = 0) -> Tensor: ...
def hstack(xs: Sequence[TensorLike]) -> Tensor:
    """Tensors side by side: along axis 1, vectors along axis 0."""
def vstack(xs: Sequence[TensorLike]) -> Tensor:
    """Tensors above each other: along axis 0, vectors as rows."""
@overload
def split(x: TensorLike, sections: int | Sequence[SizeLike], axis: int = 0) -> tuple[Tensor, ...]:
    """Cut along an axis into a number of equal parts, or at the given positions."""
@overload
def split(x: TensorLike, sections: int | Sequence[SizeLike], *, dim: int = 0) -> tuple[Tensor, ...]: ...
@overload
def chunk(x: TensorLike, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """Cut along an axis into at most `chunks` parts of equal size (the last may be smaller)."""
@overload
def chunk(x: TensorLike, chunks: int, *, dim: int = 0) -> tuple[Tensor, ...]: ...
@overload
def unbind(x: TensorLike, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, without it."""
@overload
def unbind(x: TensorLike, *, dim: int = 0) -> tuple[Tensor, ...]: ...
def tile(x: TensorLike, reps: SizeLike | Sequence[SizeLike]) -> Tensor:
    """x repeated whole along each axis."""
@overload
def repeat(x: TensorLike, repeats: SizeLike, axis: int | None = None) -> Tensor:
    """Each element repeated, along an axis or of the flattened tensor (NumPy's repeat)."""
@overload
def repeat(x: TensorLike, repeats: SizeLike, *, dim: int | None = None) -> Tensor: ...
repeat_interleave = repeat
@overload
def roll(x: TensorLike, shift: SizeLike | Sequence[SizeLike], axis: int | Sequence[int] | None = None) -> Tensor:
    """Elements moved along axes (or in the flattened tensor); those that leave come in at the other end."""
@overload
def roll(x: TensorLike, shift: SizeLike | Sequence[SizeLike], *, dim: int | Sequence[int] | None = None) -> Tensor: ...
@overload
def flip(x: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """Axes reversed (all by default)."""
@overload
def flip(x: TensorLike, *, dim: int | Sequence[int] | None = None) -> Tensor: ...
def rot90(x: TensorLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """Rotated k times by a quarter turn in the plane of two axes."""
def pad(
    x: TensorLike,
    pad_width: SizeLike | Sequence[SizeLike] | Sequence[Sequence[SizeLike]],
    mode: str = 'constant',
    value: TensorLike = 0,
) -> Tensor:
    """x with borders. pad_width holds (before, after) for each axis, one pair for all, or one number. Modes: constant, edge,
    reflect, symmetric, wrap."""
@overload
def take(x: TensorLike, indices: TensorLike, axis: int | None = None) -> Tensor:
    """x at integer positions along an axis, which the axes of the indices replace; of the flattened tensor if the axis is
    None. Negative positions count from the end."""
@overload
def take(x: TensorLike, indices: TensorLike, *, dim: int | None = None) -> Tensor: ...
@overload
def take_along_axis(x: TensorLike, indices: TensorLike, axis: int = -1) -> Tensor:
    """At each place of the indices, the element of x whose position along the axis it gives; the other axes broadcast."""
@overload
def take_along_axis(x: TensorLike, indices: TensorLike, *, dim: int = -1) -> Tensor: ...
@overload
def gather(x: TensorLike, axis: int, index: TensorLike) -> Tensor:
    """PyTorch's gather: as take_along_axis, but the other axes of the index may be shorter than those of x."""
@overload
def gather(x: TensorLike, *, dim: int, index: TensorLike) -> Tensor: ...
@overload
def index_select(x: TensorLike, axis: int, index: TensorLike) -> Tensor:
    """x at the positions of an index vector along an axis."""
@overload
def index_select(x: TensorLike, *, dim: int, index: TensorLike) -> Tensor: ...
def take_nd(x: TensorLike, indices: Sequence[TensorLike], axes: Sequence[int]) -> Tensor:
    """x indexed by several integer tensors at once (NumPy's x[i, j]), one for each of `axes`."""
def embedding(indices: TensorLike, weight: TensorLike) -> Tensor:
    """Rows of a matrix [entries, features]: the result is [..., features]."""
def one_hot(x: TensorLike, num_classes: SizeLike, dtype: DTypeLike = int64) -> Tensor:
    """A new last axis with 1 at the position that x gives and 0 elsewhere (all 0 if it is outside)."""
def masked_fill(x: TensorLike, mask: TensorLike, value: TensorLike) -> Tensor:
    """x with a value where the mask (bool, broadcast) holds."""
def diagonal(x: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal of two axes, as a new last axis."""
@overload
def scatter(x: TensorLike, axis: int, index: TensorLike, src: TensorLike) -> Tensor:
    """x with src (of the index's shape) written at the positions along the axis that the index gives; of two writes to one
    place the later in row-major order stays."""
@overload
def scatter(x: TensorLike, *, dim: int, index: TensorLike, src: TensorLike) -> Tensor: ...
@overload
def scatter_add(x: TensorLike, axis: int, index: TensorLike, src: TensorLike) -> Tensor:
    """x with src added at the positions along the axis that the index gives, in row-major order; halves are summed in
    float32."""
@overload
def scatter_add(x: TensorLike, *, dim: int, index: TensorLike, src: TensorLike) -> Tensor: ...
@overload
def put_along_axis(x: TensorLike, indices: TensorLike, values: TensorLike, axis: int) -> Tensor:
    """x with values written where take_along_axis would read."""
@overload
def put_along_axis(x: TensorLike, indices: TensorLike, values: TensorLike, *, dim: int) -> Tensor: ...
@overload
def index_add(x: TensorLike, axis: int, index: TensorLike, source: TensorLike) -> Tensor:
    """x with slices of source added to its slices at the positions of an index vector."""
@overload
def index_add(x: TensorLike, *, dim: int, index: TensorLike, source: TensorLike) -> Tensor: ...
def put_nd(
    x: TensorLike,
    indices: Sequence[TensorLike],
    axes: Sequence[int],
    values: TensorLike,
    combine: str = 'set',
) -> Tensor:
    """x with values written (combine: set, add, mul, min, max) where take_nd would read."""
@overload
def sort(x: TensorLike, axis: int | None = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
    """The values along an axis (or of the flattened tensor) in order; always stable; NaN is the greatest."""
@overload
def sort(x: TensorLike, *, dim: int | None = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor: ...
@overload
def argsort(x: TensorLike, axis: int | None = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
    """The positions (int64) that put the values along an axis in order; always stable."""
@overload
def argsort(x: TensorLike, *, dim: int | None = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor: ...
@overload
def topk(
    x: TensorLike,
    k: int,
    axis: int = -1,
    largest: builtins.bool = True,
    sorted: builtins.bool = True,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) values along an axis, in order, and their positions (int64); of equal values the first
    come first."""
@overload
def topk(
    x: TensorLike,
    k: int,
    *,
    dim: int = -1,
    largest: builtins.bool = True,
    sorted: builtins.bool = True,
) -> tuple[Tensor, Tensor]: ...
@overload
def softmax(x: TensorLike, axis: int | Sequence[int] = -1) -> Tensor:
    """exp(x) / sum(exp(x)) along axes, without overflow; zeros where all of a row is -inf."""
@overload
def softmax(x: TensorLike, *, dim: int | Sequence[int] = -1) -> Tensor: ...
@overload
def log_softmax(x: TensorLike, axis: int | Sequence[int] = -1) -> Tensor:
    """log(softmax(x)), without overflow."""
@overload
def log_softmax(x: TensorLike, *, dim: int | Sequence[int] = -1) -> Tensor: ...
def layer_norm(
    x: TensorLike,
    normalized_shape: ShapeLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axes, whose sizes normalized_shape names."""
def rms_norm(x: TensorLike, normalized_shape: ShapeLike, weight: TensorLike | None = None, eps: float = 1e-06) -> Tensor:
    """x / sqrt(mean(x*x) + eps) * weight over the last axes, whose sizes normalized_shape names."""
def group_norm(
    x: TensorLike,
    num_groups: int,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """layer_norm over groups of channels (axis 1) and all axes after them."""
def batch_norm(
    x: TensorLike,
    running_mean: TensorLike,
    running_var: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """(x - running_mean) / sqrt(running_var + eps) * weight + bias, per channel (axis 1)."""
@overload
def normalize(x: TensorLike, p: float = 2.0, axis: int | Sequence[int] = 1, eps: float = 1e-12) -> Tensor:
    """x / max(norm(x, p), eps) along axes."""
@overload
def normalize(x: TensorLike, p: float = 2.0, *, dim: int | Sequence[int] = 1, eps: float = 1e-12) -> Tensor: ...
def scaled_dot_product_attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    mask: TensorLike | None = None,
    is_causal: builtins.bool = False,
    scale: float | None = None,
    enable_gqa: builtins.bool = False,
) -> Tensor:
    """softmax(query @ key.mT * scale + mask) @ value for [..., heads, length, features]; scale is 1 / sqrt(features) by
    default. A bool mask keeps where it holds, a number is added; causal keeps key positions up to the query's. Rows that
    are masked whole give zeros. With enable_gqa the query may have a multiple of the key's heads."""
def rope_tables(positions: TensorLike, dim: int, base: float = 10000.0, dtype: DTypeLike = float32) -> tuple[Tensor, Tensor]:
    """cos and sin of position * base^(-2i / dim) for i = 0 .. dim/2 - 1: [..., dim / 2] each."""
def rope(x: TensorLike, cos: TensorLike, sin: TensorLike, layout: str = 'half') -> Tensor:
    """Rotary positions: each pair (a, b) of features becomes (a cos - b sin, b cos + a sin). The pairs are i and i + dim/2
    ("half": GPT-NeoX, Llama in Hugging Face's order) or 2i and 2i + 1 ("interleaved"). Features beyond twice the tables'
    columns pass through."""
def cross_entropy(
    x: TensorLike,
    target: TensorLike,
    ignore_index: int = -100,
    reduction: str = 'mean',
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log(softmax(x))[target] along axis 1 (0 of a vector), without overflow. Targets are class numbers or probabilities of
    the shape of x; positions with ignore_index count nothing."""
def nll_loss(x: TensorLike, target: TensorLike, ignore_index: int = -100, reduction: str = 'mean') -> Tensor:
    """-x[target] along axis 1, x being log probabilities."""
def mse_loss(x: TensorLike, target: TensorLike, reduction: str = 'mean') -> Tensor:
    """(x - target)^2."""
def l1_loss(x: TensorLike, target: TensorLike, reduction: str = 'mean') -> Tensor:
    """|x - target|."""
def huber_loss(x: TensorLike, target: TensorLike, delta: float = 1.0, reduction: str = 'mean') -> Tensor:
    """(x - target)^2 / 2 where |x - target| <= delta, else delta (|x - target| - delta / 2)."""
def binary_cross_entropy(x: TensorLike, target: TensorLike, reduction: str = 'mean') -> Tensor:
    """-(t log(x) + (1 - t) log(1 - x)), logarithms not below -100."""
def binary_cross_entropy_with_logits(x: TensorLike, target: TensorLike, reduction: str = 'mean') -> Tensor:
    """binary_cross_entropy(sigmoid(x), t), without overflow."""
def add(x: TensorLike, y: TensorLike) -> Tensor:
    """x + y; of bools, or."""
def subtract(x: TensorLike, y: TensorLike) -> Tensor:
    """x - y."""
sub = subtract
def multiply(x: TensorLike, y: TensorLike) -> Tensor:
    """x * y; of bools, and."""
mul = multiply
def divide(x: TensorLike, y: TensorLike) -> Tensor:
    """x / y, as floating numbers."""
div = divide
true_divide = divide
def floor_divide(x: TensorLike, y: TensorLike) -> Tensor:
    """The floor of x / y; x // 0 is 0 for integers."""
def remainder(x: TensorLike, y: TensorLike) -> Tensor:
    """x - y * floor(x / y), with the sign of y, a zero too; x % 0 is 0 for integers."""
mod = remainder
def power(x: TensorLike, y: TensorLike) -> Tensor:
    """x to the power y. Integers wrap; of them a negative power is rounded towards 0."""
pow = power
def maximum(x: TensorLike, y: TensorLike) -> Tensor:
    """The greater of x and y; NaN if either is NaN."""
def minimum(x: TensorLike, y: TensorLike) -> Tensor:
    """The lesser of x and y; NaN if either is NaN."""
def copysign(x: TensorLike, y: TensorLike) -> Tensor:
    """|x| with the sign of y."""
def negative(x: TensorLike) -> Tensor:
    """-x; integers wrap."""
neg = negative
def abs(x: TensorLike) -> Tensor:
    """|x|; the least integer is its own."""
absolute = abs
def sign(x: TensorLike) -> Tensor:
    """-1, 0 or 1, as x is less than, equal to or greater than 0; NaN of NaN."""
def floor(x: TensorLike) -> Tensor:
    """The greatest whole number that is not above x."""
def ceil(x: TensorLike) -> Tensor:
    """The least whole number that is not below x."""
def trunc(x: TensorLike) -> Tensor:
    """x without its fraction."""
def round(x: TensorLike) -> Tensor:
    """The nearest whole number; the even one of two."""
def sqrt(x: TensorLike) -> Tensor:
    """The square root; NaN below 0."""
def bitwise_and(x: TensorLike, y: TensorLike) -> Tensor:
    """Bits set in both; of bools, and."""
def bitwise_or(x: TensorLike, y: TensorLike) -> Tensor:
    """Bits set in either; of bools, or."""
def bitwise_xor(x: TensorLike, y: TensorLike) -> Tensor:
    """Bits set in exactly one; of bools, are they different?"""
def bitwise_not(x: TensorLike) -> Tensor:
    """All bits reversed; of bools, not."""
bitwise_invert = bitwise_not
invert = bitwise_not
def left_shift(x: TensorLike, y: TensorLike) -> Tensor:
    """The bits moved up; 0 for a count of the width or more."""
bitwise_left_shift = left_shift
def right_shift(x: TensorLike, y: TensorLike) -> Tensor:
    """The bits moved down; for a count of the width or more, 0 or the sign."""
bitwise_right_shift = right_shift
def equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Is x equal to y? NaN is not equal to itself."""
def not_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Is x different from y?"""
def less(x: TensorLike, y: TensorLike) -> Tensor:
    """Is x less than y?"""
def less_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Is x less than or equal to y?"""
def exp(x: TensorLike) -> Tensor:
    """e to the power x."""
def exp2(x: TensorLike) -> Tensor:
    """2 to the power x."""
def expm1(x: TensorLike) -> Tensor:
    """exp(x) - 1, accurate near 0."""
def log(x: TensorLike) -> Tensor:
    """The natural logarithm; -inf of 0, NaN below."""
def log2(x: TensorLike) -> Tensor:
    """The logarithm to base 2."""
def log10(x: TensorLike) -> Tensor:
    """The logarithm to base 10."""
def log1p(x: TensorLike) -> Tensor:
    """log(1 + x), accurate near 0."""
def sin(x: TensorLike) -> Tensor:
    """The sine of x in radians."""
def cos(x: TensorLike) -> Tensor:
    """The cosine of x in radians."""
def tan(x: TensorLike) -> Tensor:
    """The tangent of x in radians."""
def asin(x: TensorLike) -> Tensor:
    """The angle in -pi/2 .. pi/2 whose sine is x."""
arcsin = asin
def acos(x: TensorLike) -> Tensor:
    """The angle in 0 .. pi whose cosine is x."""
arccos = acos
def atan(x: TensorLike) -> Tensor:
    """The angle in -pi/2 .. pi/2 whose tangent is x."""
arctan = atan
def sinh(x: TensorLike) -> Tensor:
    """The hyperbolic sine."""
def cosh(x: TensorLike) -> Tensor:
    """The hyperbolic cosine."""
def tanh(x: TensorLike) -> Tensor:
    """The hyperbolic tangent."""
def erf(x: TensorLike) -> Tensor:
    """The error function."""
def erfc(x: TensorLike) -> Tensor:
    """1 - erf(x), accurate for large x."""
def atan2(x: TensorLike, y: TensorLike) -> Tensor:
    """The angle in -pi .. pi of the point (y, x)."""
arctan2 = atan2
def where(condition: TensorLike, x: TensorLike, y: TensorLike) -> Tensor:
    """x where the condition holds, y elsewhere."""
def variable(x: TensorLike) -> Tensor:
    """x, as a variable of a gradient."""
def stop_gradient(x: TensorLike) -> Tensor:
    """x, through which no gradient flows: a constant to whoever differentiates."""
def multiply_no_nan(x: TensorLike, y: TensorLike) -> Tensor:
    """x * y, and y where y is 0, for infinite and NaN x too."""
eq = equal
ne = not_equal
lt = less
le = less_equal
gt = greater
ge = greater_equal
