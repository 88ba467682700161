"""Mistakes of users: each is an error of the right type, which names the facts and stands at the user's line."""

import os
import re
import shutil

import numpy as np
import pytest
from files import FLOAT, FOLDER, one, packed, two, written

import pypto as pto


@pytest.fixture(scope="module", autouse=True)
def folder():
    yield
    shutil.rmtree(FOLDER)


def ones(*shape, dtype="float32"):
    return pto.ones(shape, dtype=dtype)


def ints(*values):
    return pto.asarray(list(values), dtype="int64")


x = ones(2, 3)
plus_one = pto.kernel(lambda x: x + 1)
plus = pto.jit(lambda x, n: x + n)
SOUND = packed({"w": FLOAT}, bytes(8))

# Per kind: what the user writes, and what the message has, in order.
TABLE = {
    "shape": [
        (lambda: x + ones(4, 3), r"add: .*axis -2 has the sizes 2 and 4.*f32\[2, 3\].*f32\[4, 3\]"),
        (lambda: x @ ones(4, 5), r"matmul: .*expected: 3.*got: 4.*f32\[2, 3\], f32\[4, 5\]"),
        (lambda: pto.matmul(ones(3), ones(4)), r"matmul: .*expected: 3.*got: 4"),
        (lambda: pto.reshape(x, (4, 2)), r"reshape: .*expected: 6 elements.*got: \[4, 2\]: 8.*x: f32\[2, 3\]"),
        (lambda: x.reshape(-1, 4), r"reshape: the elements do not divide.*got: \[-1, 4\]"),
        (lambda: pto.broadcast_to(x, (2, 4)), r"broadcast_to: axis 1 has size 3 and cannot become 4"),
        (lambda: x.expand(4, 3), r"expand: axis 0 has size 2 and cannot become 4"),
        (lambda: pto.concat([x, ones(3, 3)], axis=1), r"concat: tensor 1 has another size at axis 0.*expected: 2.*got: 3.*xs\[1\]"),
        (lambda: pto.stack([x, ones(3, 3)]), r"stack: tensor 1 .*axis 1.*expected: 2.*got: 3"),
        (lambda: pto.where(x > 0, ones(4), ones(3)), r"where: .*axis -1 has the sizes 3 and 4.*condition: bool.*x: f32\[4\]"),
        (lambda: pto.layer_norm(x, (4,)), r"layer_norm: .*expected: \[4\].*got: \[2, 3\]"),
        (lambda: pto.squeeze(x, axis=0), r"squeeze: axis 0 cannot be dropped.*expected: size 1.*got: 2"),
        (lambda: pto.split(ones(7), 3), r"split: axis 0 .*divides 7.*got: 3"),
        (lambda: pto.conv2d(ones(1, 3, 8, 8), ones(4, 2, 3, 3)), r"conv2d: .*expected: 2 channels.*got: 3"),
        (lambda: pto.max(ones(2, 0), axis=1), r"max: axis 1 has size 0.*at least 1"),
        (lambda: pto.argmax(ones(0, 3), axis=0), r"argmax: axis 0 has size 0"),
        (lambda: pto.zeros((2, -3)), r"zeros: the size of axis 1 is negative.*got: -3"),
        (lambda: pto.cross_entropy(ones(4, 10), ints(*[0] * 5)), r"cross_entropy: .*x: f32\[4, 10\], target: i64\[5\]"),
        (lambda: pto.asarray([[1], [1, 2]]), r"asarray: the nested list is ragged"),
        (lambda: x.__setitem__(0, ones(4)), r"index: .*f32\[4\]"),
    ],
    "dtype": [
        (lambda: ones(1, dtype="uint64") + ints(1), r"add: .*got: uint64 and int64.*u64\[1\], x1: i64\[1\]"),
        (lambda: pto.result_type("uint64", "int8"), r"result_type: .*got: uint64 and int8"),
        (lambda: pto.asarray([1], dtype="complex64"), r"complex numbers are not supported.*float64.*got: complex64"),
        (lambda: x + 1j, r"complex numbers are not supported.*got: 1j"),
        (lambda: pto.ones(3, dtype="float128"), r"ones: argument dtype .*float128"),
        (lambda: pto.asarray(np.array(["a"])), r"this is not an element type.*got: <U1"),
        (lambda: pto.asarray([None]), r"asarray: .*no numbers.*\[None\]"),
        (lambda: pto.asarray(np.array([1.0], dtype=">f4")), r"asarray: .*native byte order.*>f4"),
        (lambda: x & x, r"bitwise_and of float32.*expected: bool or an integer type.*f32\[2, 3\]"),
        (lambda: ~x, r"bitwise_not of float32"),
        (lambda: ones(3) << 1, r"left_shift of float32.*expected: an integer type"),
        (lambda: x[ones(2)], r"index: an index must be integers or bools.*got: float32"),
        (lambda: pto.take(x, ones(2), axis=0), r"take: indices must be integers.*got: f32\[2\]"),
        (lambda: pto.embedding(ones(2), ones(5, 3)), r"embedding: indices must be integers.*weight: f32\[5, 3\]"),
        (lambda: pto.one_hot(ones(3), 4), r"one_hot: x must be integers"),
        (lambda: plus_one(pto.asarray("text")), r"asarray: "),
    ],
    "rank": [
        (lambda: pto.sum(x, axis=2), r"sum: axis 2 is out of range for rank 2.*expected: -2 \.\. 1.*x: f32\[2, 3\]"),
        (lambda: pto.sum(x, axis=(0, -2)), r"sum: axis -2 is named twice.*got: \[0, -2\]"),
        (lambda: pto.softmax(x, axis=-3), r"softmax: axis -3 is out of range for rank 2"),
        (lambda: pto.cumsum(x, axis=2), r"cumsum: axis 2 "),
        (lambda: pto.transpose(x, (0, 1, 2)), r"transpose: axis 2 is out of range for rank 2"),
        (lambda: pto.transpose(x, (0, 0)), r"transpose: axis 0 is named twice"),
        (lambda: x.permute(0, 1, 2), r"permute: axis 2 is out of range for rank 2"),
        (lambda: ones(3).mT, r"mT: .*fewer than two axes.*f32\[3\]"),
        (lambda: x[0, 0, 0], r"index: there are more indices than axes.*expected: at most 2.*got: 3"),
        (lambda: x[..., ...], r"index: .*one ellipsis"),
        (lambda: x.unsqueeze(5), r"unsqueeze: axis 5 is out of range for rank 3"),
        (lambda: pto.matmul(ones(), ones(3)), r"matmul: .*rank 1 or more.*f32\[\] and f32\[3\]"),
        (lambda: pto.conv2d(ones(3, 8, 8), ones(4, 3, 3)), r"conv2d: .*rank 4.*x: f32\[3, 8, 8\]"),
        (lambda: pto.diagonal(ones(3)), r"diagonal: .*rank >= 2.*f32\[3\]"),
        (lambda: pto.moveaxis(x, 0, 2), r"moveaxis: axis 2 "),
        (lambda: pto.broadcast_to(x, (3,)), r"broadcast_to: .*fewer axes.*expected: \[2, 3\].*got: \[3\]"),
    ],
    "label": [
        (lambda: pto.einsum("ij,jk->ik", x, ones(4, 5)), r"label j has size 3 in operand 0 and size 4 in operand 1"),
        (lambda: pto.einsum("ii->i", x), r"label i has size 2 in operand 0 and size 3 in operand 0"),
        (lambda: pto.einsum("...i,...i->...", x, ones(4, 3)), r"label \.\.\. has size 2 in operand 0 and size 4 in operand 1"),
        (lambda: pto.einsum("ij->ijk", x), r"label k of the result is no operand's.*got: ijk"),
        (lambda: pto.einsum("ij->ii", x), r"label i stands twice in the result"),
        (lambda: pto.einsum("ij,jk", x), r"expected: 2 operands.*got: 1"),
        (lambda: pto.einsum("ijk->i", x), r"operand 0 .*ijk \(3 axes\).*f32\[2, 3\]"),
        (lambda: pto.einsum("i1->i", x), r"label: 1.*expected: a letter"),
        (lambda: pto.einsum("ij->->", x), r"label: -"),
        (lambda: pto.einsum("i...->i", x), r"result must have the axes of the ellipsis"),
        (lambda: pto.einsum("i,j->ij"), r"there are no operands"),
        (lambda: pto.einsum(x, "ij"), r"the subscripts come first.*got: Tensor, str"),
        (lambda: pto.einsum(x, [0, 1], ones(4, 5), [1, 2]), r"label B has size 3 in operand 0 and size 4 in operand 1"),
        (lambda: pto.einsum(x, [0, 99]), r"a label is an integer from 0 to 51.*\[0, 99\]"),
    ],
    "device": [
        (lambda: x.to("cuda"), r"to: this device is not available.*expected: cpu.*got: cuda"),
        (lambda: x.to("tpu:3"), r"to: this device is not available.*got: tpu:3"),
        (lambda: x.to("cpu:1"), r"to: this device is not available.*got: cpu:1"),
        (lambda: x.to("toaster"), r"to: this is neither an element type nor a device.*got: toaster"),
        (lambda: pto.asarray([1], device="cuda"), r"asarray: there is no such device.*expected: cpu.*got: cuda"),
        (lambda: pto.zeros(3, device="cuda"), r"zeros: there is no such device.*got: cuda"),
        (lambda: pto.arange(3, device="rocm"), r"arange: there is no such device.*got: rocm"),
        (lambda: pto.zeros_like(x, device="oneapi"), r"zeros_like: there is no such device.*got: oneapi"),
        (lambda: pto.from_dlpack(np.ones(3), device="cuda"), r"from_dlpack: there is no such device"),
    ],
    "backend": [
        (lambda: plus_one.get_code(backend="cuda"), r"get_code: this backend is not available.*expected: cpu.*got: cuda"),
        (lambda: plus_one.get_code(backend="rocm"), r"get_code: this backend is not available.*got: rocm"),
        (lambda: plus_one.get_code(backend="abacus"), r"get_code: there is no such backend.*expected: cpu.*got: abacus"),
        (lambda: plus_one.get_code(backend="CPU"), r"get_code: there is no such backend.*got: CPU"),
        (lambda: plus_one.get_code(backend=None), r"get_code: there is no such backend.*got: None"),
        (lambda: pto.jit(lambda x: x).get_code(backend="tpu"), r"get_code: this backend is not available.*got: tpu"),
        (lambda: plus_one.show(level="attic"), r"show: there is no such level.*tensor, tile, .*got: attic"),
    ],
    "missing file": [
        (lambda: pto.load("/nowhere/model.safetensors"), r"load: there is no such file.*got: /nowhere/model.safetensors"),
        (lambda: pto.load(FOLDER / "none"), r"load: there is no such file.*none"),
        (lambda: pto.load(""), r"load: there is no such file"),
        (lambda: pto.load(FOLDER), r"load: the file cannot be read: Is a directory"),
        (lambda: pto.load("a\0b"), r"load: this is not a path.*a\\x00b"),
        (lambda: pto.load(3), r"load: this is not a path.*got: 3"),
        (lambda: pto.load(b"bytes"), r"load: this is not a path"),
        (lambda: pto.save("/nowhere/model.safetensors", {"x": x}), r"save: the file cannot be written: No such file"),
        (lambda: pto.save(FOLDER, {"x": x}), r"save: the file cannot be written: .*irectory"),
    ],
    "truncated file": [
        (lambda: pto.load(written(b"")), r"it has 0 bytes"),
        (lambda: pto.load(written(SOUND[:7])), r"it has 7 bytes"),
        (lambda: pto.load(written(SOUND[:8])), r"header should have \d+ bytes, at most 0 are possible"),
        (lambda: pto.load(written(SOUND[:30])), r"header should have \d+ bytes, at most 22"),
        (lambda: pto.load(written(SOUND[:-8])), r"tensor w is at \[0, 8\] of data of 0 bytes"),
        (lambda: pto.load(written(SOUND[:-1])), r"label: w.*tensor w is at \[0, 8\] of data of 7 bytes"),
        (lambda: pto.load(written(SOUND + b"more")), r"its data have 12 bytes, and its tensors 8"),
    ],
    "hostile file": [
        (lambda: pto.load(written(packed({"w": FLOAT}, bytes(8), 2**63 - 1))), r"header should have 9223372036854775807 bytes"),
        (lambda: pto.load(written(packed({"w": FLOAT}, bytes(8), 2**64 - 1))), r"header should have 18446744073709551615 bytes"),
        (lambda: pto.load(written(packed(b"{" * 1000))), r"is not JSON"),
        (lambda: pto.load(written(packed(b"[" * 100000 + b"]" * 100000))), r"is not JSON"),
        (lambda: pto.load(written(packed(b"\xff\xfe"))), r"is not JSON"),
        (lambda: pto.load(written(packed(b'{"w": ' + b"9" * 5000 + b"}"))), r"not a sound safetensors file"),
        (lambda: pto.load(written(packed([1, 2]))), r"is no object: \[1, 2\]"),
        (lambda: pto.load(written(packed({"__metadata__": {"n": 1}}))), r"metadata are no text by name"),
        (lambda: pto.load(written(packed({"w": 3}))), r"tensor w has not dtype, shape and data_offsets: 3"),
        (lambda: pto.load(one(more=1)), r"tensor more has not dtype, shape and data_offsets: 1"),
        (lambda: pto.load(one(dtype="F8_E4M3")), r"element type of tensor w is not supported.*got: 'F8_E4M3'"),
        (lambda: pto.load(one(dtype=["F32"])), r"element type of tensor w is not supported"),
        (lambda: pto.load(one(shape=[-2])), r"tensor w has no sizes for a shape: \[-2\]"),
        (lambda: pto.load(one(shape=[2.0])), r"tensor w has no sizes for a shape"),
        (lambda: pto.load(one(shape=[True, 2])), r"tensor w has no sizes for a shape"),
        (lambda: pto.load(one(shape=[1] * 65)), r"tensor w has no sizes for a shape"),
        (lambda: pto.load(one(shape=[3])), r"tensor w is float32\(3,\) in 8 bytes"),
        (lambda: pto.load(one(shape=[2**32, 2**32, 2])), r"tensor w is float32\(4294967296, 4294967296, 2\) in 8 bytes"),
        (lambda: pto.load(one(shape=[0, 2**62], offsets=[0, 0], data=b"")), r"tensor w is float32\(0, 4611686018427387904\)"),
        (lambda: pto.load(one(offsets=[0, 16])), r"tensor w is at \[0, 16\] of data of 8 bytes"),
        (lambda: pto.load(one(offsets=[8, 0])), r"tensor w is at \[8, 0\]"),
        (lambda: pto.load(one(offsets=[-8, 0])), r"tensor w is at \[-8, 0\]"),
        (lambda: pto.load(one(offsets=[2**64, 2**64 + 8])), r"tensor w is at \[18446744073709551616"),
        (lambda: pto.load(one(offsets=[0])), r"tensor w is at \[0\]"),
        (lambda: pto.load(two((0, 8), (4, 12), 12)), r"tensors a and b overlap at byte 4"),
        (lambda: pto.load(two((0, 8), (0, 8), 8)), r"tensors a and b overlap at byte 0"),
        (lambda: pto.load(two((0, 8), (12, 20), 20)), r"bytes 8 to 12 of the data, before tensor b, belong to none"),
        (lambda: pto.load(written(packed(b'{"w": %b, "w": %b}' % ((b"{}",) * 2)))), r"w stands twice"),
    ],
    "number that does not fit": [
        (lambda: pto.asarray([300], dtype="int8"), r"asarray: the integer 300 does not fit the type int8"),
        (lambda: pto.asarray(-1, dtype="uint8"), r"asarray: the integer -1 does not fit the type uint8"),
        (lambda: pto.asarray([2**70]), r"asarray: a number does not fit in 64 bits"),
        (lambda: pto.full((2,), 300, dtype="int8"), r"full: the integer 300 does not fit the type int8"),
        (lambda: pto.full_like(ones(2, dtype="uint8"), -1), r"full_like: the integer -1 does not fit the type uint8"),
        (lambda: ones(2, dtype="int8") + 300, r"add: the integer 300 does not fit the type int8.*i8\[2\]"),
        (lambda: pto.pad(ones(2, dtype="int8"), 1, value=128), r"pad: the integer 128 does not fit the type int8"),
        (lambda: ones(2, dtype="int8").__setitem__(0, 300), r"the integer 300 does not fit the type int8"),
        (lambda: ones(2, dtype="uint8").__setitem__(slice(None), [1, -1]), r"the integer -1 does not fit the type uint8"),
        (lambda: pto.arange(0, float("nan")), r"arange: .*no number of elements"),
        (lambda: pto.arange(0, 1e30), r"arange: .*no number of elements"),
        (lambda: [plus(x, n) for n in (1, 2, 2**70)], r"does not fit in 64 bits.*1180591620717411303424"),
    ],
    "size": [
        (lambda: pto.zeros((2**40, 2**40)), r"zeros: .*larger than any memory.*2\^56 bytes.*f32\[1099511627776, 1099511627776\]"),
        (lambda: pto.zeros((2**63,)), r"does not fit in 64 bits.*9223372036854775808"),
        (lambda: pto.ones((2**61,)), r"larger than any memory.*2\^60.*2305843009213693952"),
        (lambda: pto.zeros((0, 2**59, 2**59)), r"zeros: .*larger than any memory"),
        (lambda: pto.broadcast_to(ones(1), (2**40, 2**30)), r"broadcast_to: .*larger than any memory"),
        (lambda: pto.arange(2**59), r"arange: .*larger than any memory"),
        (lambda: pto.tile(ones(1024), (2**54,)), r"tile: .*larger than any memory"),
        (lambda: pto.repeat(ones(0, 1024), 2**54, axis=1), r"repeat: .*larger than any memory"),
        (lambda: pto.reshape(ones(0), (2**40, 2**40)), r"reshape: .*larger than any memory"),
        (lambda: pto.pad(ones(3), ((2**59, 2**59),)), r"pad: .*larger than any memory"),
        (lambda: pto.eye(2**31), r"eye: .*larger than any memory"),
        (lambda: pto.einsum("i,j,k->ijk", *[pto.zeros(2**24)] * 3), r"einsum: .*larger than any memory"),
        (lambda: pto.zeros(2**45).numpy(), r"out of memory for 140737488355328 bytes"),
    ],
    "index": [
        (lambda: x[2], r"index 2 is out of bounds for axis 0 of size 2.*f32\[2, 3\]"),
        (lambda: x[:, -4], r"index -4 is out of bounds for axis 1 of size 3"),
        (lambda: x[2**70], r"index 1180591620717411303424 is out of bounds for axis 0 of size 2"),
        (lambda: x.__setitem__((0, 5), 1.0), r"index 5 is out of bounds for axis 1 of size 3"),
        (lambda: x["a"], r"index: this is not an index.*got: 'a'"),
        (lambda: x[[0, [1]]], r"asarray: the nested list is ragged"),
        (lambda: x[[0.5]], r"index: an index must be integers or bools.*got: float32"),
        (lambda: x[1.5], r"index: a float is not an index.*got: 1.5"),
        (lambda: x[::0], r"index: a slice's step is 0"),
        (lambda: x[np.array([True, False, True])], r"index: the mask has another shape.*\(3,\)"),
        (lambda: pto.take(x, ints(5), axis=1).numpy(), r"take: index out of range for axis 1 of size 3"),
        (lambda: pto.take(x, ints(0, -4), axis=1).numpy(), r"take: .*axis 1 of size 3"),
        (lambda: x[ints(2)].numpy(), r"index: .*axis 0 of size 2"),
        (lambda: x[ints(0), ints(3)].numpy(), r"index: .*axis 1 of size 3"),
        (lambda: x[np.array([0, 5])].numpy(), r"index: .*axis 0 of size 2"),
        (lambda: pto.embedding(ints(0, 7), ones(5, 3)).numpy(), r"embedding: .*axis 0 of size 5"),
        (lambda: pto.take_along_axis(x, ints(4)[None], axis=1).numpy(), r"take_along_axis: .*axis 1 of size 3"),
        (lambda: pto.scatter(ones(3), 0, ints(3), ones(1)).numpy(), r"scatter: .*axis 0 of size 3"),
        (lambda: pto.cross_entropy(x, ints(0, 3)).numpy(), r"cross_entropy: .*axis 1 of size 3"),
        (lambda: pto.jit(lambda x, i: pto.take(x, i, axis=0) * 2)(x, ints(9)).numpy(), r"take: .*axis 0 of size 2"),
    ],
}
CASES = [pytest.param(*case, id=f"{kind} {i}") for kind, cases in TABLE.items() for i, case in enumerate(cases)]


