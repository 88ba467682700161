"""The sentence encoder of the examples against transformers' BertModel with the same weights."""

import pathlib
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "examples" / "minilm"), str(ROOT / "benchmarks")]

import encoders  # noqa: E402

import model  # noqa: E402

for name in ("torch", "transformers"):
    pytest.importorskip(name, reason=f"{name} is not installed; ./dev test --frameworks installs it")
try:
    DIRECTORY = model.model_directory()
except FileNotFoundError as error:
    pytest.skip(str(error), allow_module_level=True)


@pytest.fixture(scope="module")
def ours():
    return encoders.pypto_encoder(DIRECTORY, 2)


@pytest.fixture(scope="module", params=["eager", "sdpa"])
def theirs(request):
    return encoders.torch_encoder(DIRECTORY, 2, request.param)


@pytest.mark.parametrize("batch, length", [(1, 1), (1, 200), (4, 37), (9, 64), (2, 512)])
@pytest.mark.parametrize("padded", [False, True])
def test_vectors_are_those_of_transformers(ours, theirs, batch, length, padded):
    given = encoders.tokens(batch, length, padded)
    got, want = (f(*given).astype(np.float64) for f in (ours, theirs))
    assert got.shape == want.shape == (batch, 384)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-4)
    cosine = (got * want).sum(-1) / np.linalg.norm(got, axis=-1) / np.linalg.norm(want, axis=-1)
    assert np.abs(1 - cosine).max() < 1e-5
