"""Checkpoints: a run that is resumed goes on bit for bit."""

import numpy as np
import pytest

import pypto as pto
from pypto import nn, optim
from pypto.data import DataLoader


def test_a_resumed_run_is_the_run(tmp_path):
    def parts():
        model = nn.Linear(3, 3)
        optimizer = optim.AdamW(model.parameters(), lr=0.1)
        schedule = optim.schedules.StepLR(optimizer, 2, 0.5)
        return {"m": model, "o": optimizer, "s": schedule, "d": DataLoader(range(20), 2, True), "r": pto.random.default_generator}

    def train(p, steps):
        for _, batch in zip(range(steps), p["d"]):
            p["o"].step([pto.randn(*w.shape) + pto.sum(batch) for w in p["m"].parameters()])
            p["s"].step()

    pto.manual_seed(5)
    a = parts()
    train(a, 3)
    file = tmp_path / "run.safetensors"
    pto.save_checkpoint(file, {k: v.state_dict() for k, v in a.items()})
    rest = DataLoader(range(20), 2, True)
    rest.load_state_dict(a["d"].state_dict())
    a["d"] = rest
    train(a, 3)
    want = a["m"].weight.numpy()
    pto.manual_seed(9)
    b = parts()
    for key, state in pto.load_checkpoint(file).items():
        b[key].load_state_dict(state)
    train(b, 3)
    np.testing.assert_array_equal(b["m"].weight.numpy(), want)
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(pto.Error, match="not a sound safetensors file"):
        pto.load_checkpoint(file)
