"""NumPy's arrays as arguments: every element type and layout, and the same trace as for tensors."""

import numpy as np
import pytest

import pypto as pto

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "longlong", "ulonglong"]
LAYOUTS = [
    lambda a: a,
    lambda a: a[::-1],
    lambda a: a[:, 1::2, ::-2],
    lambda a: a.T,
    lambda a: a[..., :0],
    lambda a: a[1, 2, 3:4],
    lambda a: np.broadcast_to(a[0, 0], (3, 4, 5)),
    lambda a: a[0, 0, 0:1].reshape(()),
]


@pytest.mark.parametrize("dtype", TYPES)
def test_elements_arrive(dtype):
    a = np.random.default_rng(1).integers(0, 2 if dtype == "?" else 50, (4, 6, 5)).astype(dtype)
    for layout in LAYOUTS:
        given = layout(a)
        got = pto.asarray(given).numpy()
        assert got.dtype.str == given.dtype.str and got.shape == given.shape
        np.testing.assert_array_equal(got, given)


def test_a_field_of_records_that_is_not_aligned():
    records = np.zeros(5, [("flag", "i1"), ("value", "f4")])
    records["value"] = np.arange(5)
    np.testing.assert_array_equal(pto.asarray(records["value"]).numpy(), np.arange(5, dtype=np.float32))


@pytest.mark.parametrize("dtype", ["c8", ">f4", "M8[s]", "U3", "O", "i1, f4"])
def test_other_types_are_refused(dtype):
    with pytest.raises(pto.Error):
        pto.asarray(np.zeros(3, dtype))


def test_later_writes_to_an_argument_change_nothing():
    @pto.jit
    def double(x):
        return x * 2

    a = np.ones(3, np.float32)
    twice = double(a)
    a[:] = 7
    np.testing.assert_array_equal(twice.numpy(), [2, 2, 2])


def test_arrays_and_tensors_share_a_trace():
    @pto.jit
    def add(x, y):
        return x + y

    a = np.arange(3, dtype=np.float32)
    for x in (a, pto.asarray(a)):
        for y in (a, pto.asarray(a)):
            np.testing.assert_array_equal(add(x, y).numpy(), a + a)
    assert len(add.reasons) == 1


def test_copies_of_dlpack_do_not_see_later_writes():
    """NumPy's arrays behind an object that speaks DLPack only."""

    class Exporter:
        def __init__(self, array):
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

        def __dlpack__(self, **options):
            return self.__dict__["__dlpack__"](**options)

    for view in (np.s_[:], np.s_[::2]):
        x = np.arange(6, dtype=np.float32)
        copied, operand = pto.from_dlpack(Exporter(x[view]), copy=True), pto.asarray(Exporter(x[view]))
        borrowed = pto.from_dlpack(Exporter(x))
        x[0] = 9
        assert copied.numpy().tolist() == operand.numpy().tolist() == np.arange(6)[view].tolist()
        assert borrowed.numpy()[0] == 9