def test_every_kind_has_cases():
    assert all(len(cases) >= 5 for cases in TABLE.values())


@pytest.mark.parametrize("call,message", CASES)
def test_error(call, message):
    with pytest.raises(pto.Error) as caught:
        call()
    e = caught.value
    assert re.search(message, str(e), re.DOTALL), str(e)
    line = call.__code__.co_firstlineno
    assert (e.file, e.line) == (__file__, line) and f"at {__file__}:{line}" in str(e)


def attention(x, wq, wk, wv, wo, output):
    q, k, v = (pto.einsum("bsd,dnh->bnsh", x, w) for w in (wq, wk, wv))
    weights = pto.softmax(pto.einsum("bnsh,bnth->bnst", q, k) / q.shape[-1] ** 0.5, axis=-1)
    o = pto.einsum("bnst,bnth->bsnh", weights, v)[:, -1]
    return pto.einsum(output, o, wo)


def attention_in_numpy(x, wq, wk, wv, wo):
    q, k, v = (np.einsum("bsd,dnh->bnsh", x, w) for w in (wq, wk, wv))
    scores = np.einsum("bnsh,bnth->bnst", q, k) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    o = np.einsum("bnst,bnth->bsnh", weights / weights.sum(-1, keepdims=True), v)[:, -1]
    return np.einsum("bnh,nhd->bd", o, wo)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize("call", [attention, pto.jit(attention)], ids=["lazy", "jit"])
