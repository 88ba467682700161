"""Tensors in safetensors files, in both directions and against the format's own library where it is installed."""

import os
import pathlib
import tracemalloc
import warnings

import numpy as np
import pytest

import pypto as pto

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64".split()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.safetensors"


def bits(x):
    return x.dtype.name, x.shape, x.numpy().tobytes()


def test_every_type_and_shape_comes_back_bit_by_bit(path):
    rng = np.random.default_rng(0)
    tensors = {"empty": pto.zeros((0, 4)), "scalar": pto.asarray(-2.5), "名": pto.asarray([np.nan, -0.0, np.inf])}
    for dtype in DTYPES:
        tensors[dtype] = pto.asarray(rng.integers(0, 2**63, 5, dtype=np.uint64)).astype(dtype)
    tensors["transposed"] = pto.asarray(rng.standard_normal((3, 4))).T
    pto.save(path, tensors, {"made by": "a test"})
    for mapped in (False, True):
        loaded = pto.load(path, mapped=mapped)
        assert {k: bits(v) for k, v in loaded.items()} == {k: bits(v) for k, v in tensors.items()}
        assert all(type(v) is pto.Tensor for v in loaded.values())
    pto.save(str(path), {})
    assert pto.load(str(path)) == {}


def test_the_formats_library_reads_and_writes_the_same(path):
    library = pytest.importorskip("safetensors.numpy")
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([True, False]), "c": np.array(3)}
    pto.save(path, arrays)
    for k, v in library.load_file(path).items():
        np.testing.assert_array_equal(v, arrays[k], strict=True)
    library.save_file(arrays, path)
    for mapped in (False, True):
        for k, v in pto.load(path, mapped=mapped).items():
            np.testing.assert_array_equal(v.numpy(), arrays[k], strict=True)


def test_mapped_tensors_read_the_file_where_it_is(path):
    want = np.arange(1 << 20, dtype=np.float32).reshape(1024, 1024)
    pto.save(path, {"a": want, "flags": want > 5})
    tracemalloc.start()
    loaded = pto.load(path, mapped=True)
    assert tracemalloc.get_traced_memory()[1] < 2 * want.size  # of the data only the bools are copied
    tracemalloc.stop()
    again = pto.load(path, mapped=True)
    pto.save(path, {"a": pto.zeros(3)})  # a new file in the place of the old one, which lives on
    loaded["a"] += 1.0
    np.testing.assert_array_equal(again["a"].numpy(), want)
    np.testing.assert_array_equal(loaded["a"].numpy(), want + 1)
    np.testing.assert_array_equal(loaded["flags"].numpy(), want > 5)
    np.testing.assert_array_equal(pto.load(path, mapped=True)["a"].numpy(), np.zeros(3))


def test_mapped_elements_may_lie_anywhere(path):
    header = b'{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"y":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}'
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\7" + np.array([1.5, -2], np.float32).tobytes())
    loaded = pto.load(path, mapped=True)
    assert loaded["x"].numpy().tolist() == [7] and loaded["y"].numpy().tolist() == [1.5, -2.0]


def test_ties_and_views_are_saved_as_copies_with_a_warning(path):
    a = pto.asarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    with pytest.warns(UserWarning, match="^a, again share memory; the file holds a copy for each") as caught:
        pto.save(path, {"a": a, "again": a, "other": a.copy() + 0, "row": a[:1], "t": a.T, "half": a.astype("bfloat16")})
    assert caught[0].filename == __file__
    loaded = pto.load(path)
    want = np.arange(6).reshape(2, 3)
    for name, value in {"a": want, "again": want, "other": want, "row": want[:1], "t": want.T, "half": want}.items():
        np.testing.assert_array_equal(loaded[name].astype("float32").numpy(), value)
    loaded["a"] += 1.0
    np.testing.assert_array_equal(loaded["again"].numpy(), want)

    base = np.zeros((4, 4), np.float32)
    with pytest.warns(UserWarning, match="^(?=.*whole)(?=.*part)(?!.*own).* share memory"):
        pto.save(path, {"own": np.zeros(3), "whole": base, "part": base[1:, ::2]})
    assert pto.load(path)["part"].shape == (3, 2)


