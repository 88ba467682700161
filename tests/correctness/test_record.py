"""Training steps that are recorded: one program each, whatever is read and when."""

import gc

import numpy as np
import pytest

import pypto as pto
from pypto import _core, nn, optim


class Steps:
    """A small model and its steps, counted."""

    def __init__(self, dropout=0.0):
        pto.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(dropout), nn.Linear(8, 2))
        self.optimizer = optim.AdamW(self.model.parameters(), lr=0.05)
        self.rng = np.random.default_rng(0)

    def loss(self):
        x = self.rng.normal(size=(16, 4)).astype(np.float32)
        return ((self.model(pto.tensor(x)) - pto.tensor(np.sin(x[:, :2]))) ** 2).mean()

    def step(self, loss):
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def counted(fn):
    before = pto.counters()
    result = fn()
    after = pto.counters()
    return result, {k: after[k] - before[k] for k in ("runs", "graphs_compiled", "launches")}


def plain_losses(n, dropout=0.0):
    s = Steps(dropout)
    losses = []
    for _ in range(n):
        losses.append(s.loss())
        s.step(losses[-1])
    return [float(v) for v in losses]


@pytest.mark.parametrize("where", ["inside", "after"])
def test_a_step_is_one_program(where):
    s = Steps(0.25)
    losses = []

    def step():
        with pto.record():
            loss = s.loss()
            if where == "inside":
                s.step(loss)
        if where == "after":
            s.step(loss)
        assert loss._ready  # computed with the step
        losses.append(loss)

    for n in range(5):
        _, counts = counted(step)
        assert counts["runs"] == 1
        assert counts["graphs_compiled"] == 0 or n < 2
    np.testing.assert_allclose([float(v) for v in losses], plain_losses(5, 0.25), rtol=1e-5)


def test_a_loss_that_is_read_first_is_computed_once():
    s = Steps(0.25)
    losses = []

    def step():
        with pto.record():
            loss = s.loss()
        losses.append(float(loss))
        s.step(loss)

    for n in range(5):
        _, counts = counted(step)
        assert counts["runs"] == 2
        assert counts["graphs_compiled"] == 0 or n < 2
    np.testing.assert_allclose(losses, plain_losses(5, 0.25), rtol=1e-5)


def test_what_the_backward_reads_of_the_forward_is_not_computed_again():
    calls = []

    def factor(x):
        calls.append(x.shape)
        return x.numpy() * 2

    double = pto.foreign(factor, pto.TensorSpec((3, 3), "float32"))
    w = pto.tensor(np.eye(3, dtype=np.float32)).requires_grad_()
    with pto.record():
        h = pto.tanh(w @ w)
        loss = (h * pto.stop_gradient(double(h))).sum()
        assert float(loss) == pytest.approx(6 * np.tanh(1) ** 2, rel=1e-6)
        _, counts = counted(lambda: (loss.backward(), w.grad.numpy()))
    assert counts["runs"] == 1 and len(calls) == 1
    slope = 2 * np.tanh(1) * (1 - np.tanh(1) ** 2)
    np.testing.assert_allclose(w.grad.numpy(), np.eye(3) * 2 * slope, rtol=1e-5, atol=1e-7)


def test_a_compiled_forward_becomes_part_of_the_step():
    s = Steps()
    compiled = pto.jit(lambda model, x, y: ((model(x) - y) ** 2).mean())
    losses = []

    def step():
        x = s.rng.normal(size=(16, 4)).astype(np.float32)
        with pto.record():
            loss = compiled(s.model, x, np.sin(x[:, :2]))
        s.step(loss)
        losses.append(loss)

    for n in range(5):
        _, counts = counted(step)
        assert counts["runs"] == 1
        assert counts["graphs_compiled"] == 0 or n < 3
    np.testing.assert_allclose([float(v) for v in losses], plain_losses(5), rtol=1e-5)
    assert len(compiled.reasons) == 1


def test_running_totals_are_computed_with_the_steps():
    s = Steps()
    total, expected = pto.tensor(0.0), 0.0
    seen = []
    gc.collect()
    for n in range(300):
        with pto.record():
            loss = s.loss()
        s.step(loss)
        total = total + loss.detach() if n % 2 else total + loss
        expected += float(loss)
        if n in (100, 299):
            seen.append(_core.allocator_stats()["in_use"])
    assert float(total) == pytest.approx(expected, rel=1e-5)
    assert seen[1] - seen[0] < 50_000


def test_a_failed_step_changes_nothing():
    s = Steps()
    before = {k: v.numpy().copy() for k, v in s.model.state_dict().items()}
    with pto.record():
        table = nn.Parameter(np.ones((3, 2), np.float32))
        loss = s.loss() + table[pto.tensor([5])].sum()
    loss.backward()
    with pytest.raises(pto.Error, match="index|bounds"):
        s.optimizer.step()
    for k, v in s.model.state_dict().items():
        np.testing.assert_array_equal(v.numpy(), before[k])
    assert s.optimizer.steps.item() == 0


def test_blocks_nest_and_an_error_leaves_them():
    s = Steps()
    with pytest.raises(ValueError, match="stop"), pto.record(), pto.record():
        s.loss()
        raise ValueError("stop")
    with pto.record():
        loss = s.loss()
        s.step(loss)
    assert np.isfinite(float(loss))
