"""Numbers at the edges, by the rules of docs/numbers.md: the same lazily, compiled, from constants and interpreted."""

import math

import numpy as np
import pytest

import pypto as pto

INF, NAN = math.inf, math.nan


def lazy(f, arrays):
    return f(*map(pto.asarray, arrays))


def compiled(f, arrays):
    return pto.jit(f)(*map(pto.asarray, arrays))


def for_any_sizes(f, arrays):
    """Compiled for sizes that are known when it runs."""
    dims = iter("abcdefghijklmnop")
    tensors = [pto.asarray(a) for a in arrays]
    specs = [pto.spec(tuple(next(dims) if n > 1 else n for n in t.shape), t.dtype) for t in tensors]
    names = [f"x{i}" for i in range(len(tensors))]
    scope = {"f": f}
    exec(f"def g({', '.join(names)}): return f({', '.join(names)})", scope)
    fn = pto.jit(scope["g"])
    fn.show(specs=specs, file=open("/dev/null", "w"))
    return fn(*tensors)


def constant(f, arrays):
    """Of constants in the program, which are folded."""
    given = [(pto.asarray(a).dtype, pto.asarray(a).shape, pto.asarray(a).numpy().ravel().tolist()) for a in arrays]
    return pto.jit(lambda: f(*[pto.asarray(values, dtype=dtype).reshape(shape) for dtype, shape, values in given]))()


def interpreted(level):
    def run(f, arrays):
        fn = pto.jit(f)
        tensors = [pto.asarray(a) for a in arrays]
        fn(*tensors)
        return getattr(fn, level).interpret(tensors)[0]

    return run


PATHS = {
    "lazy": lazy,
    "jit": compiled,
    "any sizes": for_any_sizes,
    "constant": constant,
    "graph": interpreted("graph"),
    "program": interpreted("executable"),
}


@pytest.fixture(params=PATHS, ids=lambda p: p.replace(" ", "_"))
def path(request):
    return PATHS[request.param]


def check(path, f, arrays, want, dtype, **tolerance):
    got = path(f, arrays)
    assert got.dtype == dtype, got.dtype
    values = got.astype("float64") if got.dtype == "bfloat16" else got
    want = np.asarray(want)
    if tolerance:
        np.testing.assert_allclose(values.numpy(), want, **tolerance)
    else:
        np.testing.assert_array_equal(values.numpy(), want)


def f32(x):
    return np.array(x, np.float32)


# --- softmax, logarithms of it ----------------------------------------------------------------------


def hidden(x, mask):
    return pto.softmax(pto.where(mask, x, -INF), axis=-1)


def test_a_row_that_is_masked_as_a_whole_is_zero_and_spoils_no_other(path):
    scores = f32([[0.5, -1.0, 2.0, 0.25], [-INF] * 4])
    other = f32([[0.5, -1.0, 2.0, 0.25], [1.0, 2.0, 3.0, 4.0]])
    got = path(lambda s: pto.softmax(s, axis=-1), [scores]).numpy()
    e = np.exp(scores[0].astype(np.float64))
    np.testing.assert_allclose(got, [e / e.sum(), [0] * 4], rtol=1e-6)
    assert path(lambda s: pto.softmax(s, axis=-1), [other]).numpy()[0].tobytes() == got[0].tobytes()

    mask = np.array([[True, True, False, True], [False] * 4])
    got = path(hidden, [other, mask]).numpy()
    e = np.where(mask[0], e, 0)
    np.testing.assert_allclose(got, [e / e.sum(), [0] * 4], rtol=1e-6)


