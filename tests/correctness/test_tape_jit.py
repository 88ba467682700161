"""Gradients in compiled functions, and through them."""

import copy
import pickle

import numpy as np
import pytest

import pypto as pto
from pypto import nn, optim


def weights():
    return pto.tensor([1.0, 2.0, 3.0]).requires_grad_()


X = [1.0, 1.0, 2.0]


def test_gradients_pass_through_a_compiled_function():
    w, x = weights(), pto.tensor(X)
    f = pto.jit(lambda x: (w * x * w).sum())
    for n in (1, 2, 3):
        y = f(x)
        assert y.requires_grad and not y.is_leaf
        y.backward()
        assert w.grad.numpy().tolist() == [2.0 * n, 4.0 * n, 12.0 * n]
    assert len(f.reasons) == 1
    with pytest.raises(pto.Error, match="released by an earlier"):
        y.backward()


def test_gradients_pass_through_calls_of_calls():
    a = pto.tensor([2.0, 3.0]).requires_grad_()
    cube, total = pto.jit(lambda x: x**3), pto.jit(lambda x, y: (x * y).sum())
    b = cube(a)
    total(b, a * b).backward()  # a^7
    assert a.grad.numpy().tolist() == [7 * 2.0**6, 7 * 3.0**6]


def test_run_time_sizes_and_numbers_are_constants_of_the_gradient():
    w = pto.tensor(2.0).requires_grad_()
    f = pto.jit(lambda x, scale: (w * w * x).sum() * scale / x.shape[0])
    for n, scale in ((2, 0.5), (3, 3.0), (5, 7.0), (4, -2.0)):
        w.grad = None
        f(pto.ones(n), scale).backward()
        assert w.grad.item() == pytest.approx(4 * scale)
    assert len(f.reasons) <= 3


def test_no_gradient_passes_what_is_excluded_inside():
    w = weights()

    @pto.jit
    def f(x):
        with pto.no_grad():
            a = w * x
        return (w * a + w.detach() * w + pto.stop_gradient(w * 5)).sum()

    f(pto.tensor(X)).backward()
    assert w.grad.numpy().tolist() == [1 + 1, 2 + 2, 6 + 3]


def test_backward_inside_accumulates():
    w, x = weights(), pto.tensor(X)

    @pto.jit
    def f(x):
        loss = (w * x * w).sum()
        loss.backward()
        return loss

    for n in (1, 2, 3, 4):
        assert not f(x).requires_grad
        assert w.grad.numpy().tolist() == [2.0 * n, 4.0 * n, 12.0 * n]
    assert f.reasons == ["the first call", "a gradient is there that was not, or is gone"]
    before = w.grad
    w.grad = pto.ones(3)  # another tensor than the one that was traced
    f(x)
    assert w.grad.numpy().tolist() == [3, 5, 13]
    assert before.numpy().tolist() == [8, 16, 48]
    assert len(f.reasons) == 2


def test_gradients_that_are_read_and_changed_inside():
    w = weights()

    @pto.jit
    def clip(limit):
        g = w.grad
        g *= limit / (g * g).sum() ** 0.5
        w.grad = g
        return g.sum()

    for values in ([3.0, 4.0, 0.0], [0.0, 6.0, 8.0]):
        w.grad = pto.tensor(values)
        clip(1.0)
        np.testing.assert_allclose(w.grad.numpy(), np.array(values, np.float32) / np.linalg.norm(values), rtol=1e-6)
    assert len(clip.reasons) == 1


def test_a_trace_that_fails_leaves_gradients_as_they_were():
    w = weights()
    w.grad = pto.ones(3)

    @pto.jit
    def f(x):
        (w * x).sum().backward()
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        f(pto.tensor(X))
    assert w.grad.numpy().tolist() == [1, 1, 1]
    assert w.requires_grad and (w * 2).requires_grad


def test_the_mode_at_the_call_counts():
    w = weights()
    f = pto.jit(lambda x: w * x)
    x = pto.tensor(X)
    assert f(x).requires_grad
    with pto.no_grad():
        assert not f(x).requires_grad
    assert f(x).requires_grad
    assert f.reasons == ["the first call", "gradients are recorded now, or no longer"]
    w.requires_grad_(False)
    assert not f(x).requires_grad
    asks = pto.jit(lambda x: x + (1 if pto.is_grad_enabled() else 2))
    assert asks(x).numpy().tolist() == [2, 2, 3]
    with pto.no_grad():
        assert asks(x).numpy().tolist() == [3, 3, 4]


def test_arguments_that_require_gradients():
    f = pto.jit(lambda x, y: (x * y).sum())
    x, y = weights(), pto.tensor(X)
    f(x, y).backward()
    assert x.grad.numpy().tolist() == X and y.grad is None
    f(y, x).backward()
    assert x.grad.numpy().tolist() == [2 * v for v in X]


def losses(form, dtype):
    pto.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.BatchNorm1d(8), nn.Linear(8, 2)).to(dtype)
    optimizer = optim.AdamW(model.parameters(), lr=0.05)

    def loss_of(x, y):
        return ((model(x) - y) ** 2).mean()

    compiled = pto.jit(loss_of) if form == "forward" else loss_of

    def step(x, y):
        loss = compiled(x, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    run = pto.jit(step) if form == "whole" else step
    rng = np.random.default_rng(0)
    found, graphs = [], []
    for _ in range(5):
        x = rng.normal(size=(16, 4)).astype(dtype)
        found.append(float(run(x, np.sin(x[:, :2]))))
        graphs.append(pto.counters()["graphs_compiled"])
    assert graphs[2] == graphs[-1]  # after two steps nothing is compiled
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    assert not any(b.requires_grad for b in model.buffers())
    return found


def test_a_training_step_gives_the_same_however_much_of_it_is_compiled():
    lazy, forward, whole = (losses(form, "float32") for form in ("lazy", "forward", "whole"))
    np.testing.assert_allclose(lazy, losses("whole", "float64"), rtol=2e-5)
    np.testing.assert_allclose(forward, lazy, rtol=1e-5)
    np.testing.assert_allclose(whole, lazy, rtol=1e-5)
    assert lazy[-1] < lazy[0]


def test_copies_of_parameters_are_leaves_of_their_own():
    p = nn.Parameter([1.0, 2.0])
    for other in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert isinstance(other, pto.Parameter) and other.requires_grad and other.is_leaf
        (other * other).sum().backward()
        assert other.grad.numpy().tolist() == [2, 4] and p.grad is None
    frozen = copy.deepcopy(nn.Parameter([1.0], requires_grad=False))
    assert not frozen.requires_grad
    assert not any(t.requires_grad for t in nn.Linear(2, 2).state_dict().values())


def test_a_gradient_of_an_outer_tensor_in_a_loop_body_is_refused():
    w = weights()

    @pto.jit
    def f(x):
        def body(carry, _):
            (w * carry).sum().backward()
            return carry, carry

        return pto.scan(body, x, pto.ones((2, 1)))

    with pytest.raises(pto.Error, match="inside a branch or a loop body"):
        f(pto.tensor(X))
