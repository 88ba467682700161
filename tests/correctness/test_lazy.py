"""Lazy evaluation: what compiles again, and what does not."""

import numpy as np

import pypto as pto


def compiled(f):
    before = pto.counters()["graphs_compiled"]
    f()
    return pto.counters()["graphs_compiled"] - before


def test_a_number_with_a_second_value_is_an_operand():
    x = pto.asarray(np.arange(5, dtype=np.float32))

    def step(rate):
        return (x * rate + 1).numpy()

    np.testing.assert_array_equal(step(0.5), np.arange(5) * np.float32(0.5) + 1)
    np.testing.assert_array_equal(step(0.25), np.arange(5) * np.float32(0.25) + 1)

    def more():
        for rate in (0.125, 3.0, float("inf"), 0.5):
            with np.errstate(invalid="ignore"):
                np.testing.assert_array_equal(step(rate), np.arange(5, dtype=np.float32) * np.float32(rate) + 1)

    assert compiled(more) == 0


def test_totals_over_many_steps_compile_once():
    w = pto.ones(4)

    def steps():
        nonlocal w
        for i in range(50):
            w -= 0.001 * i
            w.wait()

    assert compiled(steps) <= 3
    np.testing.assert_allclose(w.numpy(), np.full(4, 1 - 0.001 * sum(range(50))), rtol=1e-4, atol=1e-5)


def test_a_slice_never_writes_to_its_base():
    x = pto.arange(6).reshape(2, 3)
    row = x[0]
    row[1] = 9
    row += 1
    np.testing.assert_array_equal(x.numpy(), [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(row.numpy(), [1, 10, 3])


def test_pending_values_outlive_their_operands():
    def make():
        x = pto.asarray(np.ones(3, np.float32))
        return x + 1

    np.testing.assert_array_equal(make().numpy(), [2, 2, 2])


def test_an_array_is_copied_when_it_is_used():
    a = np.ones(3, np.float32)
    y = pto.ones(3) + a
    a[:] = 5
    np.testing.assert_array_equal(y.numpy(), [2, 2, 2])