def test_attention_over_nothing_is_zero(path):
    rng = np.random.default_rng(0)
    scores, v = f32(rng.standard_normal((2, 4))), f32(rng.standard_normal((4, 3)))
    scores[1] = -INF
    got = path(lambda s, v: pto.softmax(s, axis=-1) @ v, [scores, v]).numpy()
    e = np.exp(scores[0].astype(np.float64))
    np.testing.assert_allclose(got, [e / e.sum() @ v, [0] * 3], rtol=1e-5)

    q, k, v = (f32(rng.standard_normal((1, 1, n, 8))) for n in (2, 4, 4))
    mask = np.array([[True, False, True, True], [False] * 4])
    got = path(lambda q, k, v, m: pto.scaled_dot_product_attention(q, k, v, m), [q, k, v, mask]).numpy()[0, 0]
    s = np.where(mask[0], q[0, 0, 0].astype(np.float64) @ k[0, 0].T / math.sqrt(8), -INF)
    e = np.exp(s - s.max())
    np.testing.assert_allclose(got, [e / e.sum() @ v[0, 0], [0] * 8], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("v", [1, 1e4, 1e6, 1e8])
def test_cross_entropy_with_an_offset(path, v):
    check(path, pto.cross_entropy, [f32([[v, v]]), np.array([0])], math.log(2), "float32", rtol=1e-6)


@pytest.mark.parametrize("logits,want", [([-200, 0], 200), ([-30, 30], 60)])
def test_cross_entropy_of_the_unlikely(path, logits, want):
    check(path, pto.cross_entropy, [f32([logits]), np.array([0])], want, "float32", rtol=1e-6)
    check(path, lambda x: -pto.log_softmax(x, axis=-1)[:, 0], [f32([logits])], [want], "float32", rtol=1e-6)


def test_the_logarithm_of_softmax_written_by_hand_is_plain_arithmetic(path):
    check(path, lambda x: -pto.log(pto.softmax(x, axis=-1))[0], [f32([-200, 0])], INF, "float32")
    check(path, lambda x: -pto.log(pto.softmax(x, axis=-1))[0], [f32([-30, 30])], 60, "float32", rtol=1e-6)


# --- halves -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype,ulp", [("float16", 2**-11), ("bfloat16", 2**-8)])
def test_halves_are_summed_in_float32(path, dtype, ulp):
    def half(values):
        return pto.asarray(values, dtype="float32").astype(dtype)

    thousands = half(np.full(3, 40000.0, np.float32))
    check(path, lambda x: pto.mean(x), [thousands], 40000 if dtype == "float16" else 39936, dtype)
    check(path, lambda x: pto.sum(x), [half(np.ones(4096, np.float32))], 4096, dtype)
    rng = np.random.default_rng(1)
    a, b = half(rng.random((8, 1024), np.float32)), half(rng.random((1024, 8), np.float32))
    want = a.astype("float64").numpy() @ b.astype("float64").numpy()
    check(path, lambda a, b: a @ b, [a, b], want, dtype, rtol=ulp * 1.01)


def test_numbers_beside_halves_leave_them_halves(path):
    x = np.array([1, 4], np.float16)
    check(path, lambda x: pto.maximum(x, 3.1), [x], np.float16([3.1, 4]), "float16")
    check(path, lambda x: x * 0.1 + 1, [x], (x * np.float16(0.1)) + np.float16(1), "float16", rtol=2e-3)
    check(path, lambda x: x * 0.1, [f32([1, 3])], f32([1, 3]) * np.float32(0.1), "float32")


@pytest.mark.parametrize(
    "value,want",
    [
        (np.float32(1 + 0.75 * 2**-7), 1.0078125),
        (np.float32(1 + 2**-8), 1.0),
        (np.float32(1 + 3 * 2**-8), 1.015625),
        (np.uint32(0x7F800001).view(np.float32), NAN),
        (np.uint32(0xFF800001).view(np.float32), NAN),
        (np.float64(1 + 2**-8 + 2**-30), 1.0078125),
        (np.float64(1 + 2**-8), 1.0),
        (np.float32(3.3961775e38), INF),
        (np.float32(3.3895314e38), float(np.float32(3.3895314e38))),
        (np.float32(-1e-45), -0.0),
        (np.float32(9.2e-41), 9.183549615799121e-41),
        (np.int64(2**24 + 2**16 + 1), 2**24 + 2**17),
    ],
)
def test_rounding_to_bfloat16_is_to_nearest_even(path, value, want):
    if path in (PATHS["constant"],) and math.isnan(want):
        pytest.skip("a list of numbers has quiet NaN only")
    got = path(lambda x: x.astype("bfloat16"), [np.array([value])])
    np.testing.assert_array_equal(got.numpy().astype(np.float64), [want])
    assert np.signbit(got.numpy().astype(np.float64)[0]) == np.signbit(want) or math.isnan(want)


# --- NaN --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_extremes_of_nan_are_nan(path, dtype):
    def x(values):
        return pto.asarray(values, dtype="float32").astype(dtype)

    for values in ([1, NAN], [NAN, 1], [NAN, NAN], [1] * 40 + [NAN] + [2] * 40):
        n = values.index(NAN) if NAN in values else values.index(next(v for v in values if v != v))
        for f in (pto.max, pto.min):
            check(path, lambda x, f=f: f(x), [x(values)], NAN, dtype)
        for f in (pto.argmax, pto.argmin):
            check(path, lambda x, f=f: f(x), [x(values)], n, "int64")
    square = x([[1, NAN], [3, 4]])
    check(path, lambda x: pto.max(x, axis=0), [square], [3, NAN], dtype)
    check(path, lambda x: pto.min(x, axis=1), [square], [NAN, 3], dtype)
    for f in (pto.maximum, pto.minimum):
        check(path, lambda a, b, f=f: f(a, b), [x([1, NAN, NAN]), x([NAN, 1, NAN])], [NAN] * 3, dtype)


def test_clip(path):
    x = f32([-1, 0, 0.5, 1, 2, NAN, INF, -INF])
    check(path, lambda x: pto.clip(x, 0, 1), [x], [0, 0, 0.5, 1, 1, NAN, 1, 0], "float32")
    check(path, lambda x: pto.clip(x, 2, 1), [x], [1, 1, 1, 1, 1, NAN, 1, 1], "float32")
    check(path, lambda x: pto.clip(x, None, 1), [x], [-1, 0, 0.5, 1, 1, NAN, 1, -INF], "float32")
    check(path, lambda x: pto.clip(x, -0.5, None), [x], [-0.5, 0, 0.5, 1, 2, NAN, INF, -0.5], "float32")


# --- powers, branches -------------------------------------------------------------------------------


def test_powers(path):
    x = f32([0, -2, 3, INF, NAN])
    check(path, lambda x: x**0, [x], [1] * 5, "float32")
    check(path, lambda x: x**0.0, [x], [1] * 5, "float32")
    check(path, lambda x: x**2, [x], [0, 4, 9, INF, NAN], "float32")
    check(path, lambda x: x**3, [x], [0, -8, 27, INF, NAN], "float32")
    check(path, lambda x: x**-1, [x], [INF, -0.5, 1 / np.float32(3), 0, NAN], "float32", rtol=1e-7)
    check(path, lambda x: x**0.5, [x], [0, NAN, np.sqrt(np.float32(3)), INF, NAN], "float32", rtol=2e-7)
    check(path, lambda a, b: a**b, [f32([0, 0, 1, 1, -1]), f32([0, 1, NAN, INF, INF])], [1, 0, 1, 1, 1], "float32")
    check(path, lambda a, b: a**b, [np.array([0, 2, -3]), np.array([0, 10, 3])], [1, 1024, -27], "int64")


def test_the_branch_that_is_not_taken_does_not_show(path):
    x = f32([-1, -4, 4])
    with np.errstate(invalid="ignore"):
        check(path, lambda x: pto.where(x > 0, pto.sqrt(x), x), [x], [-1, -4, 2], "float32")
        twice = [-1, -4, 2]
        check(path, lambda x: pto.where(x > 0, pto.sqrt(pto.where(x > 0, x, 1.0)), x), [x], twice, "float32")
    check(path, lambda x: pto.where(x == 0, 0.0, 1 / x), [f32([0, 2])], [0, 0.5], "float32")


def test_zero_times_infinity(path):
    check(path, lambda x: x * 0, [f32([INF, NAN, -1])], [NAN, NAN, -0.0], "float32")
    check(path, lambda x: x - x, [f32([INF, NAN, 1])], [NAN, NAN, 0], "float32")
    check(path, lambda x: x / x, [f32([0, INF, 2])], [NAN, NAN, 1], "float32")


# --- integers ---------------------------------------------------------------------------------------


def test_narrow_integers_wrap_inside_kernels(path):
    u8 = np.array([128], np.uint8)
    check(path, lambda a: (a + a).astype("int16"), [u8], [0], "int16")
    check(path, lambda a: (a * 2 + a * 2).astype("int32"), [np.array([100], np.uint8)], [400 % 256], "int32")
    check(path, lambda a: -a < 4, [np.array([6], np.uint8)], [False], "bool")
    check(path, lambda a: a - 7 > 0, [np.array([6], np.uint8)], [True], "bool")
    check(path, lambda a: (a + a) // 2, [np.array([100], np.int8)], [-28], "int8")
    check(path, lambda a: (a + a) >> 1, [np.array([200], np.uint8)], [72], "uint8")

    def minus_absolute_twice(a):
        y = -pto.abs(a)
        return pto.sum(pto.concat([y, y]))

    check(path, minus_absolute_twice, [np.array([200, 200], np.uint8)], 224, "uint64")
    top = np.array([2**31 - 1] * 2, np.int32)
    check(path, lambda a: pto.sum(a), [top], 4294967294, "int64")
    check(path, lambda a: pto.sum(a, dtype="int32"), [top], -2, "int32")
    check(path, lambda a: pto.abs(a), [np.array([-128], np.int8)], [-128], "int8")


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_division_floors(path, dtype):
    least = np.iinfo(dtype).min
    a = np.array([-7, 7, 1, -1, 7, -7, 5, -5, 0, least, least], dtype)
    b = np.array([2, -2, -2, 2, 2, -2, 0, 0, 0, -1, 0], dtype)
    check(path, lambda a, b: a // b, [a, b], [-4, -4, -1, -1, 3, 3, 0, 0, 0, least, 0], dtype)
    check(path, lambda a, b: a % b, [a, b], [1, -1, -1, 1, 1, -1, 0, 0, 0, 0, 0], dtype)
    whole = b != 0
    check(path, lambda a, b: (a // b) * b + a % b, [a[whole], b[whole]], a[whole], dtype)
    for number in (2, -2, 3, -8):  # a divisor that the compiler knows
        check(path, lambda a, n=number: a // n, [a], [int(v) // number for v in a], dtype)
        check(path, lambda a, n=number: a % n, [a], [int(v) % number for v in a], dtype)


def test_floats_to_integers_saturate_and_nan_is_0(path):
    x = [NAN, INF, 510, -200, -INF, 1.9, -1.9]
    for dtype in ("float32", "float64", "float16"):
        x_ = np.array(x, dtype)
        check(path, lambda x: x.astype("int8"), [x_], [0, 127, 127, -128, -128, 1, -1], "int8")
        top, bottom = 2**31 - 1, -(2**31)
        check(path, lambda x: x.astype("int32"), [x_], [0, top, 510, -200, bottom, 1, -1], "int32")
        check(path, lambda x: x.astype("uint8"), [x_], [0, 255, 255, 0, 0, 1, 0], "uint8")
        check(path, lambda x: x.astype("uint64"), [x_], np.array([0, 2**64 - 1, 510, 0, 0, 1, 0], np.uint64), "uint64")
        check(path, lambda x: x.astype("bool"), [x_], [True] * 7, "bool")
    check(path, lambda x: x.astype("int32"), [f32([2147483646])], [2**31 - 1], "int32")
    check(path, lambda x: x.astype("int64"), [f32([-(2.0**63), 2.0**63])], [-(2**63), 2**63 - 1], "int64")


def test_arrays_and_lists_are_cast_by_the_same_rule():
    x = [NAN, INF, -INF, 300.0, -1.5]
    want = [0, 127, -128, 127, -1]
    for given in (x, np.array(x), f32(x), np.array(x, np.float16), pto.asarray(x)):
        np.testing.assert_array_equal(pto.asarray(given, dtype="int8").numpy(), want)
        np.testing.assert_array_equal(pto.jit(lambda g=given: pto.asarray(g, dtype="int8"))().numpy(), want)
    for number, value in zip(x, want):
        assert pto.asarray(number, dtype="int8").item() == value
        assert pto.full((), number, dtype="int8").item() == value


# --- layouts ----------------------------------------------------------------------------------------


base = np.arange(6, dtype=np.float32)
cube = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
STRIDED = [
    base[::-1],
    base[::2],
    base[::-2],
    base[1:],
    base[4:1:-1],
    cube[::-1, :, ::-1],
    cube[:, ::-2, 1:, ::-3],
    cube.transpose(2, 0, 3, 1)[::-1, ..., ::-1],
    np.broadcast_to(base[:3], (4, 3))[:, ::-1],
    cube[1, :, ::-1].T,
]


@pytest.mark.parametrize("x", STRIDED, ids=lambda x: f"{x.shape}{tuple(s // 4 for s in x.strides)}".replace(" ", ""))
def test_negative_and_mixed_strides(x):
    for tensor in (pto.asarray(x), pto.from_numpy(x)):
        np.testing.assert_array_equal((tensor * 2).numpy(), np.ascontiguousarray(x) * 2)
        np.testing.assert_array_equal(pto.jit(lambda t: t * 2 + 1)(tensor).numpy(), np.ascontiguousarray(x) * 2 + 1)
        np.testing.assert_array_equal(pto.sum(tensor, axis=-1).numpy(), np.ascontiguousarray(x).sum(-1))
    np.testing.assert_array_equal(pto.jit(lambda t: t * 2)(x).numpy(), np.ascontiguousarray(x) * 2)
    back = tuple(slice(None, None, -1) for _ in x.shape)
    np.testing.assert_array_equal((pto.asarray(x)[back] * 2)[back].numpy(), np.ascontiguousarray(x) * 2)


def test_what_is_written_over_and_used_again():
    """x * x may take x's memory only when nothing else reads x."""
    x = pto.asarray([[2.0], [3.0], [5.0], [7.0]])
    want = [[4, 2], [9, 3], [25, 5], [49, 7]]
    together = pto.jit(lambda x: pto.concat([x * x, x], axis=1))
    np.testing.assert_array_equal(pto.concat([x * x, x], axis=1).numpy(), want)
    np.testing.assert_array_equal(together(x).numpy(), want)
    np.testing.assert_array_equal(together(x).numpy(), want)

    def in_place(x):
        y = x
        y *= x
        return y

    square = pto.jit(in_place)
    before = x.copy()
    np.testing.assert_array_equal(pto.concat([square(x), before], axis=1).numpy(), want)
    np.testing.assert_array_equal(x.numpy(), np.square(before.numpy()))


# --- einsum, axes of size 0 -------------------------------------------------------------------------


def test_repeated_labels(path):
    x = np.arange(16, dtype=np.float32).reshape(2, 2, 4)
    want = [[0, 1, 2, 3], [12, 13, 14, 15]]
    check(path, lambda x: pto.einsum("iij->ij", x), [x], want, "float32")
    check(path, lambda x: pto.einsum("iij->i", x), [x], [6, 54], "float32")
    check(path, lambda x: pto.einsum("iij,j->ij", x, pto.ones(4)), [x], want, "float32")
    check(path, lambda x: pto.einsum("iij", x), [x], np.einsum("iij", x), "float32")
    t = np.random.default_rng(0).integers(-9, 9, (2, 3, 3, 4, 4)).astype(np.float32)
    loops = np.array([[[t[b, i, i, j, j] for j in range(4)] for i in range(3)] for b in range(2)])
    check(path, lambda t: pto.einsum("tiijj->tij", t), [t], loops, "float32")
    check(path, lambda t: pto.einsum("tiijj->ij", t), [t], loops.sum(0), "float32")
    s = np.arange(27, dtype=np.float32).reshape(3, 3, 3)
    check(path, lambda s: pto.einsum("iii->i", s), [s], [0, 13, 26], "float32")
    check(path, lambda s: pto.einsum("iji->j", s), [s], [sum(s[i, j, i] for i in range(3)) for j in range(3)], "float32")


def test_axes_of_size_0(path):
    a, b = np.ones((4, 0), np.float32), np.ones((0, 4), np.float32)
    for _ in range(3):
        check(path, lambda a, b: a @ b, [a, b], np.zeros((4, 4)), "float32")
    flat = np.ones((2, 0), np.float32)
    for f in (pto.max, pto.min, pto.argmax):
        assert path(lambda x, f=f: f(x, axis=0), [flat]).shape == (0,)
    for f, unit in ((pto.sum, 0), (pto.prod, 1), (pto.mean, NAN)):
        check(path, lambda x, f=f: f(x, axis=1), [flat], [unit] * 2, "float32")
        check(path, lambda x, f=f: f(x), [flat], unit, "float32")
    assert path(lambda x: pto.softmax(x, axis=-1), [flat]).shape == (2, 0)
    assert path(lambda x: pto.concat([x, x], axis=1), [flat]).shape == (2, 0)
    w = np.ones((3, 5), np.float32)
    mlp = path(lambda x, w: pto.relu(x @ w) @ w.T, [np.ones((0, 3), np.float32), w])
    assert mlp.shape == (0, 3) and mlp.numpy().shape == (0, 3)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_there_is_no_extreme_of_nothing(name):
    f = getattr(pto, name)
    for call in (f, pto.jit(f)):
        with pytest.raises(pto.Error, match="axis 1 has size 0"):
            call(pto.ones((2, 0)), axis=1)
    anything = pto.jit(lambda x: f(x, axis=1))
    assert anything(pto.ones((2, 3))).shape == (2,) and anything(pto.ones((2, 4))).shape == (2,)
    with pytest.raises(pto.Error, match="axis 1"):
        anything(pto.ones((2, 0))).numpy()


def test_prod_and_cumprod_of_zeros(path):
    check(path, lambda x: pto.prod(x), [f32([2, 0, 3, 4])], 0, "float32")
    check(path, lambda x: pto.cumprod(x, axis=0), [f32([2, 0, 3, 4])], [2, 0, 0, 0], "float32")
    check(path, lambda x: pto.cumprod(x, axis=0), [f32([2, INF, 0, 4])], [2, INF, NAN, NAN], "float32")
