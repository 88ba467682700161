"""Learning rates over the steps."""

import math

import numpy as np
import pytest

import pypto as pto
from pypto import optim
from pypto.optim import schedules


def rates(make, n):
    optimizer = optim.SGD([pto.Parameter(np.ones(2, np.float32))], lr=2.0)
    schedule = make(optimizer)
    found = []
    for _ in range(n):
        found.append(schedule.get_last_lr()[0])
        schedule.step()
    return found


def test_values():
    assert rates(lambda o: schedules.ConstantLR(o, 0.5, 2), 3) == [1.0, 1.0, 2.0]
    assert rates(lambda o: schedules.StepLR(o, 2, 0.5), 5) == [2.0, 2.0, 1.0, 1.0, 0.5]
    assert rates(lambda o: schedules.LinearLR(o, 0.5, 1.0, 2), 4) == [1.0, 1.5, 2.0, 2.0]
    np.testing.assert_allclose(
        rates(lambda o: schedules.CosineLR(o, 6, 2), 8), [0, 1, 2, 1 + math.sqrt(0.5), 1, 1 - math.sqrt(0.5), 0, 0], atol=1e-15
    )
    np.testing.assert_allclose(rates(lambda o: schedules.InverseSqrtLR(o, 2), 4), [1, 2, 2 * math.sqrt(2 / 3), math.sqrt(2)])
    one = rates(lambda o: schedules.OneCycleLR(o, 10, 0.3), 10)
    np.testing.assert_allclose([one[0], one[2], one[9]], [2 / 25, 2, 2 / 25e4])
    assert max(one) == one[2]


def test_state():
    optimizer = optim.SGD([pto.Parameter(np.ones(2, np.float32))], lr=2.0)
    schedule = schedules.StepLR(optimizer, 1, 0.5)
    schedule.step()
    state = schedule.state_dict()
    schedule.step()
    schedule.load_state_dict(state)
    assert optimizer.param_groups[0]["lr"] == 1.0
    with pytest.raises(pto.Error, match="the state does not fit the schedule"):
        schedule.load_state_dict({**state, "base_lrs": [1.0, 2.0]})
    assert schedule.steps == 1 and optimizer.param_groups[0]["lr"] == 1.0
