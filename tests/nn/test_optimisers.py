"""Optimisers: one program a step, errors that change nothing, state."""

import numpy as np
import pytest

import pypto as pto
from pypto import optim

ALL = [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.Lion, optim.Adafactor, optim.Muon]


def made(kind, n=3, **options):
    params = [pto.Parameter(np.full((2, 3), i + 1.0, np.float32)) for i in range(n)]
    return params, kind(params, lr=0.1, **options)


@pytest.mark.parametrize("kind", ALL)
def test_no_step_after_the_second_compiles_and_each_is_one_run(kind):
    params, optimizer = made(kind)
    for step in range(6):
        optimizer.param_groups[0]["lr"] = 0.1 / (step + 1)
        gradients = [pto.asarray(np.full((2, 3), step + 1.0, np.float32)) for _ in params]
        before = pto.counters()
        optimizer.step(gradients)
        after = pto.counters()
        if step >= 2:
            assert {k: after[k] - before[k] for k in ("graphs_compiled", "kernels_compiled", "runs")} == {
                "graphs_compiled": 0, "kernels_compiled": 0, "runs": 1,
            }  # fmt: skip


@pytest.mark.parametrize("kind", ALL)
def test_a_compiled_step_gives_the_same(kind):
    params, optimizer = made(kind)
    others, other = made(kind)
    compiled = pto.jit(lambda *g: other.step(list(g)))
    for step in range(4):
        for o in (optimizer, other):
            o.param_groups[0]["lr"] = 0.1 / (step + 1)
        gradients = [pto.asarray(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3) * (step + 1)) for _ in params]
        optimizer.step(gradients)
        compiled(*gradients)
    assert len(compiled.reasons) == 1 and other.steps.item() == 4
    for a, b in zip(params, others):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_a_gradient_that_is_not_finite_changes_nothing():
    params, optimizer = made(optim.Adam)
    gradients = [pto.ones((2, 3)), pto.full((2, 3), float("nan")), None]
    with pytest.raises(pto.Error, match="a gradient is not finite; nothing was changed"):
        optimizer.step(gradients, error_if_nonfinite=True)
    assert [p.numpy()[0, 0] for p in params] == [1, 2, 3] and optimizer.steps.item() == 0
    assert (optimizer.state[0]["exp_avg"].numpy() == 0).all()
    optimizer.step([pto.ones((2, 3)), None, None], error_if_nonfinite=True)
    assert params[0].numpy()[0, 0] < 1 and params[1].numpy()[0, 0] == 2


def test_a_state_resumes_bit_for_bit_or_changes_nothing():
    params, optimizer = made(optim.AdamW)
    others, other = made(optim.AdamW)
    gradients = [pto.asarray(np.arange(6, dtype=np.float32).reshape(2, 3)) for _ in params]
    optimizer.step(gradients)
    optimizer.param_groups[0]["lr"] = 0.05
    for a, b in zip(params, others):
        b._rebind(a)
    other.load_state_dict(optimizer.state_dict())
    assert other.param_groups[0]["lr"] == 0.05
    for o in (optimizer, other):
        o.step(gradients)
    for a, b in zip(params, others):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    _, shorter = made(optim.AdamW, 2)
    with pytest.raises(pto.Error, match="3 parameters|params of group 0 is 3 here, 2 given"):
        other.load_state_dict(shorter.state_dict())
    with pytest.raises(pto.Error, match="a state of Lion, not of AdamW"):
        other.load_state_dict(made(optim.Lion)[1].state_dict())
    assert other.steps.item() == 2


def test_bad_options():
    p = pto.Parameter(np.ones(3, np.float32))
    with pytest.raises(pto.Error, match="a parameter is given twice"):
        optim.SGD([p, p])
    with pytest.raises(pto.Error, match="lr is negative"):
        optim.SGD([p], lr=-1.0)
    with pytest.raises(pto.Error, match="there are no parameters"):
        optim.SGD([])
    with pytest.raises(pto.Error, match="there is no such option"):
        optim.SGD([{"params": [p], "momentun": 0.9}])
    with pytest.raises(pto.Error, match="Muon updates matrices"):
        optim.Muon([p])
    with pytest.raises(pto.Error, match="only lr changes"):
        optim.SGD([p]).param_groups[0]["momentum"] = 0.9
    with pytest.raises(pto.Error, match="only tensors of floating types are learnt"):
        optim.SGD([pto.arange(3)])
