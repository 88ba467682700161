"""PyTorch beside this library: functions of the same meaning, and tensors that pass between the two."""

import numpy as np
import pytest

import pypto as pto

torch = pytest.importorskip("torch", reason="torch is not installed; ./dev test --frameworks installs it")

from others import RANDOM, Library  # noqa: E402

F = torch.nn.functional


def all_axes(x, axis):
    return tuple(range(x.ndim)) if axis is None else axis


def sizes(n):
    return (n,) if isinstance(n, int) else tuple(n)


def scan(function):
    def call(x, axis, reverse, dtype=None):
        x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
        result = function(x.flip(axis) if reverse else x, dim=axis)
        result = result if isinstance(result, torch.Tensor) else result.values
        return result.flip(axis) if reverse else result

    return call


def key(x, indices, axes):
    places = [slice(None)] * x.ndim
    for index, axis in zip(indices, axes):
        places[axis] = index
    return tuple(places)


def put(x, indices, axes, values, combine):
    x, values = x.clone(), torch.as_tensor(values, dtype=x.dtype)
    x.movedim(tuple(axes), tuple(range(len(axes)))).index_put_(tuple(indices), values, accumulate=combine == "add")
    return x


def padded(x, pad_width, mode, value):
    if mode != "constant":
        return None
    widths = np.ravel(pad_width)
    widths = np.repeat(widths, 2) if widths.size == 1 else widths
    pairs = (np.tile(widths, x.ndim) if widths.size == 2 else widths).reshape(-1, 2)
    return F.pad(x, pairs[::-1].ravel().tolist(), value=float(value))


def sort(x, axis, descending):
    return None if axis is None else torch.sort(x, dim=axis, descending=descending, stable=True)


def cut(x, sections, axis):
    return torch.tensor_split(x, sections, axis) if isinstance(sections, int) or max(sections) <= x.shape[axis] else None


