"""Modules: state, ties, errors, attention with a cache, initialisers."""

import math

import numpy as np
import pytest

import pypto as pto
from pypto import nn


def test_a_state_that_does_not_fit_changes_nothing():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm(4))
    before = {k: v.numpy() for k, v in model.state_dict().items()}
    assert list(before) == ["0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked"]
    state = {**before, "0.weight": np.ones((4, 3), np.float32), "0.bias": np.zeros(5, np.float32), "extra": np.zeros(1)}
    del state["1.running_mean"]
    with pytest.raises(pto.Error) as e:
        model.load_state_dict(state)
    for part in ("missing: 1.running_mean", "unexpected: extra", "misshapen: 0.bias: (4,) here, (5,) given"):
        assert part in str(e.value)
    for key, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[key])
    del state["0.bias"]
    model.load_state_dict(state, strict=False)
    assert (model[0].weight.numpy() == 1).all()


def test_a_shared_parameter_is_one():
    class Tied(pto.Module):
        def __init__(self):
            self.embedding, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
            self.head.weight = self.embedding.weight

    model = Tied()
    assert [n for n, _ in model.named_parameters()] == ["embedding.weight"] == list(model.state_dict())
    value = np.arange(28, dtype=np.float32).reshape(7, 4)
    for state in ({"embedding.weight": value}, {"head.weight": value}, {"embedding.weight": value, "head.weight": value}):
        nn.init.zeros_(model.head.weight)
        model.load_state_dict(state)
        np.testing.assert_array_equal(model.embedding.weight.numpy(), value)
    assert model.summary().splitlines()[-1].split() == ["total", "28", "112"]


def test_types_of_what_is_held():
    model = nn.BatchNorm(3).to("float64")
    assert {k: str(v.dtype) for k, v in model.state_dict().items()} == {
        "weight": "float64", "bias": "float64", "running_mean": "float64", "running_var": "float64", "num_batches_tracked": "int64",
    }  # fmt: skip
    with pytest.raises(pto.Error, match="modules hold floating types"):
        model.to("int32")


def test_apply_visits_the_inner_ones_first():
    seen = []
    nn.Sequential(nn.Linear(2, 2), nn.ReLU()).apply(lambda m: seen.append(type(m).__name__))
    assert seen[-1] == "Sequential" and set(seen) == {"Linear", "ReLU", "Sequential"}


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_a_cache_gives_what_the_whole_sequence_gives(kv_heads):
    pto.manual_seed(1)
    attention = nn.MultiHeadAttention(16, 4, kv_heads, causal=True, rope=True)
    x = pto.randn(2, 6, 16)
    whole = attention(x).numpy()
    cache = attention.new_cache(2, 8)
    parts = [attention(x[:, :3], cache=cache), *[attention(x[:, i : i + 1], cache=cache) for i in range(3, 6)]]
    np.testing.assert_allclose(pto.concat(parts, 1).numpy(), whole, atol=2e-6)
    assert cache.length.item() == 6


@pytest.mark.parametrize("norm, mlp", [("layer", "gelu"), ("rms", "swiglu")])
def test_a_causal_block_does_not_see_what_comes_later(norm, mlp):
    pto.manual_seed(2)
    block = nn.TransformerBlock(8, 2, causal=True, rope=True, norm=norm, mlp=mlp).eval()
    x = pto.randn(1, 5, 8)
    y = block(x).numpy()
    x[0, 4] = 100.0
    np.testing.assert_allclose(block(x).numpy()[:, :4], y[:, :4], atol=1e-6)


def test_running_statistics_are_state_of_a_compiled_function():
    norm = nn.BatchNorm(2)
    step = pto.jit(lambda x: norm(x))
    x = np.array([[1.0, 2.0], [3.0, 6.0]], np.float32)
    for _ in range(3):
        step(x).numpy()
    assert norm.num_batches_tracked.item() == 3
    np.testing.assert_allclose(norm.running_mean.numpy(), np.array([2, 4]) * (1 - 0.9**3), rtol=1e-6)


def test_dropout_rests_in_evaluation():
    layer = nn.Dropout(0.5)
    x = pto.ones((1000,))
    kept = layer(x).numpy()
    assert set(np.unique(kept)) == {0.0, 2.0} and 400 < (kept > 0).sum() < 600
    assert layer.eval()(x) is x


def test_initialisers():
    pto.manual_seed(3)
    x = pto.zeros((200, 300))
    bound = math.sqrt(6 / 500)
    drawn = nn.init.xavier_uniform_(x).numpy()
    assert x.numpy() is not None and abs(drawn).max() <= bound and abs(drawn.std() / (bound / math.sqrt(3)) - 1) < 0.02
    assert abs(nn.init.kaiming_normal_(x, nonlinearity="relu").numpy().std() / math.sqrt(2 / 300) - 1) < 0.02
    cut = nn.init.trunc_normal_(pto.zeros((50, 60)), std=2.0, a=-2.0, b=2.0).numpy()
    # The standard deviation of a normal distribution cut off at one standard deviation: 0.5396.
    assert abs(cut).max() <= 2 and abs(cut.std() / (2 * 0.5396) - 1) < 0.05
    q = nn.init.orthogonal_(pto.zeros((3, 2, 2)), gain=2.0).numpy().reshape(3, 4)
    np.testing.assert_allclose(q @ q.T, 4 * np.eye(3), atol=1e-6)
    with pytest.raises(pto.Error, match="fewer than two axes"):
        nn.init.xavier_uniform_(pto.zeros((3,)))


def test_a_compiled_function_follows_the_mode_and_the_options_of_layers():
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    compiled = pto.jit(lambda x: model(x))
    x = pto.ones((50, 4))
    for mode, p in ((True, 0.5), (False, 0.5), (True, 0.5), (True, 0.0), (True, 0.9)):
        model.train(mode)
        model[1].p = p
        share = (compiled(x).numpy() == 0).mean()
        assert abs(share - p * mode) < 0.15


def test_a_list_of_modules_grows():
    model = nn.ModuleList([nn.Linear(2, 3)])
    model.append(nn.Linear(3, 1, bias=False))
    assert [n for n, _ in model.named_parameters()] == ["0.weight", "0.bias", "1.weight"]
    assert len(model[:1]) == 1 and model[-1] is list(model)[1]
    with pytest.raises(pto.Error, match="this is not a module"):
        model.append(3)
