"""Tensors as Python objects: text, pickles, copies, in-place syntax, masks, numbers, iteration."""

import copy
import pickle

import numpy as np
import pytest

import pypto as pto

RNG = np.random.default_rng(3)
ARRAYS = {
    "scalar": np.float32(2.5),
    "vector": np.array([1, -2.5, 3e-7], np.float32),
    "large": np.array([1e10, 1, -1e-10], np.float32),
    "nan": np.array([[np.nan, np.inf], [-np.inf, -0.0]], np.float32),
    "ints": np.arange(12).reshape(3, 4),
    "negative": np.array([-1, 100, 10]),
    "bools": np.array([[True, False]]),
    "deep": np.arange(24).reshape(2, 3, 4),
    "long": np.arange(3000),
    "wide": np.arange(10000).reshape(100, 100),
    "line": np.arange(40, dtype=np.float32) / 7,
}


@pytest.mark.parametrize("name", ARRAYS)
def test_text_is_numpys(name):
    array = np.asarray(ARRAYS[name])
    body = np.array2string(array, separator=", ", prefix="tensor(", threshold=1000)
    assert repr(pto.asarray(array)) == f"tensor({body})"
    assert str(pto.asarray(array)) == repr(pto.asarray(array))


def test_text_names_other_types():
    assert repr(pto.asarray([1, 2], dtype="int8")) == "tensor([1, 2], dtype=int8)"
    assert repr(pto.asarray([1.5], dtype="float64")) == "tensor([1.5], dtype=float64)"
    assert repr(pto.asarray([1.5, 2.0]).astype("bfloat16")) == "tensor([1.5, 2. ], dtype=bfloat16)"
    assert repr(pto.zeros((0, 3))) == "tensor([], shape=(0, 3), dtype=float32)"
    assert repr(pto.Parameter(pto.ones(2))) == "Parameter([1., 1.])"
    assert f"{pto.asarray(3.14159):.2f}" == "3.14" and f"{pto.asarray([1])}" == "tensor([1])"
    with np.printoptions(precision=2):
        assert repr(pto.asarray([1.23456])) == "tensor([1.23])"


def test_text_of_the_rest():
    fn = pto.jit(lambda x: x)
    assert repr(fn) == "<jit <lambda>, traced 0 times>"
    assert repr(pto.float32) == "pypto.float32" and str(pto.bfloat16) == "bfloat16"
    assert "2" in str(pto.spec((2, "N"), pto.float16)) and "N" in str(pto.spec((2, "N"), pto.float16))
    seen = []
    pto.jit(lambda x: seen.append(repr(x + 1)) or x)(pto.ones(2))
    assert seen == ["<traced f32[2] by add>"]

    @pto.module
    class Layer:
        def __init__(self):
            self.w = pto.Parameter(pto.zeros((2, 3)))
            self.inner = [Inner(), Inner()]

    @pto.module
    class Inner:
        def __init__(self):
            self.b = pto.Parameter(pto.zeros(3))

    text = repr(Layer())
    assert "w: f32[2, 3]" in text and text.count("b: f32[3]") == 2


DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64".split()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deep"]
)
def test_copies(dtype, copied):
    x = pto.asarray(RNG.integers(0, 100, (3, 4))).astype(dtype).T[1:]
    y = copied(x)
    assert type(y) is pto.Tensor and y.dtype == dtype
    np.testing.assert_array_equal(y.numpy(), x.numpy())
    y[0] = 1
    assert x.numpy().tobytes() != y.numpy().tobytes() or (x.numpy()[0] == 1).all()
    with_others = pickle.loads(pickle.dumps({"a": [x, pto.Parameter(pto.ones(2))], "d": x.dtype}))
    assert type(with_others["a"][1]) is pto.Parameter and with_others["d"] == dtype
    assert pickle.loads(pickle.dumps(pto.zeros((0, 2)))).shape == (0, 2)