SPECIAL = {
    "arange": lambda start, stop, step, dtype: torch.arange(start) if stop is None else torch.arange(start, stop, step),
    "linspace": lambda start, stop, num, endpoint, dtype: (
        torch.linspace(start, stop, num, dtype=torch.float64) if endpoint else None
    ),
    "eye": lambda n, m, k, dtype: torch.eye(n, m or n) if k == 0 else None,
    "full": lambda shape, value, dtype: torch.full(sizes(shape), value),
    "zeros": lambda shape, dtype: torch.zeros(shape),
    "ones": lambda shape, dtype: torch.ones(shape),
    "zeros_like": lambda x, dtype: torch.zeros_like(x),
    "ones_like": lambda x, dtype: torch.ones_like(x),
    "full_like": lambda x, value, dtype: torch.full_like(x, value),
    "one_hot": lambda x, num_classes, dtype: F.one_hot(x, num_classes),
    "tril": lambda x, k: torch.tril(x, k),
    "triu": lambda x, k: torch.triu(x, k),
    "meshgrid": lambda xs, indexing: torch.meshgrid(*xs, indexing=indexing),
    "log_sigmoid": lambda x: F.logsigmoid(x),
    "variable": lambda x: x.clone(),
    "stop_gradient": lambda x: x.detach(),
    "multiply_no_nan": lambda x, y: torch.where(y == 0, y, x * y),
    "prod": lambda x, axis, keepdims, dtype: (
        torch.prod(x) if axis is None else torch.prod(x, axis, keepdim=keepdims) if isinstance(axis, int) else None
    ),
    "sum": lambda x, axis, keepdims, dtype: torch.sum(x, axis, keepdim=keepdims),
    "mean": lambda x, axis, keepdims, dtype: torch.mean(x, axis, keepdim=keepdims),
    "max": lambda x, axis, keepdims: torch.amax(x, all_axes(x, axis), keepdim=keepdims),
    "min": lambda x, axis, keepdims: torch.amin(x, all_axes(x, axis), keepdim=keepdims),
    "var": lambda x, axis, keepdims, ddof, correction: torch.var(
        x, axis, keepdim=keepdims, correction=ddof if correction is None else correction
    ),
    "std": lambda x, axis, keepdims, ddof, correction: torch.std(
        x, axis, keepdim=keepdims, correction=ddof if correction is None else correction
    ),
    "count_nonzero": lambda x, axis, keepdims: None if keepdims else torch.count_nonzero(x, axis),
    "logsumexp": lambda x, axis, keepdims: torch.logsumexp(x, all_axes(x, axis), keepdims),
    "norm": lambda x, ord, axis, keepdims: torch.linalg.vector_norm(x, ord, axis, keepdims),
    "cumsum": scan(torch.cumsum),
    "cumprod": scan(torch.cumprod),
    "cummax": scan(torch.cummax),
    "cummin": scan(torch.cummin),
    "logcumsumexp": scan(torch.logcumsumexp),
    "einsum": lambda spec, operands: torch.einsum(spec, *operands),
    "dot": lambda x, y: torch.dot(x, y) if x.ndim == y.ndim == 1 else None,
    "vdot": lambda x, y: torch.vdot(x, y) if x.ndim == y.ndim == 1 else None,
    "outer": lambda x, y: torch.outer(x, y) if x.ndim == y.ndim == 1 else None,
    "tensordot": lambda x, y, axes: torch.tensordot(
        x, y, axes if isinstance(axes, int) else (axes[: len(axes) // 2], axes[len(axes) // 2 :])
    ),
    "matrix_transpose": lambda x: x.mT,
    "reshape": lambda x, shape: torch.reshape(x, sizes(shape)),
    "transpose": lambda x, axes: torch.permute(x, axes or tuple(range(x.ndim))[::-1]),
    "expand_dims": lambda x, axis: torch.unsqueeze(x, axis) if isinstance(axis, int) else None,
    "flatten": lambda x, start_axis, end_axis: torch.flatten(x, start_axis, end_axis),
    "broadcast_arrays": lambda xs: torch.broadcast_tensors(*xs),
    "concat": lambda xs, axis: torch.cat([x.reshape(-1) for x in xs] if axis is None else xs, axis or 0),
    "split": cut,
    "tile": lambda x, reps: torch.tile(x, sizes(reps)),
    "repeat": lambda x, repeats, axis: torch.repeat_interleave(x, repeats, axis),
    "roll": lambda x, shift, axis: torch.roll(x, shift, axis),
    "flip": lambda x, axis: torch.flip(x, sizes(all_axes(x, axis))),
    "rot90": lambda x, k, axes: torch.rot90(x, k, axes),
    "pad": padded,
    "take": lambda x, indices, axis: (
        torch.take(x, indices) if axis is None else torch.index_select(x, axis, indices) if indices.ndim == 1 else None
    ),
    "take_along_axis": lambda x, indices, axis: torch.take_along_dim(x, indices, axis),
    "take_nd": lambda x, indices, axes: x[key(x, indices, axes)],
    "put_along_axis": lambda x, indices, values, axis: torch.scatter(x, axis, indices, values),
    "put_nd": put,
    "diagonal": lambda x, offset, axis1, axis2: torch.diagonal(x, offset, axis1, axis2),
    "sort": lambda x, axis, descending, stable: getattr(sort(x, axis, descending), "values", None),
    "argsort": lambda x, axis, descending, stable: getattr(sort(x, axis, descending), "indices", None),
    "softmax": lambda x, axis: torch.softmax(x, axis) if isinstance(axis, int) else None,
    "log_softmax": lambda x, axis: torch.log_softmax(x, axis) if isinstance(axis, int) else None,
    "layer_norm": lambda x, normalized_shape, weight, bias, eps: F.layer_norm(x, sizes(normalized_shape), weight, bias, eps),
    "rms_norm": lambda x, normalized_shape, weight, eps: F.rms_norm(x, sizes(normalized_shape), weight, eps),
    "batch_norm": lambda x, running_mean, running_var, weight, bias, eps: F.batch_norm(
        x, running_mean, running_var, weight, bias, eps=eps
    ),
    "normalize": lambda x, p, axis, eps: F.normalize(x, p, axis, eps) if isinstance(axis, int) else None,
    "scaled_dot_product_attention": lambda query, key, value, mask, is_causal, scale, enable_gqa: F.scaled_dot_product_attention(
        query, key, value, mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
    ),
    "power": lambda x, y: torch.pow(x, y),
    "equal": lambda x, y: torch.eq(x, y),
    "left_shift": lambda x, y: torch.bitwise_left_shift(x, y),
    "right_shift": lambda x, y: torch.bitwise_right_shift(x, y),
}

WITHOUT = {
    **RANDOM,
    "astype": "floats to integers saturate here",
    "rope_tables": "none there",
    "rope": "none there",
    "topk": "equal elements come in any order",
    ("vecdot", "int64"): "an error there",
    ("mean", "int64"): "an error there",
    ("power", "int64"): "negative powers of integers are an error there",
}

TORCH = Library([F, torch, torch.special, torch.linalg], torch.from_numpy, SPECIAL, WITHOUT, {"axis": "dim", "keepdims": "keepdim"})


@pytest.mark.parametrize("function,dtype", TORCH.table())
def test_function(function, dtype):
    assert TORCH.compare(function, dtype) > 0


def test_topk():
    x = np.random.default_rng(1).permutation(60).reshape(4, 15).astype(np.float32)
    for largest in (True, False):
        for axis in (0, 1):
            got, want = pto.topk(x, 3, axis, largest), torch.topk(torch.from_numpy(x), 3, axis, largest)
            np.testing.assert_array_equal(got[0].numpy(), want.values)
            np.testing.assert_array_equal(got[1].numpy(), want.indices)


# --- modules ----------------------------------------------------------------------------------------


def test_an_encoder_layer_with_torch_weights():
    """torch's own transformer layer, from its state_dict, in training's and inference's order of norms."""
    for norm_first in (False, True):
        torch.manual_seed(3)
        theirs = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=norm_first).eval()
        w = {name: pto.from_dlpack(p.detach()) for name, p in theirs.state_dict().items()}

        def norm(x, name, w=w):
            return pto.layer_norm(x, 32, w[name + ".weight"], w[name + ".bias"])

        def attend(x, w=w):
            qkv = pto.linear(x, w["self_attn.in_proj_weight"], w["self_attn.in_proj_bias"])
            q, k, v = pto.unbind(qkv.reshape(x.shape[0], x.shape[1], 3, 4, 8).transpose(2, 0, 3, 1, 4))
            mixed = pto.scaled_dot_product_attention(q, k, v).transpose(0, 2, 1, 3).reshape(x.shape)
            return pto.linear(mixed, w["self_attn.out_proj.weight"], w["self_attn.out_proj.bias"])

        def feed(x, w=w):
            hidden = pto.relu(pto.linear(x, w["linear1.weight"], w["linear1.bias"]))
            return pto.linear(hidden, w["linear2.weight"], w["linear2.bias"])

        @pto.jit
        def layer(x, norm_first=norm_first, norm=norm, attend=attend, feed=feed):
            if norm_first:
                x = x + attend(norm(x, "norm1"))
                return x + feed(norm(x, "norm2"))
            x = norm(x + attend(x), "norm1")
            return norm(x + feed(x), "norm2")

        x = torch.randn(3, 17, 32)
        with torch.no_grad():
            want = theirs(x)
        np.testing.assert_allclose(layer(pto.from_dlpack(x)).numpy(), want.numpy(), rtol=1e-4, atol=2e-5)


# --- exchange ---------------------------------------------------------------------------------------

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("dtype", TYPES)
def test_dlpack_from_torch(dtype):
    theirs = (torch.arange(24).reshape(2, 3, 4) % 5).to(getattr(torch, dtype))
    ours = pto.from_dlpack(theirs)
    assert ours.shape == (2, 3, 4) and ours.dtype.name == dtype
    np.testing.assert_array_equal(ours.numpy().astype(np.float64), theirs.double().numpy())
    strided = theirs.transpose(0, 2)[1:, ::2]
    np.testing.assert_array_equal(pto.from_dlpack(strided).numpy().astype(np.float64), strided.double().numpy())
    empty = torch.empty((0, 3), dtype=theirs.dtype)
    assert pto.from_dlpack(empty).shape == (0, 3)


@pytest.mark.parametrize("dtype", TYPES)
def test_dlpack_to_torch(dtype):
    ours = (pto.arange(24).reshape(2, 3, 4) % 5).astype(dtype)
    theirs = torch.from_dlpack(ours)
    assert theirs.shape == (2, 3, 4) and theirs.dtype == getattr(torch, dtype)
    np.testing.assert_array_equal(theirs.double().numpy(), ours.numpy().astype(np.float64))
    turned = torch.from_dlpack(ours.transpose(2, 0, 1)[::-1])
    np.testing.assert_array_equal(turned.double().numpy(), ours.numpy().astype(np.float64).transpose(2, 0, 1)[::-1])


def test_dlpack_shares_memory():
    theirs = torch.arange(6, dtype=torch.float32)
    assert pto.from_dlpack(theirs).numpy().__array_interface__["data"][0] == theirs.data_ptr()
    ours = pto.arange(6, dtype="float32").wait()
    assert torch.from_dlpack(ours).data_ptr() == ours.numpy().__array_interface__["data"][0]


def test_operands_and_copies_do_not_see_later_writes():
    theirs = torch.arange(6, dtype=torch.float32)
    copies = [pto.from_dlpack(theirs, copy=True), pto.asarray(theirs), pto.zeros(6) + theirs]
    strided = pto.from_dlpack(theirs[::2], copy=True)
    theirs[0] = 9
    for copy in copies:
        assert copy.numpy().tolist() == [0, 1, 2, 3, 4, 5]
    assert strided.numpy().tolist() == [0, 2, 4]


def test_each_side_keeps_the_memory_of_the_other():
    ours = pto.from_dlpack(torch.full((1000,), 7.0))
    theirs = torch.from_dlpack(pto.full((1000,), 5.0).wait())
    for _ in range(20):  # what was freed would be overwritten
        torch.full((1000,), -1.0)
        pto.full((1000,), -1.0).wait()
    assert ours.numpy().tolist() == [7.0] * 1000
    assert theirs.tolist() == [5.0] * 1000


def test_torch_tensors_as_arguments():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    f = pto.jit(lambda a, b: a @ b + 1)
    np.testing.assert_array_equal(f(pto.asarray(x), pto.asarray(x.T)).numpy(), (x @ x.T + 1).numpy())


def test_complex_is_refused():
    with pytest.raises(pto.Error, match="complex"):
        pto.from_dlpack(torch.zeros(3, dtype=torch.complex64))
