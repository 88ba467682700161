"""cond, while_loop and scan: lazily and compiled, nested, over nothing, with what they read from outside."""

import collections

import numpy as np
import pytest

import pypto as pto

State = collections.namedtuple("State", "total count")


@pytest.fixture(params=[lambda f: f, pto.jit], ids=["lazy", "jit"])
def way(request):
    return request.param


# --- cond -------------------------------------------------------------------------------------------


def test_only_the_chosen_branch_runs(way):
    ran = []

    def noted(name):
        return pto.foreign(lambda x: ran.append(name) or x.numpy() * 2, pto.spec((2,)), pure=False)

    yes, no = noted("yes"), noted("no")
    fn = way(lambda x, p: pto.cond(p > 0, lambda x: yes(x), lambda x: no(x), x) + 1)
    np.testing.assert_array_equal(fn(pto.ones(2), pto.asarray(1.0)).numpy(), [3, 3])
    assert ran == ["yes"]
    np.testing.assert_array_equal(fn(pto.ones(2), pto.asarray(-1.0)).numpy(), [3, 3])
    assert ran == ["yes", "no"]


def test_branches_with_structure_numbers_and_captured_values(way):
    scale = pto.asarray([2.0, 4.0])

    def fn(x, p):
        shift = x * 10

        def then(x):
            return {"a": (x * scale, 1), "b": [shift]}

        def otherwise(x):
            return {"a": (x - scale, -1), "b": [shift * 0]}

        return pto.cond(p, then, otherwise, x)

    call = way(fn)
    for p, want in [(True, ([2, 8], 1, [10, 20])), (False, ([-1, -2], -1, [0, 0]))]:
        out = call(pto.asarray([1.0, 2.0]), pto.asarray(p))
        assert list(out) == ["a", "b"] and isinstance(out["a"], tuple) and isinstance(out["b"], list)
        np.testing.assert_array_equal(out["a"][0].numpy(), want[0])
        assert int(out["a"][1]) == want[1]
        np.testing.assert_array_equal(out["b"][0].numpy(), want[2])


def test_branches_read_different_tensors_from_outside(way):
    fn = way(lambda p, a, b: pto.cond(p, lambda: a * 2, lambda: b + a))
    a, b = np.arange(3, dtype=np.float32), np.full(3, 10, np.float32)
    for p in (True, False):
        np.testing.assert_array_equal(fn(np.array(p), a, b).numpy(), a * 2 if p else b + a)


def test_nested_conditions(way):
    def fn(x):
        return pto.cond(
            x > 0,
            lambda x: pto.cond(x > 10, lambda x: x * 100, lambda x: x * 10, x),
            lambda x: pto.cond(x < -10, lambda x: -x, lambda x: x * 0, x),
            x,
        )

    call = way(fn)
    assert [call(pto.asarray(v)).item() for v in (20.0, 5.0, -20.0, -5.0, 0.0)] == [2000, 50, 20, 0, 0]


def test_branches_that_do_not_agree():
    x, p = pto.ones(2), pto.asarray(True)
    for then, otherwise, message in [
        (lambda x: x, lambda x: (x, x), "different structure"),
        (lambda x: x, lambda x: x[:1], r"f32\[2\].*f32\[1\]"),
        (lambda x: x, lambda x: x.astype("int32"), r"f32\[2\].*i32\[2\]"),
    ]:
        for call in (pto.cond, pto.jit(lambda p, x, a=then, b=otherwise: pto.cond(p, a, b, x))):
            arguments = (p, then, otherwise, x) if call is pto.cond else (p, x)
            with pytest.raises(pto.Error, match=f"(?s)cond.*{message}"):
                call(*arguments)
    with pytest.raises(pto.Error, match="exactly one element"):
        pto.cond(pto.asarray([True, False]), lambda x: x, lambda x: x, x)


