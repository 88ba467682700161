"""Parts of running sums, products and extremes, read where they are computed."""

from __future__ import annotations

import numpy as np
import pytest

import pypto as pto

_SCANS = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "cummax": np.maximum.accumulate,
    "logcumsumexp": np.logaddexp.accumulate,
}
_X = np.random.default_rng(3).uniform(0.5, 1.5, (3, 4)).astype(np.float32)
_PARTS = [
    (slice(None), -1),
    (-1,),
    (1, 2),
    (slice(None), slice(0, 2)),
    (slice(0, 2), slice(1, 3)),
    (slice(None, None, -1), slice(None, None, 2)),
]


@pytest.mark.parametrize("name", _SCANS)
@pytest.mark.parametrize("part", _PARTS, ids=str)
def test_parts_of_a_scan(name: str, part: tuple) -> None:
    def scanned(x: pto.Tensor, axis: int) -> pto.Tensor:
        result = getattr(pto, name)(x, axis)
        return result[0] if isinstance(result, tuple) else result

    for axis in (0, 1):
        want = _SCANS[name](_X, axis=axis)[part]
        np.testing.assert_allclose(scanned(pto.asarray(_X), axis)[part].numpy(), want, rtol=1e-5)
        compiled = pto.jit(lambda x, axis=axis: scanned(x, axis)[part] * 2)
        np.testing.assert_allclose(compiled(pto.asarray(_X)).numpy(), 2 * want, rtol=1e-5)


def test_an_item_of_a_scan() -> None:
    assert pto.cumsum(pto.asarray([1.0, 2.0, 3.0]))[-1].item() == 6.0