def test_a_model_goes_through_a_file(path):
    @pto.module
    class Layer:
        def __init__(self, value):
            self.w = pto.Parameter(pto.full((2, 3), value))
            self.b = pto.Parameter(pto.full((3,), value))

        def forward(self, x):
            return x @ self.w + self.b

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pto.save(path, Layer(2.0).state_dict())
    layer = Layer(0.0)
    layer.load_state_dict(pto.load(path))
    np.testing.assert_array_equal(layer(pto.ones((1, 2))).numpy(), [[6.0] * 3])


def test_saving_replaces_a_file_as_a_whole_or_not_at_all(path):
    pto.save(path, {"a": pto.ones(2)})
    before = path.read_bytes()
    late = pto.take(pto.ones(3), pto.asarray([5]), axis=0)
    for tensors in [{"a": late}, {"a": "text"}, {3: pto.ones(2)}, {"__metadata__": pto.ones(2)}, [pto.ones(2)]]:
        with pytest.raises(pto.Error):
            pto.save(path, tensors)
    with pytest.raises(pto.Error, match="metadata"):
        pto.save(path, {"a": pto.ones(2)}, {"n": 1})
    assert path.read_bytes() == before and os.listdir(path.parent) == [path.name]
    loaded = pto.load(path)
    pto.save(path, {"a": loaded["a"] + 1.0})  # the file that the tensors came from
    np.testing.assert_array_equal(loaded["a"].numpy(), [1, 1])
    np.testing.assert_array_equal(pto.load(path)["a"].numpy(), [2, 2])


def test_bytes_of_bools_other_than_0_and_1_are_true(path):
    pto.save(path, {"b": pto.asarray([True, False, True])})
    content = path.read_bytes()
    path.write_bytes(content[:-3] + bytes([255, 0, 2]))
    loaded = pto.load(path)["b"].numpy()
    assert loaded.view(np.uint8).tolist() == [1, 0, 1]


def test_nothing_is_allocated_for_a_header_that_lies(path):
    huge = b'{"w":{"dtype":"F32","shape":[4294967296],"data_offsets":[0,17179869184]}}'
    tracemalloc.start()
    for length, header in [(len(huge), huge), (2**40, huge), (99_999_999, b"")]:
        path.write_bytes(length.to_bytes(8, "little") + header)
        with pytest.raises(pto.Error, match="not a sound safetensors file"):
            pto.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_a_sparse_file_whose_end_is_missing_while_it_is_read(path, monkeypatch):
    pto.save(path, {"a": pto.ones(100)})
    size = path.stat().st_size
    stat = os.fstat
    path.write_bytes(path.read_bytes()[:-50])

    class Stat:
        st_size = size

    monkeypatch.setattr(os, "fstat", lambda fd: Stat)
    with pytest.raises(pto.Error, match="it ends within tensor a"):
        pto.load(path)
    monkeypatch.setattr(os, "fstat", stat)
    with pytest.raises(pto.Error, match="tensor a is at"):
        pto.load(pathlib.Path(path))


def test_files_with_random_damage_are_read_or_refused(path):
    rng = np.random.default_rng(0)
    pto.save(path, {"a": pto.ones((2, 3)), "b": pto.arange(4), "c": pto.asarray([True])}, {"k": "v"})
    sound = path.read_bytes()
    refused = 0
    for k in range(1500):
        content = bytearray(sound)
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(0, len(content) - 40))  # in the header
            if k % 3 == 0:
                content[at] = rng.integers(0, 256)
            elif k % 3 == 1:
                content[at] = rng.choice(np.frombuffer(b'0123456789-{}[]",:', np.uint8))
            else:
                del content[at : at + int(rng.integers(1, 9))]
        path.write_bytes(content)
        try:
            loaded = pto.load(path)
        except pto.Error:
            refused += 1
            continue
        assert sum(x.nbytes for x in loaded.values()) <= len(content)
    assert refused > 1000
