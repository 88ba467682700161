"""Layers against PyTorch's of the same name, from its state dicts."""

import numpy as np
import pytest

import pypto as pto
from pypto import nn

torch = pytest.importorskip("torch", reason="torch is not installed; ./dev test --frameworks installs it")

RANDOM = np.random.default_rng(0)


def rand(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def close(ours, theirs, tolerance=2e-6):
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), atol=tolerance, rtol=1e-5)


LAYERS = [
    ("Linear", (5, 7), {}, (3, 5)),
    ("Linear", (5, 7), {"bias": False}, (2, 3, 5)),
    ("LayerNorm", (6,), {}, (4, 6)),
    ("GroupNorm", (3, 6), {}, (2, 6, 4, 4)),
    ("BatchNorm1d", (6,), {}, (8, 6)),
    ("BatchNorm1d", (6,), {"momentum": None}, (8, 6, 3)),
    ("BatchNorm2d", (3,), {}, (4, 3, 5, 5)),
    ("BatchNorm2d", (3,), {"track_running_stats": False}, (4, 3, 5, 5)),
    ("Conv1d", (4, 6, 3), {"padding": 1, "groups": 2}, (2, 4, 9)),
    ("Conv2d", (3, 4, 3), {"stride": 2, "padding": 1}, (2, 3, 8, 8)),
    ("Conv2d", (3, 4, (3, 1)), {"dilation": 2, "bias": False}, (2, 3, 8, 8)),
]


@pytest.mark.parametrize("name, args, options, shape", LAYERS)
def test_layer(name, args, options, shape):
    theirs, ours = getattr(torch.nn, name)(*args, **options), getattr(nn, name)(*args, **options)
    ours.load_state_dict(theirs.state_dict())
    for training in (True, True, False):
        theirs.train(training)
        ours.train(training)
        x = rand(*shape)
        close(ours(pto.asarray(x)), theirs(torch.from_numpy(x)))
    state = ours.state_dict()
    assert list(state) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        close(state[key], value)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True, "bias": False}])
def test_recurrent(name, options):
    theirs, ours = getattr(torch.nn, name)(4, 5, **options), getattr(nn, name)(4, 5, **options)
    ours.load_state_dict(theirs.state_dict())
    x = rand(6, 3, 4)
    (y, state), (want, last) = ours(pto.asarray(x)), theirs(torch.from_numpy(x))
    close(y, want)
    for a, b in zip(state if name == "LSTM" else [state], last if name == "LSTM" else [last]):
        close(a, b)


F = torch.nn.functional


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(reduction, smoothing, weighted):
    x, target = rand(6, 4, 3), RANDOM.integers(0, 4, (6, 3))
    target[0, 0] = -100
    weight = np.array([0.5, 1, 2, 3], np.float32) if weighted else None
    want = torch.nn.CrossEntropyLoss(
        torch.from_numpy(weight) if weighted else None, reduction=reduction, label_smoothing=smoothing
    )(torch.from_numpy(x), torch.from_numpy(target))
    close(nn.CrossEntropyLoss(weight, reduction=reduction, label_smoothing=smoothing)(pto.asarray(x), pto.asarray(target)), want)
    probabilities = F.softmax(torch.from_numpy(rand(6, 4, 3)), 1)
    want = torch.nn.CrossEntropyLoss(
        torch.from_numpy(weight) if weighted else None, reduction=reduction, label_smoothing=smoothing
    )(torch.from_numpy(x), probabilities)
    loss = nn.CrossEntropyLoss(weight, reduction=reduction, label_smoothing=smoothing)
    close(loss(pto.asarray(x), pto.asarray(probabilities.numpy())), want)


@pytest.mark.parametrize(
    "name, options",
    [
        ("MSELoss", {}),
        ("L1Loss", {"reduction": "sum"}),
        ("BCELoss", {}),
        ("BCEWithLogitsLoss", {"reduction": "none"}),
        ("SmoothL1Loss", {"beta": 0.3}),
        ("SmoothL1Loss", {"beta": 0.0}),
        ("HuberLoss", {"delta": 0.7}),
        ("KLDivLoss", {"reduction": "batchmean"}),
        ("KLDivLoss", {"log_target": True}),
    ],
)
def test_loss(name, options):
    x, target = RANDOM.random((5, 4)).astype(np.float32), RANDOM.random((5, 4)).astype(np.float32)
    target[0, 0] = 0.0
    want = getattr(torch.nn, name)(**options)(torch.from_numpy(x), torch.from_numpy(target))
    close(getattr(nn, name)(**options)(pto.asarray(x), pto.asarray(target)), want)
