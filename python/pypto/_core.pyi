# Made by tools/make_stubs.py from the tables; ./dev build writes it again.
import builtins
from collections.abc import Sequence
from typing import Any, overload

from ._dtypes import DType
from ._tensor import Tensor
from ._types import DTypeLike, ShapeLike, SizeLike, TensorLike

Entry: Any
Executable: Any
ForeignFunction: Any
Graph: Any
Guards: Any
Memory: Any
NameScope: Any
Trace: Any
allocator_stats: Any
assume_less: Any
backward: Any
batch: Any
binary: Any
call_function: Any
cast: Any
compile_graph: Any
continue_tape: Any
count_trace: Any
counters: Any
current_path: Any
current_trace: Any
detached: Any
dtype_facts: Any
einsum: Any
enter_record: Any
finish_step: Any
fresh_trace: Any
from_capsule: Any
from_memory: Any
from_plain_array: Any
from_scalar: Any
function_table: Any
gradient: Any
gradients_enabled: Any
graph_passes: Any
host_target: Any
is_leaf: Any
item: Any
jvp: Any
leave_record: Any
llvm_available: Any
loop_passes: Any
make_cond: Any
make_foreign: Any
make_scan: Any
make_while: Any
materialise: Any
matmul: Any
memory_of: Any
num_threads: Any
op_table: Any
promote: Any
rebind: Any
register_foreign: Any
require_gradient: Any
requires_gradient: Any
set_classes: Any
set_gradient: Any
set_gradients_enabled: Any
set_num_threads: Any
size_hints: Any
slice: Any
target_names: Any
to_capsule: Any
unary: Any
vjp: Any

class Size:
    """A size or a number that is known when the program runs. Arithmetic stays symbolic, a comparison becomes a
    condition of the trace, and int() fixes the value."""

    def __add__(self, other: Any) -> Any: ...
    def __radd__(self, other: Any) -> Any: ...
    def __sub__(self, other: Any) -> Any: ...
    def __rsub__(self, other: Any) -> Any: ...
    def __mul__(self, other: Any) -> Any: ...
    def __rmul__(self, other: Any) -> Any: ...
    def __truediv__(self, other: Any) -> Any: ...
    def __rtruediv__(self, other: Any) -> Any: ...
    def __floordiv__(self, other: Any) -> Any: ...
    def __rfloordiv__(self, other: Any) -> Any: ...
    def __mod__(self, other: Any) -> Any: ...
    def __rmod__(self, other: Any) -> Any: ...
    def __pow__(self, other: Any) -> Any: ...
    def __eq__(self, other: Any) -> Any: ...
    def __ne__(self, other: Any) -> Any: ...
    def __lt__(self, other: Any) -> Any: ...
    def __le__(self, other: Any) -> Any: ...
    def __gt__(self, other: Any) -> Any: ...
    def __ge__(self, other: Any) -> Any: ...
    def __neg__(self) -> Any: ...
    def __abs__(self) -> Any: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __float__(self) -> float: ...
    def __hash__(self) -> int: ...

