"""Memory shared with others by DLPack and NumPy, in any layout; foreign functions that misbehave."""

import ctypes
import gc

import numpy as np
import pytest

import pypto as pto

base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
LAYOUTS = {
    "whole": base,
    "offset": base[1:],
    "step": base[:, ::2],
    "transposed": base.transpose(2, 0, 1),
    "reversed": base[:, ::-1],
    "all reversed": base[::-1, ::-1, ::-1],
    "empty": np.zeros((0, 3), np.float32),
    "stride of a size-1 axis": np.lib.stride_tricks.as_strided(base, (1, 5), (999 * 4, 4)),
    "repeated": np.broadcast_to(base[0, 0], (3, 4)),
    "scalar": np.array(2.5, np.float32),
    "bool": np.array([True, False, True]),
    "int8": np.arange(5, dtype=np.int8),
    "uint64": np.array([2**64 - 1, 0], np.uint64),
    "float16": np.array([1.5, -2], np.float16),
}


class Exporter:
    """Hands over an array's capsule as DLPack asks, with or without versions."""

    def __init__(self, array, versioned):
        self.array, self.versioned = array, versioned

    def __dlpack__(self, *, max_version=None, **_):
        if max_version is not None and not self.versioned:
            raise TypeError("max_version")
        return self.array.__dlpack__(max_version=(1, 0)) if self.versioned else self.array.__dlpack__()

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("name", LAYOUTS)
def test_dlpack_in(name, versioned):
    array = LAYOUTS[name].copy() if LAYOUTS[name].flags.c_contiguous else LAYOUTS[name]
    if not array.flags.writeable:
        versioned = True  # without versions a capsule cannot say that it is read-only
    x = pto.from_dlpack(Exporter(array, versioned))
    assert x.dtype == array.dtype and x.shape == array.shape
    np.testing.assert_array_equal(x.numpy(), array)
    np.testing.assert_array_equal(pto.jit(lambda x: pto.concat([x.reshape(-1)] * 2))(x).numpy(), np.tile(array.ravel(), 2))


def test_dlpack_in_without_a_copy():
    array = np.arange(6, dtype=np.float32)
    x = pto.from_dlpack(array)
    assert x.numpy().ctypes.data == array.ctypes.data
    copied = pto.from_dlpack(array, copy=True)
    array[0] = 9
    assert copied[0].item() == 0
    del array
    gc.collect()
    np.testing.assert_array_equal(x.numpy(), [9, 1, 2, 3, 4, 5])


def test_borrowed_memory_is_never_written():
    array = np.arange(6, dtype=np.float32)
    locked = np.arange(6, dtype=np.float32)
    locked.flags.writeable = False
    for given in (array, locked):
        for x in (pto.from_dlpack(given), pto.from_numpy(given)):
            x += 1.0
            x[2] = 40.0

            @pto.jit
            def update(x):
                x *= 2.0
                x[0] = -1.0

            update(x)
            np.testing.assert_array_equal(x.numpy(), [-1, 4, 80, 8, 10, 12])
        np.testing.assert_array_equal(given, np.arange(6))


@pytest.mark.parametrize("dtype", [d for d in "bool int8 int16 int32 int64 uint8 uint32 uint64 float16 float32 float64".split()])
def test_dlpack_out(dtype):
    x = pto.asarray(np.arange(6).reshape(2, 3)).astype(dtype)
    array = np.from_dlpack(x)
    np.testing.assert_array_equal(array, x.numpy(), strict=True)
    assert array.ctypes.data == x.numpy().ctypes.data and not array.flags.writeable
    np.testing.assert_array_equal(np.from_dlpack(x.T + 0 if dtype != "bool" else x.T), x.numpy().T)
    assert np.from_dlpack(pto.zeros((0, 3), dtype=dtype)).shape == (0, 3)
    assert np.from_dlpack(pto.ones((), dtype=dtype)) == 1