def test_attention_whose_last_product_fits_one_head_only(call, heads, batch):
    rng = np.random.default_rng(heads)
    d = 8
    x = rng.standard_normal((batch, 5, d))
    w = [rng.standard_normal((d, heads, d // heads)) for _ in range(3)]
    wo = rng.standard_normal((heads, d // heads, d))
    want = attention_in_numpy(x, *w, wo)
    np.testing.assert_allclose(call(x, *w, wo, output="bnh,nhd->bd").numpy(), want, rtol=1e-12)
    if heads == 1:
        np.testing.assert_allclose(call(x, *w, wo[0], output="bnh,hd->bd").numpy(), want, rtol=1e-12)
        return
    with pytest.raises(pto.Error) as caught:
        call(x, *w, wo.reshape(d, d), output="bnh,hd->bd")
    e = caught.value
    assert e.op == "einsum" and e.label == "h" and e.file == __file__ and e.line == attention.__code__.co_firstlineno + 4
    first, size = f"f64[{batch}, {heads}, {d // heads}]", d // heads
    if e.sizes:  # traced for any sizes
        first, size = "f64[s0, s1, s2]", "s2"
        assert e.sizes == f"s0 = {batch}, s1 = {heads}, s2 = {d // heads}" and f"where: {e.sizes}" in str(e)
    assert e.operands == (first, f"f64[{d}, {d}]")
    assert f"label h has size {size} in operand 0 and size {d} in operand 1" in str(e)
    assert "return pto.einsum(output, o, wo)" in str(e) and "^^^" in str(e)


def test_what_failed_left_everything_as_it_was():
    values = ones(2, 3)
    for index, value in [((0, 5), 1.0), (0, ones(4)), (slice(None), ones(2, 4)), (ints(0, 1), ones(5, 5))]:
        with pytest.raises(pto.Error):
            values[index] = value
    with pytest.raises(pto.Error):
        values += ones(5)
    np.testing.assert_array_equal(values.numpy(), np.ones((2, 3)))

    @pto.module
    class Layer:
        def __init__(self):
            self.a = pto.Parameter(pto.zeros(2))
            self.b = pto.Parameter(pto.zeros(3))

        def forward(self, x):
            self.a += 1.0
            return self.b + x

    layer = Layer()
    for state in [{"a": ones(2), "b": ones(4)}, {"a": ones(2)}, {"a": ones(2), "b": ones(3), "c": ones(1)}]:
        with pytest.raises(pto.Error, match="does not fit the module"):
            layer.load_state_dict(state)
    with pytest.raises(pto.Error, match="does not|not broadcast"):
        pto.jit(layer)(ones(4))
    np.testing.assert_array_equal(layer.b.numpy(), np.zeros(3))


def test_an_index_that_is_found_out_of_range_when_it_runs_commits_nothing():
    state = pto.zeros(3)

    @pto.jit
    def step(i):
        nonlocal state
        state += 1.0
        return pto.take(pto.arange(4), i, axis=0)

    np.testing.assert_array_equal(step(ints(3)).numpy(), [3])
    with pytest.raises(pto.Error, match="axis 0 of size 4"):
        step(ints(4)).numpy()
    np.testing.assert_array_equal(state.numpy(), np.ones(3))


def test_errors_are_values():
    import pickle

    for call in (lambda: x + ones(5), lambda: x[9]):
        with pytest.raises(pto.Error) as caught:
            call()
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is type(caught.value) and str(again) == str(caught.value) and vars(again) == vars(caught.value)
    assert isinstance(caught.value, IndexError) and issubclass(pto.Error, ValueError)
    assert list(pto.asarray([1, 2])) == [1, 2]


def test_sizes_that_overflow_only_when_the_program_runs():
    repeated = pto.jit(lambda x: pto.tile(x, (2**40,)))
    total = pto.jit(lambda x: pto.sum(pto.tile(x, (2**40,)) + 1))
    for fn, message in [(repeated, r"1099511627776 \* n does not fit in 64 bits.*n = 16777216"), (total, "larger than any memory")]:
        fn.show(specs=[pto.spec(("n",))], file=open(os.devnull, "w"))
        with pytest.raises(pto.Error, match=f"(?s){message}"):
            fn(ones(2**24))
    for n in (2, 2**22):
        with pytest.raises(pto.Error, match="out of memory|larger than any memory"):
            repeated(ones(n))


def test_errors_found_later_stand_where_the_operator_was_written():
    y = pto.take(x, ints(7), axis=0)
    z = pto.sum(y * 2)
    with pytest.raises(pto.Error, match="take: index out of range for axis 0 of size 2") as caught:
        z.numpy()
    first = test_errors_found_later_stand_where_the_operator_was_written.__code__.co_firstlineno
    assert (caught.value.file, caught.value.line, caught.value.label) == (__file__, first + 1, "0")

    def block(x, i):
        x = x + 1
        return x[i] * 2

    fn = pto.jit(block)
    assert fn(x, ints(1)).shape == (1, 3)
    with pytest.raises(pto.Error, match="index out of range for axis 0 of size 2") as caught:
        fn(x, ints(2)).numpy()
    assert caught.value.line == block.__code__.co_firstlineno + 2 and "block / index" in str(caught.value)
