"""Python's numbers where they meet typed tensors: what does not fit is an error, never another number."""

import decimal
import enum
import fractions

import numpy as np
import pytest

import pypto as pto


class Level(enum.IntEnum):
    THREE = 3


class Whole(int):
    pass


def small():
    return pto.asarray([0, 1], dtype="int8")


def set_item(x, value, index=0):
    x[index] = value
    return x


@pytest.mark.parametrize("number", [300, -129, np.int64(300)])
@pytest.mark.parametrize(
    "use",
    [
        lambda n: set_item(small(), n),
        lambda n: set_item(small(), n, slice(None)),
        lambda n: set_item(small(), n, pto.asarray([True, False])),
        lambda n: set_item(small(), [n, 1], slice(None)),
        lambda n: pto.full((1,), n, dtype="int8"),
        lambda n: pto.full_like(small(), n),
        lambda n: pto.masked_fill(small(), pto.asarray([True, False]), n),
        lambda n: pto.pad(small(), 1, value=n),
        lambda n: pto.scatter(small(), 0, pto.asarray([0]), n),
        lambda n: pto.put_along_axis(small(), pto.asarray([0]), n, 0),
        lambda n: small() + n,
        lambda n: pto.arange(n, n + 1, dtype="int8"),
        lambda n: pto.asarray([int(n)], dtype="int8"),
    ],
)
def test_integers_that_do_not_fit(use, number):
    with pytest.raises(pto.Error, match="does not fit"):
        use(number)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e30, 128.0, 1.5])
@pytest.mark.parametrize(
    "use",
    [
        lambda n: pto.full_like(small(), n),
        lambda n: pto.masked_fill(small(), pto.asarray([True, False]), n),
        lambda n: pto.pad(small(), 1, value=n),
        lambda n: pto.scatter(small(), 0, pto.asarray([0]), n),
    ],
)
def test_floats_that_are_no_such_integer(use, number):
    with pytest.raises(pto.Error, match="does not fit"):
        use(number)
    use(2.0)


def test_floats_written_to_integers():
    np.testing.assert_array_equal(set_item(small(), 127.9).numpy(), [127, 1])
    for number in (float("nan"), 128.0, -1e30):
        with pytest.raises(pto.Error, match="does not fit"):
            set_item(small(), number)


def test_a_named_type_casts_floats():
    for made in (pto.full((1,), 1e30, dtype="int8"), pto.asarray(1e30, dtype="int8"), pto.asarray([1e30], dtype="int8")):
        assert made.item() == 127
    np.testing.assert_array_equal(pto.asarray(np.array([300.0, -5.0, np.nan]), dtype="uint8").numpy(), [255, 0, 0])
    assert pto.full_like(small(), 1.5, dtype="int32").tolist() == [1, 1]


def test_arange_within_its_type():
    np.testing.assert_array_equal(pto.arange(128, dtype="int8").numpy(), np.arange(128))
    np.testing.assert_array_equal(pto.arange(3, 300, 252, dtype="uint8").numpy(), [3, 255])
    for bounds in [(300,), (-1, 3), (0, 300, 299)]:
        with pytest.raises(pto.Error, match="does not fit"):
            pto.arange(*bounds, dtype="uint8")
    assert pto.arange(5, 5, dtype="uint8").shape == (0,)


def test_symbolic_numbers_must_fit():
    f = pto.jit(lambda x, n: x + n)
    x = pto.asarray([1], dtype="int8")
    for n in (1, 2, 126):
        assert f(x, n).item() == 1 + n
    with pytest.raises(pto.Error, match="does not fit"):
        f(x, 300)
    assert f(x, 3).item() == 4


def test_the_upper_half_of_uint64():
    big = 2**63
    one = pto.asarray([1], dtype="uint64")
    assert pto.asarray(big, dtype="uint64").item() == big
    assert pto.asarray([big, 1]).tolist() == [big, 1]
    assert pto.full((1,), 2 * big - 1, dtype="uint64").item() == 2 * big - 1
    assert (one + big).item() == big + 1
    assert (pto.asarray([2 * big - 1], dtype="uint64") == 2 * big - 1).item() and not (one == big).item()
    assert set_item(one, big).item() == big
    assert (pto.asarray([2.0]) * big).item() == 2.0**64
    for use in (
        lambda: pto.asarray([1]) + big,
        lambda: pto.asarray([1]) == big,
        lambda: small() + big,
        lambda: pto.asarray(2**64),
        lambda: pto.asarray([-1, big]),
        lambda: pto.asarray(big, dtype="int64"),
    ):
        with pytest.raises(pto.Error):
            use()


def test_numbers_of_other_classes():
    x = pto.asarray([1.0, 2.0])
    for three in (Level.THREE, Whole(3)):
        np.testing.assert_array_equal((x * three).numpy(), [3, 6])
        np.testing.assert_array_equal((three - x).numpy(), [2, 1])
        assert pto.asarray(three).dtype == "int64" and pto.asarray([three]).item() == 3
        assert (small() + three).dtype == "int8"
    for half in (fractions.Fraction(1, 2), decimal.Decimal("0.5")):
        np.testing.assert_array_equal((x * half).numpy(), [0.5, 1])
        np.testing.assert_array_equal((half + x).numpy(), [1.5, 2.5])
        assert pto.asarray(half).dtype == "float32" and pto.asarray([half, 1]).tolist() == [0.5, 1]


def test_a_list_that_holds_itself():
    items = [1.0]
    items.append(items)
    with pytest.raises(pto.Error, match="holds itself"):
        pto.asarray(items)


@pytest.mark.parametrize("name", ["concat", "stack", "vstack", "hstack"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 2)])
def test_joining_the_rows_of_one_tensor(name, shape):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    want = getattr(np, {"concat": "concatenate"}.get(name, name))(x)
    np.testing.assert_array_equal(getattr(pto, name)(pto.asarray(x)).numpy(), want)


def test_there_are_no_rows_to_join():
    for x in (pto.ones(()), pto.ones((0, 2)), pto.ones(3)):
        with pytest.raises(pto.Error):
            pto.concat(x)


def test_remainders_that_are_zero_have_the_sign_of_the_divisor():
    for dtype in ("float32", "float64", "float16"):
        x, y = np.array([-2, 0, 2, -0.0, 5], dtype), np.array([2, -1, -2, 2, -5], dtype)
        for got in (pto.asarray(x) % pto.asarray(y), pto.jit(lambda a, b: a % b)(x, y)):
            np.testing.assert_array_equal(np.signbit(np.asarray(got)), np.signbit(y))
            np.testing.assert_array_equal(np.asarray(got), np.zeros(5))


def test_hypot_of_an_infinite_side():
    x, y = np.array([np.inf, np.nan, -np.inf, np.nan], np.float32), np.array([np.nan, -np.inf, np.inf, 1], np.float32)
    np.testing.assert_array_equal(pto.hypot(pto.asarray(x), pto.asarray(y)).numpy(), np.hypot(x, y))


def test_the_truth_of_nothing():
    with pytest.raises(pto.Error, match="no elements"):
        bool(pto.zeros(0))


@pytest.mark.parametrize("p", [1.5, -0.1, float("nan"), 2])
def test_probabilities(p):
    with pytest.raises(pto.Error, match="not a probability"):
        pto.random.bernoulli(p, (3,))
    with pytest.raises(pto.Error, match="negative"):
        pto.random.normal((3,), std=-1.0)
    assert pto.random.bernoulli(1, (3,)).tolist() == [True] * 3
