"""Indexing against NumPy: reads and writes at random index tuples, from fixed seeds."""

import numpy as np
import pytest

import pypto as pto

STEPS = [None, 1, 2, -1, -2, 3]


def random_item(rng, n):
    """An index for an axis of n elements."""

    def bound():
        return None if rng.random() < 0.4 else int(rng.integers(-n - 2, n + 3))

    kind = rng.integers(0, 6)
    if kind in (1, 2):
        return slice(bound(), bound(), STEPS[rng.integers(0, len(STEPS))])
    if kind == 5:
        return rng.integers(0, 2, n) == 1
    if n == 0 or kind == 0:
        return int(rng.integers(-n, n)) if n else slice(None)
    return rng.integers(-n, n, 3) if kind == 3 else rng.integers(0, n, (2, 3))


def random_cases(seed, count, new_axes=True):
    """Arrays with indices that NumPy takes."""
    rng = np.random.default_rng(seed)
    while count:
        shape = tuple(int(n) for n in rng.choice([0, 1, 3, 4, 5], rng.integers(1, 4), p=[0.05, 0.15, 0.3, 0.3, 0.2]))
        index = [random_item(rng, n) for n in shape[: rng.integers(0, len(shape) + 1)]]
        if new_axes and rng.random() < 0.4:
            index.insert(rng.integers(0, len(index) + 1), None)
        if rng.random() < 0.3:
            index.insert(rng.integers(0, len(index) + 1), Ellipsis)
        x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
        try:
            x[tuple(index)]
        except IndexError:  # masks and arrays whose sizes do not go together
            continue
        count -= 1
        yield rng, x, tuple(index)


@pytest.mark.parametrize("seed", range(4))
def test_get(seed):
    for _, x, index in random_cases(seed, 250):
        np.testing.assert_array_equal(pto.asarray(x)[index].numpy(), x[index], strict=True, err_msg=f"{x.shape} {index}")


@pytest.mark.parametrize("seed", range(4))
def test_put(seed):
    """What is written is seen by this handle alone."""
    for rng, x, index in random_cases(100 + seed, 200, new_axes=False):
        places = np.arange(x.size).reshape(x.shape)[index]
        if np.unique(places).size != places.size:
            continue  # which of several writes wins is left open
        value = rng.integers(100, 999, places.shape).astype(np.int32)
        want = x.copy()
        want[index] = value
        t = pto.asarray(x)
        other = t.copy()
        t[index] = value
        np.testing.assert_array_equal(t.numpy(), want, strict=True, err_msg=f"{x.shape} {index}")
        np.testing.assert_array_equal(other.numpy(), x)


@pytest.mark.parametrize(
    "index", [(None, slice(-2, None), 2), (2, slice(None), None), (None, 0), (slice(None), None, 1), (0, None, None, 1)]
)
def test_new_axes_beside_dropped_ones(index):
    x = np.arange(15).reshape(3, 5)
    np.testing.assert_array_equal(pto.asarray(x)[index].numpy(), x[index], strict=True)
    np.testing.assert_array_equal(pto.jit(lambda t: t[index])(pto.asarray(x)).numpy(), x[index], strict=True)


@pytest.mark.parametrize("seed", range(5))
def test_writes_with_new_axes_and_arrays(seed):
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 99, (4, 5, 6))
    rows, mask = np.array([3, 0]), rng.integers(0, 2, 4).astype(bool)
    for index in [(None, rows), (None, mask), (slice(None), None, rows), (rows, None, slice(1, 4)), (..., None, rows)]:
        want = base.copy()
        value = rng.integers(100, 200, want[index].shape)
        want[index] = value
        x = pto.asarray(base)
        x[index] = value
        np.testing.assert_array_equal(x.numpy(), want)


@pytest.mark.parametrize(
    "index", [(slice(None), [0, 1], ..., [0, 1]), (slice(None), 1, ..., [0, 1]), (slice(1, 2), [1, 0], ..., None, 1)]
)
def test_an_ellipsis_of_no_axes_parts_index_arrays(index):
    x = np.arange(8, dtype=np.int32).reshape(2, 2, 2)
    np.testing.assert_array_equal(pto.asarray(x)[index].numpy(), x[index])
    values = 100 + np.arange(x[index].size, dtype=np.int32).reshape(x[index].shape)
    written = pto.asarray(x)
    written[index] = values
    x[index] = values
    np.testing.assert_array_equal(written.numpy(), x)
