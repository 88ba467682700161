"""Graphs of 100 000 nodes: built, dropped, evaluated, compiled, without limits on recursion."""

import gc
import sys

import numpy as np
import pytest

import pypto as pto

N = 100_000


def chain(x, n=N):
    for _ in range(n):
        x = x + 1
    return x


@pytest.fixture(autouse=True)
def low_recursion_limit():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(250)
    yield
    sys.setrecursionlimit(limit)


def test_dropped_unevaluated():
    y = chain(pto.zeros(3))
    del y
    gc.collect()


def test_dropped_in_pieces():
    """Values that hold parts of the same chain, dropped in either order."""
    for reverse in (False, True):
        parts = [pto.zeros(3)]
        for _ in range(10):
            parts.append(chain(parts[-1], N // 10))
        if reverse:
            parts.reverse()
        while parts:
            parts.pop()


def test_evaluated_lazily():
    compiled = []
    for _ in range(2):
        y = chain(pto.zeros(3))
        assert y.numpy().tolist() == [N] * 3
        compiled.append(pto.counters()["graphs_compiled"])
    assert compiled[0] == compiled[1]


def test_inside_jit():
    f = pto.jit(chain)
    assert f(np.zeros(3, np.float32)).numpy().tolist() == [N] * 3
    del f
    gc.collect()


def test_wide():
    """A node with many operands, and many nodes with one."""
    x = pto.ones(2)
    parts = [x * i for i in range(5000)]
    total = pto.concatenate(parts).reshape(5000, 2).sum(axis=0)
    assert total.numpy().tolist() == [sum(range(5000))] * 2


@pytest.mark.parametrize("way", ["lazy", "jit"])
def test_stack_of_6000_arrays(way):
    images = [np.full((28, 28), i, np.float32) for i in range(6000)]
    if way == "lazy":
        stacked = pto.stack([pto.asarray(a) for a in images])
    else:
        stacked = pto.jit(lambda xs: pto.stack(xs))(images)
    assert stacked.shape == (6000, 28, 28)
    np.testing.assert_array_equal(stacked.numpy(), np.stack(images))
