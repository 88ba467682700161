"""Optimisers against PyTorch's: ten steps in float64."""

import numpy as np
import pytest

import pypto as pto

torch = pytest.importorskip("torch", reason="torch is not installed; ./dev test --frameworks installs it")


@pytest.mark.parametrize(
    "name, options",
    [
        ("SGD", {"lr": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
        ("Adam", {"lr": 0.1, "weight_decay": 0.1}),
        ("AdamW", {"lr": 0.1, "betas": (0.8, 0.95)}),
        ("RMSprop", {"lr": 0.1}),
        ("RMSprop", {"lr": 0.1, "momentum": 0.9, "centered": True, "weight_decay": 0.1}),
        ("Adafactor", {"lr": 0.1, "weight_decay": 0.1}),
    ],
)
def test_ten_steps(name, options):
    random = np.random.default_rng(0)
    values = [random.standard_normal(s) for s in ((4, 3), (5,))]
    theirs = [torch.nn.Parameter(torch.from_numpy(v.copy())) for v in values]
    ours = [pto.Parameter(v) for v in values]
    a, b = getattr(torch.optim, name)(theirs, **options), getattr(pto.optim, name)(ours, **options)
    for step in range(10):
        gradients = [random.standard_normal(v.shape) for v in values]
        for p, g in zip(theirs, gradients):
            p.grad = torch.from_numpy(g)
        for optimizer in (a, b):
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + step)
        a.step()
        b.step([pto.asarray(g) for g in gradients])
    for p, q in zip(ours, theirs):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-12, atol=1e-12)
