"""Streams of random numbers: seeds, compiled functions, generators."""

import numpy as np

import pypto as pto


def test_a_seed_gives_the_same_numbers_lazily_and_compiled():
    draw = pto.jit(lambda: pto.randn(5))
    pto.manual_seed(3)
    lazily = [pto.randn(5).numpy() for _ in range(3)]
    pto.manual_seed(3)
    compiled = [draw().numpy() for _ in range(3)]
    np.testing.assert_array_equal(lazily, compiled)
    assert len(draw.reasons) == 1
    assert not np.array_equal(lazily[0], lazily[1])


def test_generators_are_apart():
    a, b = pto.Generator(1), pto.Generator(1)
    first = pto.rand(4, generator=a).numpy()
    pto.rand(9, generator=a)
    np.testing.assert_array_equal(first, pto.rand(4, generator=b).numpy())


def test_distributions():
    pto.manual_seed(0)
    x = pto.normal((200, 500), mean=2.0, std=3.0).numpy()
    assert abs(x.mean() - 2) < 0.05 and abs(x.std() - 3) < 0.05
    u = pto.uniform((100000,), low=-1.0, high=1.0).numpy()
    assert u.min() >= -1 and u.max() < 1 and abs(u.mean()) < 0.02
    k = pto.randint(3, 7, (10000,)).numpy()
    assert set(np.unique(k)) == {3, 4, 5, 6}
    assert abs(pto.bernoulli(0.25, (100000,)).numpy().mean() - 0.25) < 0.01
    np.testing.assert_array_equal(np.sort(pto.permutation(50).numpy()), np.arange(50))
    kept = pto.dropout(pto.ones(10000), 0.25).numpy()
    assert set(np.unique(kept)) == {0, np.float32(1 / 0.75)}