IN_PLACE = [
    ("+=", 2.0),
    ("-=", 2.0),
    ("*=", [2.0, 3.0]),
    ("/=", 2.0),
    ("//=", 2.0),
    ("%=", 2.0),
    ("**=", 2.0),
    ("@=", [[1.0, 2.0], [3.0, 4.0]]),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("operator,value", IN_PLACE)
def test_in_place_syntax(operator, value, compiled):
    array = np.array([[5.0, -7.0], [1.0, 2.0]], np.float32)
    want = array.copy()
    scope = {"pto": pto, "np": np}
    exec(f"def fn(x, v):\n    x {operator} v", scope)
    with np.errstate(all="ignore"):
        exec(f"def fn_np(x, v):\n    x {operator} np.asarray(v, np.float32)\n    return x", scope)
        want = scope["fn_np"](want, value)
    x = pto.asarray(array)
    other, part = x.copy(), x[0]
    (pto.jit(scope["fn"]) if compiled else scope["fn"])(x, pto.asarray(value))
    np.testing.assert_allclose(x.numpy(), want, rtol=1e-6)
    np.testing.assert_array_equal(other.numpy(), array)
    np.testing.assert_array_equal(part.numpy(), array[0])


def test_in_place_keeps_type_and_shape():
    x = pto.asarray([1, 2], dtype="int8")
    for value, message in [
        (2.5, "int8|float"),
        (pto.ones(2), "int8|float"),
        (pto.asarray([[1, 2]], dtype="int8"), "shape|broadcast"),
    ]:
        with pytest.raises(pto.Error, match=message):
            x += value
    assert x.dtype == "int8" and x.numpy().tolist() == [1, 2]
    x += 3
    x &= 6
    x |= 1
    x ^= 2
    x <<= 1
    x >>= 1
    assert x.dtype == "int8" and x.numpy().tolist() == [(((1 + 3) & 6) | 1) ^ 2, (((2 + 3) & 6) | 1) ^ 2]


# --- masks ------------------------------------------------------------------------------------------


def test_reading_with_masks():
    a = RNG.standard_normal((4, 5)).astype(np.float32)
    x = pto.asarray(a)
    rows, columns = np.array([True, False, True, True]), np.array([False, True, True, False, False])
    for index in [a > 0, rows, (slice(None), columns), (rows, 2), (1, columns), np.zeros((4, 5), bool), (rows, slice(1, 3))]:
        want = a[index]
        as_tensors = tuple(pto.asarray(i) if isinstance(i, np.ndarray) else i for i in index) if type(index) is tuple else index
        for given in (index, as_tensors if type(index) is tuple else pto.asarray(index)):
            np.testing.assert_array_equal(x[given].numpy(), want, strict=True)


@pytest.mark.parametrize("compiled", [False, True])
def test_writing_with_masks(compiled):
    a = RNG.standard_normal((4, 5)).astype(np.float32)
    rows = np.array([True, False, True, False])

    def clip(x):
        x[x < 0] = 0.0
        return x

    def doubled(x):
        x[x > 0] *= 2.0
        return x

    def by_rows(x):
        x[pto.asarray(rows)] = 7.0
        return x

    want = a.copy()
    want[want < 0] = 0
    twice = a.copy()
    twice[twice > 0] *= 2
    sevens = a.copy()
    sevens[rows] = 7
    cases = [(clip, want), (by_rows, sevens)] + ([] if compiled else [(doubled, twice)])
    for fn, expected in cases:
        x = pto.asarray(a)
        np.testing.assert_array_equal((pto.jit(fn) if compiled else fn)(x).numpy(), expected)
        np.testing.assert_array_equal(x.numpy(), expected)


def test_masks_that_do_not_fit():
    x = pto.ones((2, 3))
    for mask in (np.ones(3, bool), np.ones((3, 2), bool), np.ones((2, 3, 1), bool)):
        with pytest.raises(pto.Error, match="mask|more indices"):
            x[mask]
        with pytest.raises(pto.Error, match="mask|more indices"):
            x[mask] = 0.0
    np.testing.assert_array_equal(x.numpy(), np.ones((2, 3)))


# --- numbers and sequences --------------------------------------------------------------------------


def test_tensors_of_one_element_are_numbers():
    assert int(pto.asarray(3.7)) == 3 and float(pto.asarray([[2.5]])) == 2.5 and bool(pto.asarray([0])) is False
    assert list(range(5))[pto.asarray(2)] == 2 and pto.asarray(7).item() == 7 and pto.asarray(True).item() is True
    assert round(float(pto.asarray(2.567)), 1) == 2.6
    for call in (bool, int, float):
        with pytest.raises(pto.Error, match="ambiguous|one element"):
            call(pto.ones(2))
    with pytest.raises(pto.Error, match="exactly one element"):
        pto.ones(2).item()
    with pytest.raises(TypeError, match="float32 is not an index"):
        [1, 2][pto.asarray(1.0)]
    with pytest.raises(ValueError, match="NaN"):
        int(pto.asarray(float("nan")))
    with pytest.raises(OverflowError):
        int(pto.asarray(float("inf")))


def test_quotient_and_remainder_together():
    x, y = np.array([7, -7, 5]), np.array([2, 2, -3])
    for got, want in [(divmod(pto.asarray(x), pto.asarray(y)), divmod(x, y)), (divmod(7, pto.asarray(y)), divmod(7, y))]:
        np.testing.assert_array_equal([t.numpy() for t in got], want)


def test_empty_lists_are_indices():
    x = pto.ones((2, 3))
    assert x[[]].shape == (0, 3) and x[:, []].shape == (2, 0) and x[[[]]].shape == (1, 0, 3)
    x[[]] = 5.0
    np.testing.assert_array_equal(x.numpy(), np.ones((2, 3)))


def test_tensors_are_walked():
    x = pto.asarray([[1, 2], [3, 4], [5, 6]])
    assert len(x) == 3 and [row.tolist() for row in x] == [[1, 2], [3, 4], [5, 6]]
    a, b, c = x
    assert b.tolist() == [3, 4] and 4 in x and 9 not in x
    assert [r.tolist() for r in reversed(list(x))][0] == [5, 6]
    for call in (len, iter):
        with pytest.raises(TypeError, match="without axes"):
            call(pto.ones(()))


def test_comparison_and_hash():
    x = pto.asarray([1, 2])
    assert (x == x).all() and x.tolist() == [1, 2] and {x: 1}[x] == 1 and x.copy() not in {x: 1}
    assert (x == np.array([1, 3])).tolist() == [True, False] and (np.array([1, 3]) == x).tolist() == [True, False]
    assert (x != 1).tolist() == [False, True] and (2 > x).tolist() == [True, False]


def test_operators_with_numpy_on_either_side():
    x, a = pto.asarray([1.0, 2.0]), np.array([3.0, 4.0], np.float32)
    for got, want in [
        (x + a, [4, 6]),
        (a + x, [4, 6]),
        (a - x, [2, 2]),
        (a / x, [3, 2]),
        (2 - x, [1, 0]),
        (a @ x, 11),
        (a**x, [3, 16]),
    ]:
        assert type(got) is pto.Tensor and got.dtype == "float32"
        np.testing.assert_allclose(got.numpy(), want)
    assert (np.float64(2) * x).dtype == "float32"
    np.testing.assert_array_equal(np.sqrt(x.numpy() * 2), np.sqrt(np.array([2, 4], np.float32)))
    np.testing.assert_array_equal(np.asarray(x, dtype=np.float64), [1, 2])
