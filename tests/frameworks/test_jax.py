"""JAX beside this library: functions of the same meaning, and arrays that pass between the two."""

import numpy as np
import pytest

import pypto as pto

jax = pytest.importorskip("jax", reason="JAX is not installed; ./dev test --frameworks installs it")

from others import RANDOM, Library  # noqa: E402

jax.config.update("jax_enable_x64", True)
jnp = jax.numpy


def scan(function):
    def call(x, axis, reverse, dtype=None):
        x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
        return function(x, axis=axis, reverse=reverse)

    return call


def pairs(widths):
    return widths if isinstance(widths, int) or len(widths) == 2 else np.reshape(widths, (-1, 2)).tolist()


def put(x, indices, axes, values, combine):
    if axes != tuple(range(len(axes))):
        return None
    return x.at[tuple(indices)].set(values) if combine == "set" else x.at[tuple(indices)].add(values)


def convolution(x, weight, bias, stride, padding, dilation, groups):
    n = x.ndim - 2
    each = lambda v: (v,) * n if isinstance(v, int) else tuple(v)  # noqa: E731
    width = padding.upper() if isinstance(padding, str) else [(p, p) for p in each(padding)]
    y = jax.lax.conv_general_dilated(x, weight, each(stride), width, rhs_dilation=each(dilation), feature_group_count=groups)
    return y if bias is None else y + bias.reshape(-1, *[1] * n)


SPECIAL = {
    "linspace": lambda start, stop, num, endpoint, dtype: jnp.linspace(start, stop, num) if endpoint else None,
    "eye": lambda n, m, k, dtype: jnp.eye(n, m, k),
    "gelu": lambda x, approximate: jax.nn.gelu(x, approximate=approximate == "tanh"),
    "variable": lambda x: jnp.copy(x),
    "multiply_no_nan": lambda x, y: jnp.where(y == 0, y, x * y),
    "softplus": lambda x, beta: jax.nn.softplus(x * beta) / beta,
    "hardsigmoid": lambda x: jax.nn.hard_sigmoid(x),
    "hardswish": lambda x: jax.nn.hard_swish(x),
    "softsign": lambda x: jax.nn.soft_sign(x),
    "norm": lambda x, ord, axis, keepdims: jnp.linalg.vector_norm(x, ord=ord, axis=axis, keepdims=keepdims),
    "cumsum": scan(jax.lax.cumsum),
    "cumprod": scan(jax.lax.cumprod),
    "cummax": scan(jax.lax.cummax),
    "cummin": scan(jax.lax.cummin),
    "logcumsumexp": scan(jax.lax.cumlogsumexp),
    "tensordot": lambda x, y, axes: jnp.tensordot(
        x, y, axes if isinstance(axes, int) else (axes[: len(axes) // 2], axes[len(axes) // 2 :])
    ),
    "conv1d": convolution,
    "conv2d": convolution,
    "conv3d": convolution,
    "split": lambda x, sections, axis: (
        jnp.split(x, sections, axis) if isinstance(sections, int) or max(sections) <= x.shape[axis] else None
    ),
    "unbind": lambda x, axis: list(jnp.moveaxis(x, axis, 0)),
    "pad": lambda x, pad_width, mode, value: jnp.pad(
        x, pairs(pad_width), mode, **({"constant_values": value} if mode == "constant" else {})
    ),
    "index_select": lambda x, axis, index: jnp.take(x, index, axis),
    "embedding": lambda indices, weight: jnp.take(weight, indices, 0),
    "take_nd": lambda x, indices, axes: x[tuple(indices)] if axes == tuple(range(len(axes))) else None,
    "put_along_axis": lambda x, indices, values, axis: jnp.put_along_axis(x, indices, values, axis, inplace=False),
    "put_nd": put,
    "masked_fill": lambda x, mask, value: jnp.where(mask, value, x),
    "topk": lambda x, k, axis, largest, sorted: jax.lax.top_k(x, k) if largest and axis in (-1, x.ndim - 1) else None,
}

WITHOUT = {
    **RANDOM,
    ("cumsum", "bool"): "an error there",
    ("power", "int64"): "negative powers of integers wrap there",
    "astype": "floats to integers: NaN has another value there",
    **dict.fromkeys(
        ["lerp", "linear", "flatten", "chunk", "index_add", "gather", "scatter", "scatter_add", "layer_norm", "rms_norm"]
        + ["group_norm", "batch_norm", "normalize", "scaled_dot_product_attention", "rope_tables", "rope", "cross_entropy"]
        + ["nll_loss", "mse_loss", "l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"],
        "none there with these arguments",
    ),
}

JAX = Library([jnp, jax.nn, jax.scipy.special, jnp.linalg, jax.lax], jnp.asarray, SPECIAL, WITHOUT, {})


@pytest.mark.parametrize("function,dtype", JAX.table())
def test_function(function, dtype):
    assert JAX.compare(function, dtype) > 0


TYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("dtype", TYPES)
def test_dlpack_both_ways(dtype):
    theirs = (jnp.arange(24).reshape(2, 3, 4) % 5).astype(dtype)
    ours = pto.from_dlpack(theirs)
    assert ours.shape == (2, 3, 4) and ours.dtype.name == dtype
    np.testing.assert_array_equal(ours.numpy().astype(np.float64), np.asarray(theirs, np.float64))
    back = jnp.from_dlpack((ours + ours if dtype != "bool" else ours).wait())
    assert back.dtype == theirs.dtype
    np.testing.assert_array_equal(back, theirs + theirs if dtype != "bool" else theirs)
