"""Memory stays flat over many calls, and goes when the last that holds it goes."""

import gc
import os

import numpy as np
import pytest

import pypto as pto
from pypto import _core


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")


def growth(work, turns, warm):
    for i in range(warm):
        work(i)
    gc.collect()
    before = resident()
    for i in range(turns):
        work(i)
    gc.collect()
    return resident() - before


def test_calls_of_a_compiled_function():
    w = pto.asarray(np.ones((16, 16), np.float32))

    @pto.jit
    def f(x, k):
        return pto.softmax(x @ w) * k

    x = np.ones((4, 16), np.float32)
    assert growth(lambda i: f(x, float(i)).wait(), 10_000, 2000) < 2 << 20


def test_calls_with_many_sizes():
    @pto.jit
    def f(x):
        return x * 2 + x.sum()

    # One program; plans of sizes that are no longer called go.
    def work(i):
        return f(np.ones(1 + i % 700, np.float32)).wait()

    assert growth(work, 2100, 1400) < 4 << 20


def test_lazy_evaluations():
    w = pto.asarray(np.ones((16, 16), np.float32))

    def work(i):
        x = pto.asarray(np.full((4, 16), i, np.float32))
        assert (x @ w).numpy()[0, 0] == 16 * i

    assert growth(work, 2000, 500) < 2 << 20


def test_an_updated_tensor_does_not_grow():
    total = pto.zeros(8)

    def work(i):
        nonlocal total
        total += i
        if i % 10 == 9:
            total.wait()

    assert growth(work, 5000, 1000) < 2 << 20


def test_failed_calls():
    a, b = np.ones((3, 4), np.float32), np.ones((5, 6), np.float32)

    def work(i):
        with pytest.raises(pto.Error):
            pto.asarray(a) @ b

    assert growth(work, 2000, 500) < 4 << 20


BIG = 25_000_000  # elements: 100 MB


def in_use():
    """Bytes of tensors that are alive."""
    return _core.allocator_stats()["in_use"]


@pytest.fixture
def without_gc():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_gc")
def test_a_dropped_function_frees_what_it_captured():
    def capturing():
        captured = pto.asarray(np.ones(BIG, np.float32))
        return pto.jit(lambda x: (captured * x).sum())

    before = in_use()
    f = capturing()
    assert f(pto.asarray(2.0)).item() == 2 * BIG
    assert in_use() >= before + 4 * BIG
    del f
    assert in_use() < before + 1_000_000


@pytest.mark.usefixtures("without_gc")
def test_a_dropped_module_frees_its_parameters():
    class Scale(pto.Module):
        def __init__(self):
            super().__init__()
            self.weight = pto.Parameter(np.ones(BIG, np.float32))

        def forward(self, x):
            return (self.weight * x).sum()

    before = in_use()
    module = Scale()
    f = pto.jit(module)
    assert f(pto.asarray(3.0)).item() == 3 * BIG
    assert in_use() >= before + 4 * BIG
    del module, f
    assert in_use() < before + 1_000_000


@pytest.mark.usefixtures("without_gc")
def test_a_folded_constant_goes_with_its_function():
    """Values known when a function is traced become constants of its program."""
    before = in_use()
    f = pto.jit(lambda x: (pto.ones(BIG) * 2 + x).sum())
    assert f(pto.asarray(1.0)).item() == 3 * BIG
    del f
    assert in_use() < before + 1_000_000


@pytest.mark.usefixtures("without_gc")
def test_results_and_intermediate_values_go():
    before = in_use()
    x = pto.asarray(np.ones(BIG, np.float32))
    y = (x + 1) * 2
    assert y[0].item() == 4
    view = y.numpy()
    del x, y
    assert before + 4 * BIG <= in_use() < before + 5 * BIG  # the view keeps its tensor's memory
    assert view[-1] == 4
    del view
    assert in_use() < before + 1_000_000


def test_freed_memory_is_used_again():
    def work(i):
        assert (pto.asarray(np.full(BIG // 4, i, np.float32)) + 1)[0].item() == i + 1

    assert growth(work, 20, 3) < 4 * BIG


def test_values_that_are_cheap_are_computed_again_in_the_backward_pass():
    layers, rows, width = 8, 1024, 512
    rng = np.random.default_rng(0)
    weights = [pto.asarray(rng.normal(0, 0.05, (width, width)).astype(np.float32)) for _ in range(layers)]
    x = rng.normal(size=(rows, width)).astype(np.float32)

    def loss(x, *weights):
        for w in weights:
            x = x + pto.gelu(pto.layer_norm(x, (width,)) @ w)
        return (x * x).mean()

    def step(x, *weights):
        leaves = [w.detach().requires_grad_() for w in weights]
        loss(x, *leaves).backward()
        return [w.grad for w in leaves]

    plans, results = [], []
    for off in ([], ["recompute"]):
        compiled = pto.jit(step, passes_off=off)
        results.append([g.numpy() for g in compiled(x, *weights)])
        plans.append(compiled.executable.memory({})["arena"])
    for a, b in zip(*results):
        np.testing.assert_array_equal(a, b)
    assert plans[0] < 0.8 * plans[1]
