"""NumPy references for what NumPy lacks: slow, obvious, in float64."""

import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])


# --- types -------------------------------------------------------------------------------------


def cast(x, dtype):
    """The conversion that the library documents: saturating, NaN to 0, to nearest even."""
    dtype = str(dtype)
    x = np.asarray(x)
    if dtype == "bfloat16":
        return round_bfloat16(x)
    to = np.dtype(dtype)
    if to.kind == "b":
        return x != 0
    if to.kind in "iu" and x.dtype.kind == "f":
        limits = np.iinfo(to)
        truncated = np.trunc(np.nan_to_num(x, nan=0.0, posinf=np.inf, neginf=-np.inf))
        result = np.zeros(x.shape, to)
        inside = (truncated > limits.min) & (truncated < limits.max)
        result[inside] = truncated[inside].astype(to)
        result[truncated >= float(limits.max)] = limits.max
        result[truncated <= float(limits.min)] = limits.min
        return result
    with np.errstate(over="ignore"):
        return x.astype(to)


def round_bfloat16(x):
    """float64 to bfloat16, to nearest even, as float32."""
    x = np.asarray(x, np.float64)
    mantissa, exponent = np.frexp(x)
    exponent = np.maximum(exponent, -125)  # below, numbers are denormal: 2^-133 apart
    unit = np.ldexp(1.0, exponent - 8)
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = np.where(np.isfinite(x), np.rint(x / unit) * unit, x)
        return np.where(np.abs(rounded) >= 2.0**128, np.copysign(np.inf, x), rounded).astype(np.float32)


# --- elementwise -------------------------------------------------------------------------------


def bitcast(x, dtype):
    return np.asarray(x).view(str(dtype))


def power(x, y):
    """Integers wrap; of them a negative power is rounded towards 0."""
    if np.result_type(x, y).kind == "f":
        return np.power(x, y)
    x, y = np.broadcast_arrays(x, y)
    unit = np.where(x == 1, 1, np.where(x == -1, np.where(y % 2 == 0, 1, -1), 0)).astype(x.dtype)
    return np.where(y < 0, unit, np.power(x, np.maximum(y, 0)))


def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


# --- reductions --------------------------------------------------------------------------------


def axes_of(x, axis):
    return tuple(range(x.ndim)) if axis is None else axis


def logsumexp(x, axis=None, keepdims=False):
    top = np.max(x, axis=axes_of(x, axis), keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        result = np.log(np.sum(np.exp(x - top), axis=axes_of(x, axis), keepdims=True)) + top
    return result if keepdims else np.squeeze(result, axes_of(x, axis))


def norm(x, order=2.0, axis=None, keepdims=False):
    axis = axes_of(x, axis)
    x = np.abs(x)
    if order == math.inf:
        return np.max(x, axis, keepdims=keepdims)
    if order == -math.inf:
        return np.min(x, axis, keepdims=keepdims)
    if order == 0:
        return np.sum(x != 0, axis, keepdims=keepdims)
    return np.sum(x**order, axis, keepdims=keepdims) ** (1 / order)


def reduce(x, monoid, axes):
    """One array for each component of the monoid."""
    axes = tuple(int(a) for a in np.ravel(axes))
    kept = [d for d in range(x.ndim) if d not in axes]
    flat = np.transpose(x, kept + list(axes)).reshape([x.shape[d] for d in kept] + [-1])
    if monoid in ("argmax", "argmin"):
        at = np.argmax(flat, -1) if monoid == "argmax" else np.argmin(flat, -1)
        return [np.take_along_axis(flat, at[..., None], -1)[..., 0], at]
    if monoid == "welford":
        mean = np.mean(flat, -1)
        return [mean, np.sum((flat - mean[..., None]) ** 2, -1), np.full(mean.shape, flat.shape[-1])]
    fold = {
        "add": np.logical_or if x.dtype == bool else np.add,
        "mul": np.logical_and if x.dtype == bool else np.multiply,
        "max": np.maximum,
        "min": np.minimum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
    }
    return [fold[monoid].reduce(flat, -1, dtype=x.dtype)]


def cumulative(x, monoid, axis=None, reverse=False):
    if axis is None:
        x, axis = x.reshape(-1), 0
    if reverse:
        x = np.flip(x, axis)
    if monoid in ("add", "mul") and x.dtype.kind in "biu":
        x = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64)
    fold = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "logaddexp": np.logaddexp}
    result = fold[monoid].accumulate(x, axis)
    return np.flip(result, axis) if reverse else result