def test_dlpack_round_trip_of_bfloat16():
    x = pto.asarray([1.5, -2.0, np.nan]).astype("bfloat16")
    again = pto.from_dlpack(x)
    assert again.dtype == "bfloat16"
    np.testing.assert_array_equal(again.astype("float32").numpy(), [1.5, -2, np.nan])


def test_an_exported_value_outlives_its_tensor_and_never_changes():
    x = pto.arange(6) + 0
    array = np.from_dlpack(x)
    view = x.numpy()
    x += 1
    assert x[0].item() == 1
    step = pto.jit(lambda x: x + 1)
    for _ in range(5):
        x = step(x)
    del x
    gc.collect()
    for _ in range(3):
        pto.ones(6, dtype="int64").numpy()
    np.testing.assert_array_equal(array, np.arange(6))
    np.testing.assert_array_equal(view, np.arange(6))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_a_capsule_is_used_once():
    capsule = np.arange(3.0).__dlpack__()

    class Twice:
        def __dlpack__(self, **_):
            return capsule

    np.testing.assert_array_equal(pto.from_dlpack(Twice()).numpy(), [0, 1, 2])
    with pytest.raises(pto.Error, match="used already"):
        pto.from_dlpack(Twice())


def test_objects_that_cannot_be_taken():
    class Elsewhere:
        def __dlpack__(self, **_):
            raise AssertionError("not asked for")

        def __dlpack_device__(self):
            return 2, 0

    for given, message in [
        ([1, 2], "does not export DLPack.*list"),
        (Elsewhere(), "expected: DLPack device type 1.*got: device type 2"),
        (np.ones(2, np.complex64), "complex numbers are not supported"),
    ]:
        with pytest.raises(pto.Error, match=f"(?s){message}"):
            pto.from_dlpack(given)


def test_torch_both_ways():
    torch = pytest.importorskip("torch")
    t = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    for view in (t, t[1:], t[:, ::2], t.permute(2, 0, 1), t[:0], t[0, 0, 0], t > 3, t.bfloat16()):
        x = pto.from_dlpack(view)
        np.testing.assert_array_equal(x.astype("float32").numpy(), view.float().numpy())
        assert torch.equal(torch.from_dlpack(x), view)
    assert torch.equal(torch.asarray(pto.asarray(t)), t)


# --- functions of others ----------------------------------------------------------------------------


def both(f):
    """Lazily and compiled."""
    return [f, pto.jit(f)]


def test_a_foreign_function_that_returns_its_argument():
    same = pto.foreign(lambda x: x, pto.spec((4,)))
    for call in both(lambda x: (same(x * 2), same(x * 2) + 1, x * 2 - 1)):
        a, b, c = call(pto.arange(4).astype("float32"))
        np.testing.assert_array_equal(a.numpy(), [0, 2, 4, 6])
        np.testing.assert_array_equal(b.numpy(), [1, 3, 5, 7])
        np.testing.assert_array_equal(c.numpy(), [-1, 1, 3, 5])

    def step(x):
        y = same(x)
        x += 1.0
        return y

    for call in (step, pto.jit(step)):
        x = pto.zeros(4)
        np.testing.assert_array_equal(call(x).numpy(), [0] * 4)
        np.testing.assert_array_equal(x.numpy(), [1] * 4)


def test_a_foreign_function_that_returns_views_of_its_argument():
    backwards = pto.foreign(lambda x: x.numpy()[::-1], pto.spec((4,)))
    column = pto.foreign(lambda x: x.numpy().reshape(2, 2)[:, 1], pto.spec((2,)))
    for call in both(lambda x: (backwards(x + 1), column(x + 1), x + 1)):
        for _ in range(2):
            a, b, c = call(pto.arange(4).astype("float32"))
            pto.ones(4).numpy()
            np.testing.assert_array_equal(a.numpy(), [4, 3, 2, 1])
            np.testing.assert_array_equal(b.numpy(), [2, 4])
            np.testing.assert_array_equal(c.numpy(), [1, 2, 3, 4])