class TensorHandle:
    @property
    def dtype(self) -> DType:
        """The element type."""
    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes; inside a trace some are symbolic, and calculate as integers do."""
    @property
    def ndim(self) -> int:
        """The number of axes."""
    _assign: Any
    _copy: Any
    _id: Any
    _loc_text: Any
    _ready: Any
    _row: Any
    _snapshot: Any
    _trace: Any
    _type_text: Any
    def __add__(self, other: TensorLike) -> Tensor: ...
    def __radd__(self, other: TensorLike) -> Tensor: ...
    def __iadd__(self, other: TensorLike) -> Tensor: ...
    def __sub__(self, other: TensorLike) -> Tensor: ...
    def __rsub__(self, other: TensorLike) -> Tensor: ...
    def __isub__(self, other: TensorLike) -> Tensor: ...
    def __mul__(self, other: TensorLike) -> Tensor: ...
    def __rmul__(self, other: TensorLike) -> Tensor: ...
    def __imul__(self, other: TensorLike) -> Tensor: ...
    def __truediv__(self, other: TensorLike) -> Tensor: ...
    def __rtruediv__(self, other: TensorLike) -> Tensor: ...
    def __itruediv__(self, other: TensorLike) -> Tensor: ...
    def __floordiv__(self, other: TensorLike) -> Tensor: ...
    def __rfloordiv__(self, other: TensorLike) -> Tensor: ...
    def __ifloordiv__(self, other: TensorLike) -> Tensor: ...
    def __mod__(self, other: TensorLike) -> Tensor: ...
    def __rmod__(self, other: TensorLike) -> Tensor: ...
    def __imod__(self, other: TensorLike) -> Tensor: ...
    def __pow__(self, other: TensorLike) -> Tensor: ...
    def __rpow__(self, other: TensorLike) -> Tensor: ...
    def __ipow__(self, other: TensorLike) -> Tensor: ...
    def __and__(self, other: TensorLike) -> Tensor: ...
    def __rand__(self, other: TensorLike) -> Tensor: ...
    def __iand__(self, other: TensorLike) -> Tensor: ...
    def __or__(self, other: TensorLike) -> Tensor: ...
    def __ror__(self, other: TensorLike) -> Tensor: ...
    def __ior__(self, other: TensorLike) -> Tensor: ...
    def __xor__(self, other: TensorLike) -> Tensor: ...
    def __rxor__(self, other: TensorLike) -> Tensor: ...
    def __ixor__(self, other: TensorLike) -> Tensor: ...
    def __lshift__(self, other: TensorLike) -> Tensor: ...
    def __rlshift__(self, other: TensorLike) -> Tensor: ...
    def __ilshift__(self, other: TensorLike) -> Tensor: ...
    def __rshift__(self, other: TensorLike) -> Tensor: ...
    def __rrshift__(self, other: TensorLike) -> Tensor: ...
    def __irshift__(self, other: TensorLike) -> Tensor: ...
    def __matmul__(self, other: TensorLike) -> Tensor: ...
    def __rmatmul__(self, other: TensorLike) -> Tensor: ...
    def __imatmul__(self, other: TensorLike) -> Tensor: ...
    def __eq__(self, other: TensorLike) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: TensorLike) -> Tensor: ...  # type: ignore[override]
    def __lt__(self, other: TensorLike) -> Tensor: ...
    def __le__(self, other: TensorLike) -> Tensor: ...
    def __gt__(self, other: TensorLike) -> Tensor: ...
    def __ge__(self, other: TensorLike) -> Tensor: ...
    def tril(self, k: SizeLike = 0) -> Tensor:
        """x with zeros above the k-th diagonal of its last two axes."""
    def triu(self, k: SizeLike = 0) -> Tensor:
        """x with zeros below the k-th diagonal of its last two axes."""
    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x))."""
    def clip(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
        """x within min .. max; NaN stays NaN, and max wins where min > max."""
    clamp = clip
    def square(self) -> Tensor:
        """x * x."""
    def rsqrt(self) -> Tensor:
        """1 / sqrt(x)."""
    def reciprocal(self) -> Tensor:
        """1 / x."""
    def greater(self, y: TensorLike) -> Tensor:
        """Is x greater than y?"""
    def greater_equal(self, y: TensorLike) -> Tensor:
        """Is x greater than or equal to y?"""
    def cast(self, dtype: DTypeLike) -> Tensor:
        """x converted: to the nearest value, ties to even; float to integer truncates towards zero and saturates, NaN gives
        0; integers wrap; to bool, is it different from zero?"""
    @overload
    def sum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: builtins.bool = False,
        dtype: DTypeLike | None = None,
    ) -> Tensor:
        """Sum over axes (all by default). Integers and bools are summed in 64 bits, halves in float32."""
    @overload
    def sum(
        self,
        *,
        dim: int | Sequence[int] | None = None,
        keepdim: builtins.bool = False,
        dtype: DTypeLike | None = None,
    ) -> Tensor: ...
    @overload
    def prod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: builtins.bool = False,
        dtype: DTypeLike | None = None,
    ) -> Tensor:
        """Product over axes (all by default), in the types in which sum adds."""
    @overload
    def prod(
        self,
        *,
        dim: int | Sequence[int] | None = None,
        keepdim: builtins.bool = False,
        dtype: DTypeLike | None = None,
    ) -> Tensor: ...
    @overload
    def mean(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: builtins.bool = False,
        dtype: DTypeLike | None = None,
    ) -> Tensor:
        """Mean over axes (all by default); of integers in float32; of nothing NaN."""
    @overload
    def mean(
        self,
        *,
        dim: int | Sequence[int] | None = None,
        keepdim: builtins.bool = False,
        dtype: DTypeLike | None = None,
    ) -> Tensor: ...
    @overload
    def max(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
        """Greatest value over axes (all by default); NaN if there is one. An error for an axis of size 0."""
    @overload
    def max(self, *, dim: int | Sequence[int] | None = None, keepdim: builtins.bool = False) -> Tensor: ...
    amax = max
    @overload
    def min(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
        """Least value over axes (all by default); NaN if there is one. An error for an axis of size 0."""
    @overload
    def min(self, *, dim: int | Sequence[int] | None = None, keepdim: builtins.bool = False) -> Tensor: ...
    amin = min
    @overload
    def argmax(self, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
        """Position (int64) of the first greatest value along an axis, or in the flattened tensor; NaN is the greatest."""
    @overload
    def argmax(self, *, dim: int | None = None, keepdim: builtins.bool = False) -> Tensor: ...
    @overload
    def argmin(self, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
        """Position (int64) of the first least value along an axis, or in the flattened tensor; NaN is the least."""
    @overload
    def argmin(self, *, dim: int | None = None, keepdim: builtins.bool = False) -> Tensor: ...
    @overload
    def var(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: builtins.bool = False,
        ddof: float = 0.0,
        correction: float | None = None,
    ) -> Tensor:
        """Variance over axes (all by default): the sum of squared deviations divided by n - ddof (`correction` is another
        name of ddof)."""
    @overload
    def var(
        self,
        *,
        dim: int | Sequence[int] | None = None,
        keepdim: builtins.bool = False,
        ddof: float = 0.0,
        correction: float | None = None,
    ) -> Tensor: ...
    @overload
    def std(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: builtins.bool = False,
        ddof: float = 0.0,
        correction: float | None = None,
    ) -> Tensor:
        """Square root of var."""
    @overload
    def std(
        self,
        *,
        dim: int | Sequence[int] | None = None,
        keepdim: builtins.bool = False,
        ddof: float = 0.0,
        correction: float | None = None,
    ) -> Tensor: ...
    @overload
    def all(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
        """Are all elements different from zero?"""
    @overload
    def all(self, *, dim: int | Sequence[int] | None = None, keepdim: builtins.bool = False) -> Tensor: ...
    @overload
    def any(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
        """Is any element different from zero?"""
    @overload
    def any(self, *, dim: int | Sequence[int] | None = None, keepdim: builtins.bool = False) -> Tensor: ...
    @overload
    def cumsum(self, axis: int | None = None, reverse: builtins.bool = False, dtype: DTypeLike | None = None) -> Tensor:
        """Running sum along an axis, or of the flattened tensor, in the types in which sum adds."""
    @overload
    def cumsum(self, *, dim: int | None = None, reverse: builtins.bool = False, dtype: DTypeLike | None = None) -> Tensor: ...
    cumulative_sum = cumsum
    @overload
    def cumprod(self, axis: int | None = None, reverse: builtins.bool = False, dtype: DTypeLike | None = None) -> Tensor:
        """Running product along an axis, or of the flattened tensor."""
    @overload
    def cumprod(self, *, dim: int | None = None, reverse: builtins.bool = False, dtype: DTypeLike | None = None) -> Tensor: ...
    cumulative_prod = cumprod
    def matmul(self, y: TensorLike) -> Tensor:
        """Product of matrices over the last axis of x and the axis before the last of y. Vectors are rows on the left and
        columns on the right; axes before the last two broadcast."""
    mm = matmul
    bmm = matmul
    def dot(self, y: TensorLike) -> Tensor:
        """The last axis of x with the axis before the last of y (the only one of a vector); with a scalar, the product."""
    def permute_dims(self, axes: Sequence[int] | None = None) -> Tensor:
        """The axes in another order (reversed by default)."""
    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """Two axes exchanged."""
    def moveaxis(self, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
        """Axes moved to other places; the rest keep their order."""
    @overload
    def squeeze(self, axis: int | Sequence[int] | None = None) -> Tensor:
        """Without axes of size 1 (all of them by default). An error if a named axis has another size."""
    @overload
    def squeeze(self, *, dim: int | Sequence[int] | None = None) -> Tensor: ...
    def flatten(self, start_axis: int = 0, end_axis: int = -1) -> Tensor:
        """The axes from start_axis to end_axis as one."""
    def ravel(self) -> Tensor:
        """All elements in row-major order."""
    def broadcast_to(self, shape: ShapeLike) -> Tensor:
        """x repeated to a larger shape by NumPy's rule; -1 keeps a size."""
    @overload
    def split(self, sections: int | Sequence[SizeLike], axis: int = 0) -> tuple[Tensor, ...]:
        """Cut along an axis into a number of equal parts, or at the given positions."""
    @overload
    def split(self, sections: int | Sequence[SizeLike], *, dim: int = 0) -> tuple[Tensor, ...]: ...
    @overload
    def chunk(self, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
        """Cut along an axis into at most `chunks` parts of equal size (the last may be smaller)."""
    @overload
    def chunk(self, chunks: int, *, dim: int = 0) -> tuple[Tensor, ...]: ...
    @overload
    def unbind(self, axis: int = 0) -> tuple[Tensor, ...]:
        """The slices along an axis, without it."""
    @overload
    def unbind(self, *, dim: int = 0) -> tuple[Tensor, ...]: ...
    def tile(self, reps: SizeLike | Sequence[SizeLike]) -> Tensor:
        """x repeated whole along each axis."""
    @overload
    def repeat(self, repeats: SizeLike, axis: int | None = None) -> Tensor:
        """Each element repeated, along an axis or of the flattened tensor (NumPy's repeat)."""
    @overload
    def repeat(self, repeats: SizeLike, *, dim: int | None = None) -> Tensor: ...
    repeat_interleave = repeat
    @overload
    def roll(self, shift: SizeLike | Sequence[SizeLike], axis: int | Sequence[int] | None = None) -> Tensor:
        """Elements moved along axes (or in the flattened tensor); those that leave come in at the other end."""
    @overload
    def roll(self, shift: SizeLike | Sequence[SizeLike], *, dim: int | Sequence[int] | None = None) -> Tensor: ...
    @overload
    def flip(self, axis: int | Sequence[int] | None = None) -> Tensor:
        """Axes reversed (all by default)."""
    @overload
    def flip(self, *, dim: int | Sequence[int] | None = None) -> Tensor: ...
    def masked_fill(self, mask: TensorLike, value: TensorLike) -> Tensor:
        """x with a value where the mask (bool, broadcast) holds."""
    @overload
    def sort(self, axis: int | None = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
        """The values along an axis (or of the flattened tensor) in order; always stable; NaN is the greatest."""
    @overload
    def sort(self, *, dim: int | None = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor: ...
    @overload
    def argsort(self, axis: int | None = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
        """The positions (int64) that put the values along an axis in order; always stable."""
    @overload
    def argsort(self, *, dim: int | None = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor: ...
    @overload
    def topk(
        self,
        k: int,
        axis: int = -1,
        largest: builtins.bool = True,
        sorted: builtins.bool = True,
    ) -> tuple[Tensor, Tensor]:
        """The k largest (or smallest) values along an axis, in order, and their positions (int64); of equal values the first
        come first."""
    @overload
    def topk(
        self,
        k: int,
        *,
        dim: int = -1,
        largest: builtins.bool = True,
        sorted: builtins.bool = True,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def softmax(self, axis: int | Sequence[int] = -1) -> Tensor:
        """exp(x) / sum(exp(x)) along axes, without overflow; zeros where all of a row is -inf."""
    @overload
    def softmax(self, *, dim: int | Sequence[int] = -1) -> Tensor: ...
    def add(self, y: TensorLike) -> Tensor:
        """x + y; of bools, or."""
    def subtract(self, y: TensorLike) -> Tensor:
        """x - y."""
    sub = subtract
    def multiply(self, y: TensorLike) -> Tensor:
        """x * y; of bools, and."""
    mul = multiply
    def divide(self, y: TensorLike) -> Tensor:
        """x / y, as floating numbers."""
    div = divide
    true_divide = divide
    def floor_divide(self, y: TensorLike) -> Tensor:
        """The floor of x / y; x // 0 is 0 for integers."""
    def remainder(self, y: TensorLike) -> Tensor:
        """x - y * floor(x / y), with the sign of y, a zero too; x % 0 is 0 for integers."""
    mod = remainder
    def power(self, y: TensorLike) -> Tensor:
        """x to the power y. Integers wrap; of them a negative power is rounded towards 0."""
    pow = power
    def maximum(self, y: TensorLike) -> Tensor:
        """The greater of x and y; NaN if either is NaN."""
    def minimum(self, y: TensorLike) -> Tensor:
        """The lesser of x and y; NaN if either is NaN."""
    def copysign(self, y: TensorLike) -> Tensor:
        """|x| with the sign of y."""
    def negative(self) -> Tensor:
        """-x; integers wrap."""
    neg = negative
    def abs(self) -> Tensor:
        """|x|; the least integer is its own."""
    absolute = abs
    def sign(self) -> Tensor:
        """-1, 0 or 1, as x is less than, equal to or greater than 0; NaN of NaN."""
    def floor(self) -> Tensor:
        """The greatest whole number that is not above x."""
    def ceil(self) -> Tensor:
        """The least whole number that is not below x."""
    def trunc(self) -> Tensor:
        """x without its fraction."""
    def round(self) -> Tensor:
        """The nearest whole number; the even one of two."""
    def sqrt(self) -> Tensor:
        """The square root; NaN below 0."""
    def bitwise_and(self, y: TensorLike) -> Tensor:
        """Bits set in both; of bools, and."""
    def bitwise_or(self, y: TensorLike) -> Tensor:
        """Bits set in either; of bools, or."""
    def bitwise_xor(self, y: TensorLike) -> Tensor:
        """Bits set in exactly one; of bools, are they different?"""
    def bitwise_not(self) -> Tensor:
        """All bits reversed; of bools, not."""
    bitwise_invert = bitwise_not
    invert = bitwise_not
    def left_shift(self, y: TensorLike) -> Tensor:
        """The bits moved up; 0 for a count of the width or more."""
    bitwise_left_shift = left_shift
    def right_shift(self, y: TensorLike) -> Tensor:
        """The bits moved down; for a count of the width or more, 0 or the sign."""
    bitwise_right_shift = right_shift
    def equal(self, y: TensorLike) -> Tensor:
        """Is x equal to y? NaN is not equal to itself."""
    def not_equal(self, y: TensorLike) -> Tensor:
        """Is x different from y?"""
    def less(self, y: TensorLike) -> Tensor:
        """Is x less than y?"""
    def less_equal(self, y: TensorLike) -> Tensor:
        """Is x less than or equal to y?"""
    def exp(self) -> Tensor:
        """e to the power x."""
    def exp2(self) -> Tensor:
        """2 to the power x."""
    def expm1(self) -> Tensor:
        """exp(x) - 1, accurate near 0."""
    def log(self) -> Tensor:
        """The natural logarithm; -inf of 0, NaN below."""
    def log2(self) -> Tensor:
        """The logarithm to base 2."""
    def log10(self) -> Tensor:
        """The logarithm to base 10."""
    def log1p(self) -> Tensor:
        """log(1 + x), accurate near 0."""
    def sin(self) -> Tensor:
        """The sine of x in radians."""
    def cos(self) -> Tensor:
        """The cosine of x in radians."""
    def tan(self) -> Tensor:
        """The tangent of x in radians."""
    def asin(self) -> Tensor:
        """The angle in -pi/2 .. pi/2 whose sine is x."""
    arcsin = asin
    def acos(self) -> Tensor:
        """The angle in 0 .. pi whose cosine is x."""
    arccos = acos
    def atan(self) -> Tensor:
        """The angle in -pi/2 .. pi/2 whose tangent is x."""
    arctan = atan
    def sinh(self) -> Tensor:
        """The hyperbolic sine."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine."""
    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""
    def erf(self) -> Tensor:
        """The error function."""
    def erfc(self) -> Tensor:
        """1 - erf(x), accurate for large x."""
    def atan2(self, y: TensorLike) -> Tensor:
        """The angle in -pi .. pi of the point (y, x)."""
    arctan2 = atan2
    def variable(self) -> Tensor:
        """x, as a variable of a gradient."""
    def stop_gradient(self) -> Tensor:
        """x, through which no gradient flows: a constant to whoever differentiates."""
    def multiply_no_nan(self, y: TensorLike) -> Tensor:
        """x * y, and y where y is 0, for infinite and NaN x too."""
