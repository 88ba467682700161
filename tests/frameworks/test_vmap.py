"""Batched functions beside torch.vmap and jax.vmap, with the same axes."""

import numpy as np
import pytest

import pypto as pto

CASES = [
    # (function of an array library, in_axes, out_axes, shapes)
    (lambda m, x, y: x * y + m.exp(y), (0, None), 0, [(3, 4), (4,)]),
    (lambda m, x, y: x @ y, (0, 1), 1, [(3, 2, 4), (4, 3)]),
    (lambda m, x, y: m.where(x > 0, x, y), (1, 0), 0, [(4, 3), (3, 4)]),
    (lambda m, x, y: (x[:, None] * y[None]).sum(), (0, 0), 0, [(3, 2), (3, 5)]),
]


@pytest.mark.parametrize("case", CASES, ids=["broadcast", "matmul", "where", "outer"])
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_axes(library, case):
    f, in_axes, out_axes, shapes = case
    other = pytest.importorskip(library, reason=f"{library} is not installed; ./dev test --frameworks installs it")
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype(np.float32) for s in shapes]
    if library == "torch":
        batched = other.vmap(lambda *a: f(other, *a), in_axes, out_axes)
        want = batched(*map(other.from_numpy, arrays)).numpy()
    else:
        want = np.asarray(other.vmap(lambda *a: f(other.numpy, *a), in_axes, out_axes)(*arrays))
    got = pto.vmap(lambda *a: f(pto, *a), in_axes, out_axes)(*map(pto.asarray, arrays)).numpy()
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)
