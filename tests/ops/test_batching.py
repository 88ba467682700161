"""Batching: pto.vmap against the stacked results of single calls."""

import itertools

import numpy as np
import pytest

import pypto as pto
from cases import Case, main_dtype, results


def type_of(function):
    return "float64" if "f" in function["test"]["dtypes"] else main_dtype(function)


def check_subset(case, which, n):
    """The arrays numbered `which` get a batch of n, of different elements; the others stay."""
    count = range(len(case.arrays))
    single = [[np.roll(a, k) if i in which else a for i, a in enumerate(case.arrays)] for k in range(n)]
    batch = [np.stack([s[i] for s in single]) if i in which else case.arrays[i] for i in count]

    def run(*tensors):
        given = {id(a): t for a, t in zip(case.arrays, tensors)}
        return tuple(results(case.call(lambda x: given[id(x)])))

    got = pto.vmap(run, in_axes=tuple(0 if i in which else None for i in count))(*map(pto.asarray, batch))
    want = [run(*map(pto.asarray, arrays)) for arrays in single]
    for j, g in enumerate(got):
        np.testing.assert_allclose(g.numpy(), np.stack([w[j].numpy() for w in want]), rtol=1e-12, atol=1e-12)


def test_every_row_has_a_rule():
    """A row without one would be an error that names it."""
    assert [r["name"] for r in pto.op_table() if r["family"] != "leaf" and not r["batched"]] == []


DRAWS = {"bernoulli", "categorical", "dropout", "normal", "randint", "random_bits", "uniform"}


@pytest.mark.parametrize("function", pto.function_table(), ids=lambda f: f["name"])
def test_functions(function):
    for text in function["cases"][:2]:
        case = Case(function, type_of(function), text)
        count = len(case.arrays)
        subsets = [s for r in (1, count) for s in itertools.combinations(range(count), r)] if count else []
        for which in dict.fromkeys(subsets):
            if function["name"] in DRAWS and not {count - 1, count - 2} & set(which):
                continue  # one key for all: the draws differ
            check_subset(case, which, 3)
        if subsets and function["name"] not in DRAWS:
            check_subset(case, subsets[-1], 1)


def test_draws_are_those_of_the_whole():
    pto.manual_seed(3)
    got = pto.vmap(lambda x: x + pto.rand(5))(pto.zeros((4, 5))).numpy()
    after = pto.rand(2).numpy()
    pto.manual_seed(3)
    np.testing.assert_array_equal(got, pto.rand(4, 5).numpy())
    np.testing.assert_array_equal(after, pto.rand(2).numpy())


def test_axes_and_containers():
    x, y = np.arange(24.0).reshape(2, 3, 4), np.arange(3.0)
    f = pto.vmap(lambda d, k: {"sum": d["a"].sum() + k, "k": k}, in_axes=({"a": 1}, None), out_axes={"sum": 0, "k": None})
    got = f({"a": pto.asarray(x)}, pto.asarray(2.0))
    np.testing.assert_allclose(got["sum"].numpy(), x.sum((0, 2)) + 2)
    assert got["k"].shape == ()
    got = pto.vmap(lambda v: v * 2, in_axes=-1, out_axes=1)(pto.asarray(x))
    np.testing.assert_array_equal(got.numpy(), np.moveaxis(x, -1, 1) * 2)
    outer = pto.vmap(pto.vmap(lambda a, b: a * b, in_axes=(0, None)), in_axes=(None, 0))
    np.testing.assert_array_equal(outer(pto.asarray(y), pto.asarray(y)).numpy(), np.outer(y, y))
    assert pto.vmap(lambda: pto.ones(2), axis_size=3)().shape == (3, 2)
    assert pto.vmap(lambda v: v.sum())(pto.zeros((0, 3))).shape == (0,)


def test_jit_in_both_orders():
    scale = pto.asarray([1.0, 2.0, 3.0])

    def f(x):
        return pto.softmax(x * scale)

    x = np.random.default_rng(0).normal(size=(7, 3))
    want = pto.softmax(pto.asarray(x) * scale, dim=-1).numpy()
    compiled = pto.jit(pto.vmap(f))
    for n in (2, 7, 5, 1, 3):
        np.testing.assert_allclose(compiled(pto.asarray(x[:n])).numpy(), want[:n], rtol=1e-12)
    assert len(compiled.reasons) <= 2
    np.testing.assert_allclose(pto.vmap(pto.jit(f))(pto.asarray(x)).numpy(), want, rtol=1e-12)


def test_cond():
    table = pto.asarray([1.0, 2.0, 3.0])

    def f(p, i, x):
        return pto.cond(p, lambda: table[i] * x, lambda: -x)

    p, i, x = np.array([True, False, True]), np.array([0, 9, 2]), np.array([1.0, 2.0, 3.0])
    args = (pto.asarray(p), pto.asarray(i), pto.asarray(x))
    np.testing.assert_array_equal(pto.vmap(f)(*args).numpy(), [1, -2, 9])
    for flag in (True, False):
        got = pto.vmap(f, in_axes=(None, None, 0))(pto.asarray(flag), pto.asarray(1), args[2])
        np.testing.assert_array_equal(got.numpy(), 2 * x if flag else -x)


