"""Foreign functions that are not pure run once for each call, whether their results are used or not."""

import numpy as np
import pytest

import pypto as pto


@pytest.fixture
def log():
    ran = []

    def note(x):
        ran.append(x.numpy().tolist())
        return x

    note.ran = ran
    return note


def operator(log):
    return pto.foreign(log, pto.spec((3,)), pure=False)


X = np.array([1, 2, 3], np.float32)


def test_unused_in_a_compiled_function(log):
    note = operator(log)
    f = pto.jit(lambda x: (note(x), x * 2)[1])
    for n in range(1, 4):
        np.testing.assert_array_equal(f(X).numpy(), X * 2)
        assert len(log.ran) == n


def test_alone_in_a_compiled_function(log):
    note = operator(log)
    f = pto.jit(lambda x: (note(x), None)[1])
    assert f(X) is None and f(X) is None
    assert log.ran == [X.tolist()] * 2


def test_used_and_written_state(log):
    note, state = operator(log), pto.zeros(3)

    def step(x):
        note(x)
        state[...] = state + note(x + 1)
        return note(x + 2) * 2

    f = pto.jit(step)
    np.testing.assert_array_equal(f(X).numpy(), (X + 2) * 2)
    np.testing.assert_array_equal(state.numpy(), X + 1)
    assert sorted(log.ran) == [X.tolist(), (X + 1).tolist(), (X + 2).tolist()]


def test_eager_calls_run_at_once(log):
    operator(log)(pto.asarray(X))
    assert log.ran == [X.tolist()]


@pytest.mark.parametrize("wrap", [lambda f: f, pto.jit], ids=["eager", "jit"])
def test_unused_in_a_branch(log, wrap):
    note = operator(log)

    def then(v):
        note(v)
        return v * 2

    f = wrap(lambda p, x: pto.cond(p, then, lambda v: v, x))
    f(np.array(False), pto.asarray(X)).numpy()
    assert log.ran == []
    np.testing.assert_array_equal(f(np.array(True), pto.asarray(X)).numpy(), X * 2)
    assert len(log.ran) == 1


@pytest.mark.parametrize("wrap", [lambda f: f, pto.jit], ids=["eager", "jit"])
def test_a_branch_without_results(log, wrap):
    note = operator(log)

    def f(p, x):
        pto.cond(p, lambda v: (note(v), None)[1], lambda v: None, x)
        return x + 1

    for p in (True, False, True):
        np.testing.assert_array_equal(wrap(f)(np.array(p), pto.asarray(X)).numpy(), X + 1)
    assert len(log.ran) == 2


@pytest.mark.parametrize("wrap", [lambda f: f, pto.jit], ids=["eager", "jit"])
def test_unused_in_loops(log, wrap):
    note = operator(log)

    def body(i, v):
        note(v)
        return i + 1, v * 2

    def holds(i, v):
        note(v)
        return i < 3

    def step(carry, x):
        note(x)
        return carry, carry

    f = wrap(lambda x: pto.while_loop(holds, body, (0, x))[1])
    np.testing.assert_array_equal(f(pto.asarray(X)).numpy(), X * 8)
    assert len(log.ran) == 3 + 4
    g = wrap(lambda x, xs: (pto.scan(step, x, xs), x + 1)[1])
    np.testing.assert_array_equal(g(pto.asarray(X), np.stack([X, X + 1])).numpy(), X + 1)
    assert log.ran[7:] == [X.tolist(), (X + 1).tolist()]


def test_a_result_that_is_reshaped_keeps_its_declared_shape():
    double = pto.foreign(lambda x: x.numpy() * 2, pto.spec((6,)))
    fn = pto.jit(lambda x: double(x).reshape(2, 3))
    np.testing.assert_array_equal(fn(pto.ones(6)).numpy(), np.full((2, 3), 2))
    again = pto._core.Executable.parse(str(fn.executable))
    np.testing.assert_array_equal(again.run([pto.ones(6)], {})[0].numpy(), np.full((2, 3), 2))