# --- movement ----------------------------------------------------------------------------------


def flatten(x, start_axis=0, end_axis=-1):
    if x.ndim == 0:
        return x.reshape(1)
    start, end = start_axis % x.ndim, end_axis % x.ndim
    return x.reshape(x.shape[:start] + (-1,) + x.shape[end + 1 :])


def diagonal(x, axes):
    shape = [0] * (max(axes, default=-1) + 1)
    for n, axis in zip(x.shape, axes):
        shape[axis] = n
    y = np.empty(shape, x.dtype)
    for at in np.ndindex(*shape):
        y[at] = x[tuple(at[axis] for axis in axes)]
    return y


def strided(x, start, size, step):
    for axis, (first, n, by) in enumerate(zip(start, size, step)):
        x = np.take(x, first + by * np.arange(n), axis)
    return x


def chunk(x, chunks, axis=0):
    n = x.shape[axis]
    size = -(-n // chunks)
    return np.split(x, range(size, n, size) if n else [0] * (chunks - 1), axis)


def pad(x, pad_width, mode="constant", value=0):
    widths = np.ravel(pad_width)
    if widths.size == 1:
        widths = np.repeat(widths, 2)
    if widths.size == 2:
        widths = np.tile(widths, x.ndim)
    if x.ndim == 0:
        return x
    pairs = widths.reshape(-1, 2)
    if mode == "constant":
        return np.pad(x, pairs, mode, constant_values=value)
    return np.pad(x, pairs, mode)


# --- indexing ----------------------------------------------------------------------------------


def take_nd(x, indices, axes):
    key = [slice(None)] * x.ndim
    for index, axis in zip(indices, axes):
        key[axis] = index
    return x[tuple(key)]


def gather(xs, axes, at):
    """x with index arrays for some axes, whose own axes stand together at place `at`."""
    x, indices = xs[0], xs[1:]
    kept = [d for d in range(x.ndim) if d not in axes]
    moved = np.transpose(x, list(axes) + kept)[tuple(indices)]
    rank = np.ndim(indices[0])
    return np.moveaxis(moved, range(rank), range(at, at + rank))


def torch_gather(x, axis, index):
    cut = [slice(0, n) for n in index.shape]
    cut[axis] = slice(None)
    return np.take_along_axis(x[tuple(cut)], index, axis)


COMBINE = {
    "set": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def scatter(x, index, updates, axis, combine):
    y = np.array(x)
    index = np.asarray(index)
    if index.ndim == 1 and np.ndim(updates) != 1:
        shape = [1] * y.ndim
        shape[axis] = -1
        index = np.broadcast_to(index.reshape(shape), updates.shape)
    updates = np.broadcast_to(updates, index.shape)
    for at in np.ndindex(index.shape):
        to = list(at)
        to[axis] = index[at]
        y[tuple(to)] = COMBINE[combine](y[tuple(to)], updates[at])
    return y


def put_along_axis(x, indices, values, axis):
    y = np.array(x)
    np.put_along_axis(y, indices, values, axis)
    return y


def put_nd(x, indices, axes, values, combine="set"):
    positions = take_nd(np.arange(x.size).reshape(x.shape), indices, axes)
    y = np.array(x).reshape(-1)
    for at, value in zip(positions.reshape(-1), np.broadcast_to(values, positions.shape).reshape(-1)):
        y[at] = COMBINE[combine](y[at], value)
    return y.reshape(x.shape)


def sort(x, axis=-1, descending=False, by_index=False):
    if axis is None:
        x, axis = x.reshape(-1), 0
    n = x.shape[axis]
    if descending:  # stable: equal elements keep their order
        order = n - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    else:
        order = np.argsort(x, axis, kind="stable")
    if by_index:
        return (order,)
    return np.take_along_axis(x, order, axis), order


def topk(x, k, axis=-1, largest=True):
    values, order = sort(x, axis, largest)
    return np.take(values, range(k), axis), np.take(order, range(k), axis)


# --- products ----------------------------------------------------------------------------------


def contract(x, y, lhs, rhs, out, window=(), at=(), tap=(), stride=(), dilation=(), before=(), count=()):
    """Sums of products over labels; windows of x become axes of their own first."""
    lhs = list(lhs)
    for label, position, offset, step, spread, margin, n in zip(window, at, tap, stride, dilation, before, count):
        axis, taps = lhs.index(label), y.shape[list(rhs).index(offset)]
        index = np.arange(n)[:, None] * step + np.arange(taps) * spread - margin
        inside = (index >= 0) & (index < x.shape[axis])
        shape = [1] * axis + list(index.shape) + [1] * (x.ndim - axis - 1)
        if x.shape[axis] == 0:
            x = np.zeros(x.shape[:axis] + index.shape + x.shape[axis + 1 :], x.dtype)
        else:
            x = np.where(inside.reshape(shape), np.take(x, np.where(inside, index, 0), axis), 0).astype(x.dtype)
        lhs[axis : axis + 1] = [position, offset]
    numbers = {label: i for i, label in enumerate(dict.fromkeys([*lhs, *rhs]))}
    return np.einsum(x, [numbers[v] for v in lhs], y, [numbers[v] for v in rhs], [numbers[v] for v in out])


def tensordot(x, y, axes=2):
    if np.ndim(axes) == 0:
        return np.tensordot(x, y, axes)
    half = len(axes) // 2
    return np.tensordot(x, y, (axes[:half], axes[half:]))


def conv(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    n = weight.ndim - 2
    stride, dilation = (np.broadcast_to(v, n) for v in (stride, dilation))
    width = [(k - 1) * d for k, d in zip(weight.shape[2:], dilation)]
    if padding == "same":
        pairs = [(w // 2, w - w // 2) for w in width]
    else:
        pairs = [(p, p) for p in np.broadcast_to(0 if padding == "valid" else padding, n)]
    x = np.pad(x, [(0, 0), (0, 0)] + pairs)
    sizes = [(s - w - 1) // t + 1 for s, w, t in zip(x.shape[2:], width, stride)]
    batch, out = x.shape[0], weight.shape[0]
    y = np.zeros([batch, out] + sizes, np.result_type(x, weight))
    per_in, per_out = weight.shape[1], out // groups
    for at in np.ndindex(*sizes):
        window = [slice(i * s, i * s + w + 1, d) for i, s, w, d in zip(at, stride, width, dilation)]
        for g in range(groups):
            patch = x[(slice(None), slice(g * per_in, (g + 1) * per_in), *window)]
            filters = weight[g * per_out : (g + 1) * per_out]
            y[(slice(None), slice(g * per_out, (g + 1) * per_out), *at)] = np.tensordot(
                patch, filters, (range(1, n + 2), range(1, n + 2))
            )
    return y if bias is None else y + bias.reshape((-1,) + (1,) * n)


# --- normalisation, attention, losses ----------------------------------------------------------


def softmax(x, axis=-1):
    top = np.max(x, axis, keepdims=True, initial=-np.inf)
    e = np.exp(x - np.where(top == -np.inf, 0, top))
    total = np.sum(e, axis, keepdims=True)
    return e / np.where(total == 0, 1, total)


def log_softmax(x, axis=-1):
    return x - logsumexp(x, axis, keepdims=True)


def standardised(x, axes, eps):
    deviation = x - np.mean(x, axes, keepdims=True)
    return deviation / np.sqrt(np.mean(deviation**2, axes, keepdims=True) + eps)


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    axes = tuple(range(x.ndim - np.size(normalized_shape), x.ndim))
    y = standardised(x, axes, eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def rms_norm(x, normalized_shape, weight=None, eps=1e-6):
    axes = tuple(range(x.ndim - np.size(normalized_shape), x.ndim))
    y = x / np.sqrt(np.mean(x**2, axes, keepdims=True) + eps)
    return y if weight is None else y * weight


def per_channel(v, x):
    return v.reshape((1, -1) + (1,) * (x.ndim - 2))


def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    grouped = x.reshape((x.shape[0], num_groups, int(np.prod(x.shape[1:])) // num_groups))
    y = standardised(grouped, (2,), eps).reshape(x.shape)
    y = y if weight is None else y * per_channel(weight, x)
    return y if bias is None else y + per_channel(bias, x)


def batch_norm(x, running_mean, running_var, weight=None, bias=None, eps=1e-5):
    y = (x - per_channel(running_mean, x)) / np.sqrt(per_channel(running_var, x) + eps)
    y = y if weight is None else y * per_channel(weight, x)
    return y if bias is None else y + per_channel(bias, x)


def normalize(x, p=2.0, axis=1, eps=1e-12):
    return x / np.maximum(norm(x, p, axis, keepdims=True), eps)


def attention(query, key, value, mask=None, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = np.repeat(key, groups, -3), np.repeat(value, groups, -3)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ np.swapaxes(key, -1, -2) * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if np.asarray(mask).dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    return softmax(scores) @ value


def rope_tables(positions, dim, base=10000.0):
    angle = positions[..., None] * base ** (-2 * np.arange(dim // 2) / dim)
    return np.cos(angle), np.sin(angle)


def rope(x, cos, sin, layout="half"):
    pairs = cos.shape[-1]
    turned, rest = x[..., : 2 * pairs], x[..., 2 * pairs :]
    y = np.empty_like(turned)
    if layout == "half":
        first, second = slice(0, pairs), slice(pairs, None)
    else:
        first, second = slice(0, None, 2), slice(1, None, 2)
    a, b = turned[..., first], turned[..., second]
    y[..., first], y[..., second] = a * cos - b * sin, b * cos + a * sin
    return np.concatenate([y, rest], -1)


def reduced(loss, reduction="mean"):
    return {"mean": np.mean, "sum": np.sum, "none": lambda v: v}[reduction](loss)


def nll_loss(x, target, ignore_index=-100, reduction="mean", smoothing=0.0):
    axis = 1 if x.ndim > 1 else 0
    target = np.asarray(target)
    if target.dtype.kind == "f":
        p = target * (1 - smoothing) + smoothing / x.shape[axis]
        return reduced(-np.sum(p * x, axis), reduction)
    counted = target != ignore_index
    safe = np.where(counted, target, 0)
    loss = -np.squeeze(np.take_along_axis(x, np.expand_dims(safe, axis), axis), axis)
    loss = (1 - smoothing) * loss - smoothing * np.mean(x, axis)
    loss = np.where(counted, loss, 0)
    return np.sum(loss) / np.sum(counted) if reduction == "mean" else reduced(loss, reduction)


def cross_entropy(x, target, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    log_p = log_softmax(x, 1 if x.ndim > 1 else 0)
    return nll_loss(log_p, target, ignore_index, reduction, label_smoothing)


def huber_loss(x, target, delta=1.0, reduction="mean"):
    d = np.abs(x - target)
    return reduced(np.where(d <= delta, d * d / 2, delta * (d - delta / 2)), reduction)


def binary_cross_entropy(x, target, reduction="mean"):
    with np.errstate(divide="ignore"):
        yes, no = np.maximum(np.log(x), -100), np.maximum(np.log1p(-x), -100)
    return reduced(-(target * yes + (1 - target) * no), reduction)


# --- random numbers ----------------------------------------------------------------------------


def philox(counter, key):
    """Philox 4x32 with ten rounds: four words from four counter words and two key words."""
    words, keys = [int(w) for w in counter], [int(k) for k in key]
    for _ in range(10):
        p0, p1 = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [
            (p1 >> 32) ^ words[1] ^ keys[0],
            p1 & 0xFFFFFFFF,
            (p0 >> 32) ^ words[3] ^ keys[1],
            p0 & 0xFFFFFFFF,
        ]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return words


def random_words(key, offset, shape, pair=0):
    """Two words for each element, as an integer array [..., 2]."""
    key, offset = int(key), int(offset)
    shape = tuple(np.ravel(shape).astype(int))
    halves = [(v & 0xFFFFFFFF, v >> 32) for v in (key, offset)]
    count = math.prod(shape)
    words = [philox((i & 0xFFFFFFFF, i >> 32, *halves[1]), halves[0])[2 * pair : 2 * pair + 2] for i in range(count)]
    return np.array(words, np.uint64).reshape(shape + (2,))


def random_bits(key, offset, dtype, shape, pair=0):
    words = random_words(key, offset, shape, pair)
    if str(dtype) in ("uint32", "u32"):
        return words[..., 0].astype(np.uint32)
    return words[..., 0] | words[..., 1] << np.uint64(32)


def unit_uniform(key, offset, shape, dtype="float32"):
    bits = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}[str(dtype)]
    width = 64 if bits == 53 else 32
    draw = random_bits(key, offset, f"uint{width}", shape).astype(np.uint64)
    return (draw >> np.uint64(width - bits)).astype(np.float64) * 2.0**-bits


def uniform(shape, key, offset, low=0.0, high=1.0, dtype="float32"):
    return unit_uniform(key, offset, shape, dtype) * (high - low) + low


def normal(shape, key, offset, mean=0.0, std=1.0, dtype="float32"):
    if str(dtype) == "float64":
        first, second = (random_bits(key, offset, "uint64", shape, pair) for pair in (0, 1))
        width, bits = 64, 53
    else:
        words = random_words(key, offset, shape)
        first, second = words[..., 0], words[..., 1]
        width, bits = 32, 24
    radius = np.sqrt(-2 * np.log((first.astype(np.float64) + 0.5) * 2.0**-width))
    turn = (second >> np.uint64(width - bits)).astype(np.float64) * 2.0**-bits
    return radius * np.cos(2 * math.pi * turn) * std + mean


def randint(low, high, shape, key, offset):
    span = high - low
    draw = random_bits(key, offset, "uint64", shape)
    if span <= 2**32:
        picked = [int(d) * span >> 64 for d in draw.reshape(-1)]
    else:
        picked = [int(d) % span for d in draw.reshape(-1)]
    return np.array(picked, np.int64).reshape(draw.shape) + low


def bernoulli(p, key, offset, shape=None, dtype="float32"):
    shape = np.shape(p) if shape is None else shape
    dtype = "float64" if isinstance(p, np.ndarray) and dtype == "float64" else "float32"
    return unit_uniform(key, offset, shape, dtype) < np.dtype(dtype).type(p)


def dropout(x, p, key, offset, training=True):
    if not training or p == 0:
        return x
    return np.where(unit_uniform(key, offset, x.shape) >= p, x / (1 - p), 0)


def categorical(logits, key, offset, axis=-1):
    draw = random_bits(key, offset, "uint32", logits.shape)
    unit = np.minimum((draw.astype(np.float64) + 0.5) * 2.0**-32, 1 - 2.0**-24)
    return np.argmax(logits - np.log(-np.log(unit)), axis)