def test_while_loop_runs_each_as_long_as_it_holds():
    table = pto.asarray([1.0, 2.0, 4.0])

    def f(n):
        return pto.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + table[i]), (pto.asarray(0), pto.asarray(0.0)))[1]

    np.testing.assert_array_equal(pto.vmap(f)(pto.asarray([3, 0, 1, 2])).numpy(), [7, 0, 1, 3])
    assert pto.vmap(f)(pto.zeros((0,), dtype="int64")).shape == (0,)

    def same(x):
        return pto.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x), (pto.asarray(0), pto.asarray(1.0)))

    i, s = pto.vmap(same)(pto.asarray([2.0, 3.0]))
    np.testing.assert_array_equal(s.numpy(), [8, 27])
    np.testing.assert_array_equal(i.numpy(), [3, 3])


def test_scan():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)

    def f(init, xs):
        return pto.scan(lambda c, v: (c + v, c * 2), init, xs)

    for axes in ((0, 0), (None, 0), (0, None)):
        init = pto.asarray([1.0, 2.0, 3.0]) if axes[0] == 0 else pto.asarray(1.0)
        xs = pto.asarray(x) if axes[1] == 0 else pto.asarray(x[0])
        got = pto.vmap(f, in_axes=axes)(init, xs)
        singles = [f(init[k] if axes[0] == 0 else init, xs[k] if axes[1] == 0 else xs) for k in range(3)]
        for j in range(2):
            np.testing.assert_array_equal(got[j].numpy(), np.stack([s[j].numpy() for s in singles]))


def test_foreign_needs_a_rule():
    def rows(x):
        return pto.asarray(x.numpy() * np.arange(1, x.shape[-2] + 1)[:, None])

    x = np.asfortranarray([[1.0, 2, 3], [4, 5, 6]])
    out = lambda v: pto.spec(v.shape, v.dtype)  # noqa: E731
    plain = pto.foreign(rows, out, name="rows")
    with pytest.raises(pto.Error, match="rows has no batching rule"):
        pto.vmap(plain)(pto.asarray(np.stack([x] * 4)))
    ruled = pto.foreign(rows, out, vmap=lambda size, batched, v: plain(v))
    got = pto.vmap(ruled)(pto.asarray(np.stack([x] * 4))).numpy()
    np.testing.assert_array_equal(got, np.stack([[[1, 2, 3], [8, 10, 12]]] * 4))


def test_writes():
    total, x = pto.zeros(()), pto.asarray([1.0, 2.0])

    def f(v):
        nonlocal total
        v += 1
        total += 2
        return v

    pto.vmap(f)(x)
    np.testing.assert_array_equal(x.numpy(), [2, 3])
    assert total.item() == 2

    def wrong(v):
        nonlocal total
        total += v

    with pytest.raises(pto.Error, match="differ over the mapped axis"):
        pto.vmap(wrong)(x)
    assert total.item() == 2


def test_errors():
    x = pto.ones((2, 3))
    for call, text in [
        (lambda: pto.vmap(lambda a, b: a)(x, pto.ones((3, 3))), "different sizes"),
        (lambda: pto.vmap(lambda a: a, in_axes=2)(x), "out of range"),
        (lambda: pto.vmap(lambda a: a, in_axes=None)(x), "nothing is mapped"),
        (lambda: pto.vmap(lambda a: a)(1.0), "only tensors are mapped"),
        (lambda: pto.vmap(lambda a: a, in_axes=(0, 0))(x), "another structure"),
        (lambda: pto.vmap(lambda a: a, out_axes=None)(x), "differs over the mapped axis"),
        (lambda: pto.vmap(lambda a: a if a.sum() > 0 else -a)(x), "traced"),
    ]:
        with pytest.raises(pto.Error, match=text):
            call()


def test_loops_in_branches_that_none_takes_do_not_run():
    def endless(p, n):
        branch = lambda: pto.while_loop(lambda i: i != n, lambda i: i + 1, pto.asarray(0))  # noqa: E731
        return pto.cond(p, branch, lambda: pto.asarray(-1))

    got = pto.vmap(endless)(pto.asarray([True, False, True]), pto.asarray([3, -5, 0]))
    np.testing.assert_array_equal(got.numpy(), [3, -1, 0])
    got = pto.vmap(endless, in_axes=(0, None))(pto.asarray([False, False]), pto.asarray(-5))
    np.testing.assert_array_equal(got.numpy(), [-1, -1])


def test_what_the_function_reads_is_watched():
    scale = [1.0]
    compiled = pto.jit(pto.vmap(lambda x: x * scale[0]))
    x = pto.asarray([1.0, 2.0])
    np.testing.assert_array_equal(compiled(x).numpy(), [1, 2])
    scale[0] = 3.0
    np.testing.assert_array_equal(compiled(x).numpy(), [3, 6])