# --- while_loop -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 7, 100])
def test_loops_run_as_often_as_their_condition_holds(way, n):
    def fn(n, x):
        return pto.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x / 2 + i.astype("float32")), (0, x))

    i, x = way(fn)(pto.asarray(n), pto.ones(3))
    want = np.ones(3, np.float32)
    for k in range(n):
        want = want / 2 + np.float32(k)
    assert i.item() == n
    np.testing.assert_array_equal(x.numpy(), want)


def test_state_that_is_swapped(way):
    a, b = way(lambda a, b, n: pto.while_loop(lambda a, b, i: i < n, lambda a, b, i: (b, a + b, i + 1), (a, b, 0))[:2])(
        pto.asarray([0]), pto.asarray([1]), pto.asarray(10)
    )
    assert (a.item(), b.item()) == (55, 89)


def test_a_state_of_one_tensor(way):
    halve = way(lambda x: pto.while_loop(lambda x: pto.max(x) > 1, lambda x: x / 2, x))
    np.testing.assert_array_equal(halve(pto.asarray([12.0, 3.0])).numpy(), [0.75, 0.1875])
    np.testing.assert_array_equal(halve(pto.asarray([0.5])).numpy(), [0.5])


def test_loops_in_loops(way):
    def fn(n):
        def outer(i, total):
            def inner(j, t):
                return j + 1, t + i * j

            _, total = pto.while_loop(lambda j, t: j < i, inner, (0, total))
            return i + 1, total

        return pto.while_loop(lambda i, total: i < n, outer, (0, 0))[1]

    call = way(fn)
    for n in (0, 1, 6):
        assert call(pto.asarray(n)).item() == sum(i * j for i in range(n) for j in range(i))


def test_structured_states(way):
    def fn(x):
        def body(s, d):
            return State(s.total + d["x"], s.count + 1), d

        return pto.while_loop(lambda s, d: s.count < 3, body, (State(x * 0, 0), {"x": x}))

    state, d = way(fn)(pto.asarray([1.0, 2.0]))
    assert type(state) is State and list(d) == ["x"]
    np.testing.assert_array_equal(state.total.numpy(), [3, 6])


def test_a_loop_whose_state_changes_its_type():
    for body, message in [
        (lambda i, x: (i + 1, x[:1]), r"f32\[3\].*f32\[1\]"),
        (lambda i, x: (i + 1, x.astype("float64")), r"f32\[3\].*f64\[3\]"),
        (lambda i, x: (i + 1,), "same structure"),
    ]:
        with pytest.raises(pto.Error, match=f"(?s)while_loop.*{message}"):
            pto.while_loop(lambda i, *_: i < 3, body, (0, pto.ones(3)))


# --- scan -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_scan(way, n, reverse):
    xs = np.arange(n * 2, dtype=np.float32).reshape(n, 2) + 1
    fn = way(lambda c, xs: pto.scan(lambda c, x: (c + x, c * x), c, xs, reverse=reverse))
    carry, ys = fn(pto.ones(2), xs)
    want, rows = np.ones(2), np.zeros((n, 2))
    for i in reversed(range(n)) if reverse else range(n):
        rows[i] = want * xs[i]
        want = want + xs[i]
    np.testing.assert_array_equal(carry.numpy(), want)
    np.testing.assert_array_equal(ys.numpy(), rows)


def test_scans_in_scans(way):
    def fn(table):
        def row(total, xs):
            total, sums = pto.scan(lambda t, x: (t + x, t + x), total, xs)
            return total, sums

        return pto.scan(row, pto.zeros(()), table)

    table = np.arange(12, dtype=np.float32).reshape(3, 4)
    total, sums = way(fn)(table)
    assert total.item() == 66
    np.testing.assert_array_equal(sums.numpy().ravel(), np.cumsum(table))