def test_a_foreign_function_cannot_write_its_argument():
    def writes(x):
        x.numpy()[0] = 9
        return x

    def through(x):
        np.asarray(x)[0] = 9
        return x

    for fn in (writes, through):
        op = pto.foreign(fn, pto.spec((2,)), name="careless")
        for call in both(lambda x, op=op: op(x) + x):
            x = pto.ones(2)
            with pytest.raises(ValueError, match="read-only"):
                call(x).numpy()
            np.testing.assert_array_equal(x.numpy(), [1, 1])

    def rebinds(x):
        x += 1.0
        x[0] = 7.0
        return x

    op = pto.foreign(rebinds, pto.spec((2,)))
    for call in both(lambda x: (op(x), x * 1)):
        a, b = call(pto.ones(2))
        np.testing.assert_array_equal(a.numpy(), [7, 2])
        np.testing.assert_array_equal(b.numpy(), [1, 1])


def test_a_foreign_function_whose_results_are_not_as_declared():
    for result, message in [
        (lambda x: np.ones(3, np.float32), r"f32\[3\]"),
        (lambda x: np.ones(2), r"f64\[2\]"),
        (lambda x: (x, x), r"2 results|got: 2|two"),
        (lambda x: None, r"NoneType"),
    ]:
        op = pto.foreign(result, pto.spec((2,)), name="unreliable")
        for call in both(lambda x, op=op: op(x) + 1):
            with pytest.raises(pto.Error, match=f"(?s){message}") as caught:
                call(pto.ones(2)).numpy()
            assert "unreliable" in str(caught.value) or message == "NoneType"


def test_a_foreign_function_that_fails():
    def fails(x):
        raise KeyError("inside")

    op = pto.foreign(fails, pto.spec((2,)))
    for call in both(lambda x: op(x) + 1):
        with pytest.raises(KeyError, match="inside"):
            call(pto.ones(2)).numpy()
    assert (pto.ones(2) + 1)[0].item() == 2


def test_foreign_functions_take_part_in_programs():
    calls = []

    def outer(x, y):
        calls.append(x.shape)
        return np.add.outer(x.numpy(), y.numpy()), np.float32(x.size)

    op = pto.foreign(outer, lambda x, y: (pto.spec((x.shape[0], y.shape[0])), pto.spec(())))

    def program(x, y):
        table, n = op(x * 2, y)
        return pto.sum(table) + n

    fn = pto.jit(program)
    for n, m in [(2, 3), (3, 3), (4, 2), (0, 3)]:
        want = (np.add.outer(2 * np.arange(n), np.ones(m))).sum() + n
        for call in (program, fn):
            assert call(pto.arange(n).astype("float32"), pto.ones(m)).item() == want
    assert len(calls) == 8


def test_a_custom_operator_that_returns_or_changes_its_argument():
    @pto.custom_op
    def same(x):
        return x

    @pto.custom_op
    def part(x):
        return x[1:]

    @pto.custom_op
    def changes(x):
        x *= 2.0
        return x + 1.0

    for call in both(lambda x: (same(x), part(x), x + 0)):
        x = pto.asarray([1.0, 2.0, 3.0])
        a, b, c = call(x)
        a += 1.0
        b[0] = 9.0
        x += 5.0
        for got, want in [(a, [2, 3, 4]), (b, [9, 3]), (c, [1, 2, 3]), (x, [6, 7, 8])]:
            np.testing.assert_array_equal(got.numpy(), want)
    for call in both(lambda x: (changes(x), x + 0)):
        x = pto.asarray([1.0, 2.0])
        y, after = call(x)
        for got, want in [(y, [3, 5]), (after, [1, 2]), (x, [1, 2])]:
            np.testing.assert_array_equal(got.numpy(), want)


def test_an_address_read_by_others_stays_as_it_is():
    x = pto.asarray(np.arange(4, dtype=np.int64)) + 1
    view = x.numpy()
    memory = (ctypes.c_int64 * 4).from_address(view.ctypes.data)
    y = x * 2
    x += 100
    y.numpy(), x.numpy()
    assert list(memory) == [1, 2, 3, 4]
