"""Graphs of unusual form: wide, shared, with inputs as outputs, over sizes of all kinds, in narrow types."""

import ml_dtypes
import numpy as np
import pytest

import pypto as pto

SIZES = [0, 1, 2, 3, 7, 16, 31, 64, 65, 257]


def numbers(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(dtype)


def same(got, want):
    got = got.numpy() if isinstance(got, pto.Tensor) else got
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)


def test_inputs_as_outputs():
    @pto.jit
    def f(x, y):
        return x, y, x, x.T, x + 0 * x

    x, y = numbers(3, 5), numbers(4, dtype=np.int16)
    for got, want in zip(f(x, y), (x, y, x, x.T, x), strict=True):
        same(got, want)


def test_results_are_values_of_their_own():
    @pto.jit
    def f(x):
        return x, x + 1

    x = pto.asarray(numbers(6))
    before = x.numpy().copy()
    out, more = f(x)
    out[2] = 99
    same(x, before)
    same(more, before + 1)


def test_the_same_input_twice():
    @pto.jit
    def f(x, y, z):
        return x - y, x * z, pto.concat([x, y, z])

    x = numbers(11)
    for got, want in zip(f(x, x, x), (x - x, x * x, np.concatenate([x, x, x])), strict=True):
        same(got, want)
    y = numbers(11, seed=1)
    same(f(x, y, x)[0], x - y)


def test_inputs_that_nothing_uses():
    @pto.jit
    def f(x, unused, y):
        return y * 2

    same(f(numbers(3), numbers(5, 5), numbers(7)), numbers(7) * 2)


def test_outputs_share_what_they_are_made_of():
    @pto.jit
    def f(x):
        shared = x * 3
        total = shared.sum(axis=0)
        return shared, total, shared - total, (shared, total)

    x = numbers(9, 13)
    shared, total, rest, (again, once_more) = f(x)
    for got, want in ((shared, x * 3), (again, x * 3), (total, (x * 3).sum(0)), (once_more, (x * 3).sum(0))):
        same(got, want)
    same(rest, x * 3 - (x * 3).sum(0))


@pytest.mark.parametrize("width", [2, 40, 700])
def test_many_users_and_many_operands(width):
    @pto.jit
    def f(x):
        parts = [x * i - (i % 7) for i in range(width)]
        total = parts[0]
        for p in parts[1:]:
            total = total + p
        return total, pto.concat(parts), pto.stack([p.max() for p in parts])

    x = numbers(5, dtype=np.int64)
    parts = [x * i - (i % 7) for i in range(width)]
    for got, want in zip(f(x), (sum(parts), np.concatenate(parts), np.stack([p.max() for p in parts])), strict=True):
        same(got, want)


def test_many_inputs_and_outputs():
    arrays = [numbers(1 + i % 5, seed=i) for i in range(120)]
    got = pto.jit(lambda *xs: [x + i for i, x in enumerate(xs)])(*arrays)
    for i, (g, x) in enumerate(zip(got, arrays, strict=True)):
        same(g, x + np.float32(i))


def test_one_program_at_all_sizes():
    @pto.jit
    def f(x: pto.spec(("M", "N"), "float32"), w: pto.spec(("N", "K"), "float32"), y: pto.spec(("M",), "float32")):
        product = x @ w
        return product, x.sum(axis=1) * y, pto.cumsum(x, axis=0), x[::-1, 1:], pto.concat([x, x * 2], axis=1), product.sum()

    for m in SIZES:
        for n, k in ((1, 5), (3, 0), (17, 1), (64, 33)):
            x, w, y = numbers(m, n), numbers(n, k, seed=1), numbers(m, seed=2)
            product = x @ w
            want = product, x.sum(1) * y, np.cumsum(x, 0), x[::-1, 1:], np.concatenate([x, x * 2], 1), product.sum()
            for g, v in zip(f(x, w, y), want, strict=True):
                same(g, v)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_chains_of_halves_round_at_every_step(dtype):
    @pto.jit
    def f(x, y):
        for _ in range(12):
            x = x * y + x
            x = x / (pto.abs(x) + 1)
        return x

    rng = np.random.default_rng(5)
    x, y = (rng.normal(0, 1, 1003).astype(dtype) for _ in range(2))
    want = x
    for _ in range(12):
        want = want * y + want
        want = want / (np.abs(want) + dtype(1))
    same(f(pto.asarray(x), pto.asarray(y)).astype("float32"), want.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
def test_integers_wrap(dtype):
    @pto.jit
    def f(x, y):
        return x + y, x - y, x * y * x, -x, abs(x), pto.cumsum(x, dtype=x.dtype), (x * y).sum(dtype=x.dtype), pto.outer(x, y)

    info = np.iinfo(dtype)
    edges = np.array([info.min, info.min + 1, 0, 1, 2, 3, info.max - 1, info.max], dtype)
    rng = np.random.default_rng(3)
    x, y = rng.choice(edges, 77), rng.choice(edges, 77)
    with np.errstate(over="ignore"):
        want = x + y, x - y, x * y * x, -x, np.abs(x), np.cumsum(x, dtype=dtype), (x * y).sum(dtype=dtype), np.outer(x, y)
    for g, v in zip(f(x, y), want, strict=True):
        same(g, v)
