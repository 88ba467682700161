"""What is recorded for gradients, and when nothing is."""

import threading

import numpy as np
import pytest

import pypto as pto


def variable(values=(1.0, 2.0)):
    return pto.tensor(list(values)).requires_grad_()


def test_what_is_computed_from_a_tensor_that_requires_a_gradient_requires_one():
    x = variable()
    assert x.requires_grad and x.is_leaf and x.grad is None
    y = x * 2
    assert y.requires_grad and not y.is_leaf
    assert y.numpy().tolist() == [2, 4]
    assert y.requires_grad  # also when it is known
    assert (y + 1).requires_grad
    plain = pto.ones(2)
    assert not plain.requires_grad and plain.is_leaf
    assert not (x > 1).requires_grad and not x.astype("int32").requires_grad
    assert not pto.stop_gradient(x).requires_grad


def test_detached_tensors_share_the_value():
    x = variable()
    y = x * 3
    for d in (x.detach(), y.detach()):
        assert not d.requires_grad and d.is_leaf and d.grad is None
    assert y.detach().numpy().tolist() == [3, 6]
    assert x.requires_grad


def test_a_pending_value_can_begin_a_record():
    x = (pto.ones(2) + 1).requires_grad_()
    assert x.requires_grad and x.is_leaf
    assert (x * x).numpy().tolist() == [4, 4]


def test_requires_grad_can_be_taken_back():
    x = variable()
    x.requires_grad = False
    assert not x.requires_grad and not (x * 2).requires_grad
    x.requires_grad = False
    with pytest.raises(pto.Error, match=r"computed from others"):
        (variable() * 2).requires_grad = False


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool"])
def test_integers_have_no_gradients(dtype):
    with pytest.raises(pto.Error, match="only floating tensors have gradients"):
        pto.ones(3, dtype=dtype).requires_grad_()


def test_gradients_can_be_set_and_are_of_the_tensors_type():
    x = variable()
    x.grad = pto.ones(2)
    assert x.grad.numpy().tolist() == [1, 1]
    x.grad *= 3
    assert x.grad.numpy().tolist() == [3, 3]
    for wrong in (pto.ones(3), pto.ones(2, dtype="float64"), 1.0):
        with pytest.raises(pto.Error, match="gradient"):
            x.grad = wrong
    assert x.grad.numpy().tolist() == [3, 3]
    x.grad = None
    assert x.grad is None
    with pytest.raises(pto.Error, match="no leaf"):
        pto.ones(2).grad = pto.ones(2)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_leaf_written_in_place_stays_a_leaf_with_its_gradient(recorded):
    w = variable()
    w.grad = pto.ones(2)
    g = w.grad
    with pto.grad_enabled(recorded):
        w -= 0.5 * w.grad
        w[0] = 7
    assert w.is_leaf and w.requires_grad and w.grad is g
    assert w.numpy().tolist() == [7, 1.5]


def test_values_that_are_written_over_are_freed():
    before = pto.counters()
    w = pto.zeros(4).requires_grad_()
    for _ in range(10_000):
        w += 1
        w.wait()
    assert w.numpy().tolist() == [10_000] * 4
    assert pto.counters()["graphs_compiled"] - before["graphs_compiled"] <= 2


def test_nothing_is_recorded_with_gradients_off():
    x = variable()
    assert pto.is_grad_enabled()
    with pto.no_grad():
        assert not pto.is_grad_enabled()
        y = x * 2
        with pto.grad_enabled(True):
            assert (x * 2).requires_grad
        assert not pto.is_grad_enabled()
    assert pto.is_grad_enabled()
    assert not y.requires_grad and y.numpy().tolist() == [2, 4]


def test_decorators_switch_recording_for_a_call():
    @pto.grad_enabled
    def on():
        return pto.is_grad_enabled()

    @pto.grad_enabled(False)
    def off():
        return pto.is_grad_enabled()

    @pto.no_grad
    def bare():
        return pto.is_grad_enabled()

    @pto.no_grad()
    def fails():
        raise KeyError("x")

    assert on() and not off() and not bare() and pto.is_grad_enabled()
    with pto.no_grad():
        assert on() and not off()
    with pytest.raises(KeyError):
        fails()
    assert pto.is_grad_enabled()
    assert on.__name__ == "on"


def test_one_mode_can_be_entered_again_within_itself():
    off = pto.grad_enabled(False)
    with off, pto.grad_enabled(True), off:
        assert not pto.is_grad_enabled()
    assert pto.is_grad_enabled()


def test_each_thread_has_its_own_mode():
    seen = []
    with pto.no_grad():
        thread = threading.Thread(target=lambda: seen.append(pto.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_long_records_are_read_and_freed():
    x = variable()
    y = x
    for _ in range(100_000):
        y = y + 1
    assert y.numpy().tolist() == [100_001, 100_002]
    del y
    z = x
    for _ in range(100_000):
        z = z + 1
    del z  # never computed


def test_stop_gradient_is_the_value_itself_when_compiled():
    f = pto.jit(lambda x: pto.stop_gradient(x) * 2)
    np.testing.assert_array_equal(f(pto.ones(3)).numpy(), [2, 2, 2])
    assert "stop_gradient" in str(f.graph)
    assert "stop_gradient" not in str(f.executable)


def test_leaves_that_compiled_functions_write_stay_leaves():
    w, v = variable(), variable()

    @pto.jit
    def step(argument):
        nonlocal w
        w -= 1
        argument *= 3

    for _ in range(2):
        step(v)
    for x, want in ((w, [-1, 0]), (v, [9, 18])):
        assert x.is_leaf and x.requires_grad and (x * 2).requires_grad
        assert x.numpy().tolist() == want


def test_backward_adds_up_and_releases_the_record():
    x = variable()
    for i in (1, 2):
        y = (x * x).sum()
        assert y.item() == 5
        y.backward()
        assert x.grad.numpy().tolist() == [2 * i, 4 * i]
        assert not y.requires_grad
    with pytest.raises(pto.Error, match="earlier backward"):
        y.backward()


def test_backward_through_part_of_a_released_record_is_an_error():
    x = variable()
    y = x * x
    a, b = y.sum(), (y * 2).sum()
    a.backward(retain_graph=True)
    a.backward()
    with pytest.raises(pto.Error, match="earlier backward"):
        b.backward()
    assert x.grad.numpy().tolist() == [4, 8]


def test_backward_refuses_what_has_no_gradient():
    x = variable()
    for loss, seed, message in (
        (x * 2, None, "exactly one element"),
        (x * 2, pto.ones(3), "another type"),
        (x * 2, pto.ones(2, dtype="float64"), "another type"),
        (pto.ones(()), None, "nothing that requires"),
        ((x > 1).sum(), None, "only floating"),
    ):
        with pytest.raises(pto.Error, match=message):
            loss.backward(seed)
    assert x.grad is None


def test_backward_through_a_long_chain():
    x = variable()
    y = x
    for _ in range(100_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.numpy().tolist() == [1, 1]
