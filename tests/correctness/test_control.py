"""cond, while_loop and scan: values, nesting, structure, zero trips, and what bodies read from outside."""

import collections

import numpy as np
import pytest

import pypto as pto

both = pytest.mark.parametrize("wrap", [lambda f: f, pto.jit], ids=["lazy", "jit"])
f32 = np.float32


@both
@pytest.mark.parametrize("chosen", [True, False])
def test_only_the_chosen_branch_counts(wrap, chosen):
    x = np.array([1, 4, 9], f32)
    out = wrap(lambda p, x: pto.cond(p, lambda v: pto.sqrt(v), lambda v: -v, x))(np.array(chosen), x)
    np.testing.assert_array_equal(out.numpy(), np.sqrt(x) if chosen else -x)


@both
def test_numbers_are_results_of_branches(wrap):
    out = wrap(lambda p: pto.cond(p > 0, lambda: (1, {"k": 0.5}), lambda: (2, {"k": 1.5})))(np.array(-3.0, f32))
    assert out[0].item() == 2 and out[1]["k"].item() == 1.5


@both
def test_branches_read_different_tensors_from_outside(wrap):
    def f(p, a, b):
        return pto.cond(p, lambda: a * 2, lambda: b + a)

    a, b = np.arange(3, dtype=f32), np.full(3, 10, f32)
    for p in (True, False):
        np.testing.assert_array_equal(wrap(f)(np.array(p), a, b).numpy(), a * 2 if p else b + a)


@both
def test_nested_conditions(wrap):
    def sign(x):
        return pto.cond(x > 0, lambda v: v * 0 + 1, lambda v: pto.cond(v < 0, lambda u: u * 0 - 1, lambda u: u * 0, v), x)

    for x, want in [(5, 1), (-2, -1), (0, 0)]:
        assert wrap(sign)(np.array(x, f32)).item() == want


def test_branches_must_agree():
    x = pto.ones(3)
    with pytest.raises(pto.Error, match="structure"):
        pto.cond(pto.tensor(True), lambda: (x, x), lambda: x)
    with pytest.raises(pto.Error, match=r"(?s)f32\[3\].*f32\[1\]"):
        pto.cond(pto.tensor(True), lambda: x, lambda: x[:1])


@both
@pytest.mark.parametrize("limit", [0, 1, 7, 100])
def test_while_runs_until_the_condition_fails(wrap, limit):
    def f(n):
        return pto.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), (pto.tensor(0), pto.tensor(0)))

    i, s = wrap(f)(np.array(limit))
    assert (i.item(), s.item()) == (limit, sum(range(limit)))


@both
def test_a_while_inside_a_while(wrap):
    def f(n):
        def row(i, total):
            _, inner = pto.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + 1), (i * 0, total))
            return i + 1, inner

        return pto.while_loop(lambda i, t: i < n, row, (n * 0, n * 0))[1]

    assert wrap(f)(np.array(6)).item() == 15


@both
@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_stacks_what_each_step_gives(wrap, n, reverse):
    xs = np.arange(n * 2, dtype=f32).reshape(n, 2)
    carry, ys = wrap(lambda xs: pto.scan(lambda c, x: (c + x, c * x), pto.zeros(2), xs, reverse=reverse))(xs)
    want, rows = np.zeros(2, f32), np.zeros((n, 2), f32)
    for i in reversed(range(n)) if reverse else range(n):
        rows[i] = want * xs[i]
        want = want + xs[i]
    np.testing.assert_array_equal(carry.numpy(), want)
    np.testing.assert_array_equal(ys.numpy(), rows)
    assert ys.shape == (n, 2)


State = collections.namedtuple("State", "total count")


@both
def test_scan_keeps_containers(wrap):
    def f(xs):
        def step(state, x):
            state = State(state.total + x["a"], state.count + 1)
            return state, {"mean": state.total / state.count, "double": x["b"] * 2}

        return pto.scan(step, State(pto.tensor(0.0), pto.tensor(0.0)), {"a": xs, "b": xs + 1})

    xs = np.array([1, 2, 6], f32)
    state, ys = wrap(f)(xs)
    assert isinstance(state, State) and state.total.item() == 9 and state.count.item() == 3
    np.testing.assert_array_equal(ys["mean"].numpy(), [1, 1.5, 3])
    np.testing.assert_array_equal(ys["double"].numpy(), [4, 6, 14])


def test_one_trace_scans_any_length():
    @pto.jit
    def total(xs: pto.Tensor["N", pto.float32]):  # noqa: F821
        return pto.scan(lambda c, x: (c + x, c), pto.tensor(0.0), xs)[0]

    for n in (3, 0, 1, 50):
        assert total(np.ones(n, f32)).item() == n
    assert len(total.reasons) == 1


def test_bodies_do_not_write_their_arguments():
    def step(c, x):
        c += x
        return c, x

    with pytest.raises(pto.Error, match="in place"):
        pto.scan(step, pto.zeros(2), pto.ones((3, 2)))
