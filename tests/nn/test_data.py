"""Loaders: order, batches, threads, errors, positions."""

import threading

import numpy as np
import pytest

import pypto as pto
from pypto.data import DataLoader


def values(batches):
    return [b.numpy().tolist() for b in batches]


@pytest.mark.parametrize("prefetch", [0, 1, 3])
def test_batches(prefetch):
    assert values(DataLoader(range(5), 2, prefetch=prefetch)) == [[0, 1], [2, 3], [4]]
    assert values(DataLoader(range(5), 2, drop_last=True, prefetch=prefetch)) == [[0, 1], [2, 3]]
    assert values(DataLoader((i for i in range(3)), 2, prefetch=prefetch)) == [[0, 1], [2]]
    assert len(DataLoader(range(5), 2)) == 3 and len(DataLoader(range(5), 2, drop_last=True)) == 2
    assert values(DataLoader([], 2, prefetch=prefetch)) == []


def test_collate():
    items = [{"x": np.full(2, i, np.float32), "y": (i, pto.asarray([i]), "t")} for i in range(3)]
    batch = next(iter(DataLoader(items, 3)))
    assert batch["x"].shape == (3, 2) and str(batch["x"].dtype) == "float32"
    assert batch["y"][0].tolist() == [0, 1, 2] and batch["y"][1].tolist() == [[0], [1], [2]] and batch["y"][2] == ["t"] * 3


def test_order_depends_on_seed_and_epoch_alone():
    loader = DataLoader(range(20), 20, shuffle=True, seed=3)
    first, second = values(loader), values(loader)
    assert first != second and sorted(first[0]) == list(range(20))
    again = DataLoader(range(20), 20, shuffle=True, seed=3)
    assert [values(again), values(again)] == [first, second]
    assert values(DataLoader(range(20), 20, shuffle=True, seed=4)) != first


@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_position_is_gone_on_from(prefetch):
    loader = DataLoader(range(11), 2, shuffle=True, seed=1, prefetch=prefetch)
    values(loader)
    walk = iter(loader)
    for _ in range(2):
        next(walk)
    state = loader.state_dict()
    rest = values(walk) + values(loader)
    other = DataLoader(range(11), 2, shuffle=True, prefetch=prefetch)
    other.load_state_dict(state)
    assert values(other) + values(other) == rest
    with pytest.raises(pto.Error, match="the state does not fit the loader"):
        other.load_state_dict({**state, "batch_size": 3})


def test_errors_of_the_data_set_come_to_the_caller_and_threads_end():
    class Broken:
        def __len__(self):
            return 4

        def __getitem__(self, i):
            if i == 2:
                raise ValueError("item 2 is damaged")
            return i

    walk = iter(DataLoader(Broken(), 2))
    assert next(walk).tolist() == [0, 1]
    with pytest.raises(ValueError, match="item 2 is damaged"):
        next(walk)
    walk = iter(DataLoader(range(1000), 1))
    next(walk)
    assert any(t.name == "pypto-data" for t in threading.enumerate())
    del walk
    assert not any(t.name == "pypto-data" for t in threading.enumerate())


def test_what_is_no_data_set():
    with pytest.raises(pto.Error, match="this is no data set"):
        DataLoader(3)
    with pytest.raises(pto.Error, match="only a sequence can be shuffled"):
        DataLoader(iter([1]), shuffle=True)