def test_scans_over_several_tensors_with_structure(way):
    def fn(xs, flags):
        def body(carry, at):
            x, flag = at["x"], at["flag"]
            carry = pto.where(flag, carry + x, carry)
            return carry, (carry, x * 2)

        return pto.scan(body, 0.0, {"x": xs, "flag": flags})

    last, (running, doubled) = way(fn)(pto.asarray([1.0, 2.0, 3.0]), pto.asarray([True, False, True]))
    assert last.item() == 4
    np.testing.assert_array_equal(running.numpy(), [1, 1, 4])
    np.testing.assert_array_equal(doubled.numpy(), [2, 4, 6])


def test_carries_with_structure(way):
    def fn(xs):
        def step(state, x):
            state = State(state.total + x, state.count + 1)
            return state, {"mean": state.total / state.count}

        return pto.scan(step, State(pto.tensor(0.0), pto.tensor(0.0)), xs)

    state, ys = way(fn)(np.array([1, 2, 6], np.float32))
    assert type(state) is State and state.total.item() == 9 and state.count.item() == 3
    np.testing.assert_array_equal(ys["mean"].numpy(), [1, 1.5, 3])


def test_conditions_in_loops_in_scans(way):
    def fn(xs):
        def collatz(count, x):
            def step(n, k):
                n = pto.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n)
                return n, k + 1

            _, steps = pto.while_loop(lambda n, k: n > 1, step, (x, 0))
            return count + steps, steps

        return pto.scan(collatz, 0, xs)

    total, steps = way(fn)(pto.asarray([1, 2, 3, 6, 7, 27]))
    np.testing.assert_array_equal(steps.numpy(), [0, 1, 7, 8, 16, 111])
    assert total.item() == 143


def test_loops_for_any_size():
    fn = pto.jit(lambda xs: pto.scan(lambda c, x: (c + pto.sum(x), x * c), 1.0, xs))
    for n, m in [(2, 3), (3, 4), (1, 2), (0, 5), (4, 0)]:
        carry, ys = fn(pto.ones((n, m)))
        assert carry.item() == 1 + n * m and ys.shape == (n, m)
        np.testing.assert_array_equal(ys.numpy(), np.outer(1 + m * np.arange(n), np.ones(m)).reshape(n, m))
    assert len(fn.reasons) <= 4

    @pto.jit
    def total(xs: pto.Tensor["N", pto.float32]):  # noqa: F821
        return pto.scan(lambda c, x: (c + x, c), pto.tensor(0.0), xs)[0]

    for n in (3, 0, 1, 50):
        assert total(np.ones(n, np.float32)).item() == n
    assert len(total.reasons) == 1


def test_scans_that_cannot_be():
    for init, xs, message in [
        (0.0, (), "nothing to walk"),
        (0.0, pto.ones(()), "without axes"),
        (0.0, (pto.ones(2), pto.ones(3)), r"different leading sizes.*f32\[2\], f32\[3\]"),
    ]:
        with pytest.raises(pto.Error, match=f"(?s)scan.*{message}"):
            pto.scan(lambda c, x: (c, c), init, xs)
    with pytest.raises(pto.Error, match="(?s)scan"):
        pto.scan(lambda c, x: (c[:1], x), pto.ones(2), pto.ones(3))


def test_a_body_that_writes_what_is_outside():
    x, outside = pto.ones(2), pto.zeros(2)

    def writes(v):
        v += 1.0
        return v

    for call in (
        lambda: pto.cond(pto.asarray(True), writes, lambda v: v, x),
        lambda: pto.scan(lambda c, v: (writes(c), v), x, pto.ones((3, 2))),
    ):
        with pytest.raises(pto.Error, match="written in place inside a branch"):
            call()

    def leaks(v):
        nonlocal outside
        outside += 1.0
        return v

    for call in (
        lambda: pto.cond(pto.asarray(True), leaks, lambda v: v, x),
        pto.jit(lambda: pto.scan(lambda c, v: (leaks(c), v), x, x)),
    ):
        with pytest.raises(pto.Error, match="written in place inside a branch"):
            call()
    np.testing.assert_array_equal(outside.numpy(), [0, 0])
