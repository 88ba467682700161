"""The sentence encoder of the examples against NumPy in float64, and its tokenizer against known tokens."""

import json
import math
import pathlib
import sys

import numpy as np
import pytest

import pypto as pto

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "minilm"
sys.path.insert(0, str(EXAMPLE))

import model  # noqa: E402
import tokenizer  # noqa: E402

try:
    DIRECTORY = model.model_directory()
except FileNotFoundError as error:
    pytest.skip(str(error), allow_module_level=True)


@pytest.fixture(scope="module")
def arrays():
    from safetensors.numpy import load_file

    return load_file(DIRECTORY / "model.safetensors")


@pytest.fixture(scope="module")
def tok():
    return tokenizer.Tokenizer(DIRECTORY / "vocab.txt")


@pytest.fixture(scope="module")
def encoder():
    return model.load(DIRECTORY)


_erf = np.vectorize(math.erf)


def reference(arrays, tokens, mask):
    """BERT's encoder, mean pooling, length 1; written out in float64."""
    config = json.loads((DIRECTORY / "config.json").read_text())
    w = {name: a.astype(np.float64) for name, a in arrays.items() if a.dtype == np.float32}
    heads, eps = config["num_attention_heads"], config["layer_norm_eps"]

    def dense(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * w[name + ".weight"] + w[name + ".bias"]

    e = "embeddings."
    x = w[e + "word_embeddings.weight"][tokens] + w[e + "position_embeddings.weight"][: tokens.shape[1]]
    x = norm(x + w[e + "token_type_embeddings.weight"][0], e + "LayerNorm")
    batch, length, width = x.shape
    for i in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{i}."
        q, k, v = (
            dense(x, f"{at}attention.self.{n}").reshape(batch, length, heads, -1).swapaxes(1, 2) for n in ("query", "key", "value")
        )
        scores = np.where(mask[:, None, None, :], q @ k.swapaxes(-1, -2) / np.sqrt(width / heads), -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = ((p / p.sum(-1, keepdims=True)) @ v).swapaxes(1, 2).reshape(x.shape)
        x = norm(x + dense(mixed, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        h = dense(x, at + "intermediate.dense")
        x = norm(x + dense(h * (1 + _erf(h / np.sqrt(2))) / 2, at + "output.dense"), at + "output.LayerNorm")
    mean = (x * mask[..., None]).sum(1) / mask.sum(1)[:, None]
    return mean / np.sqrt((mean**2).sum(-1, keepdims=True))


def random_input(rng, batch, length):
    lengths = rng.integers(1, length + 1, batch)
    lengths[0] = length
    mask = np.arange(length) < lengths[:, None]
    return np.where(mask, rng.integers(999, 30522, (batch, length)), 0), mask


@pytest.mark.parametrize("batch, length", [(1, 1), (1, 2), (3, 17), (5, 64), (2, 256)])
def test_vectors_are_the_models(encoder, arrays, batch, length):
    tokens, mask = random_input(np.random.default_rng(length), batch, length)
    got = encoder(tokens, mask).numpy()
    want = reference(arrays, tokens, mask)
    assert got.shape == (batch, 384) and got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-4)
    cosine = (got * want).sum(-1) / np.linalg.norm(got, axis=-1) / np.linalg.norm(want, axis=-1)
    assert np.abs(1 - cosine).max() < 1e-5


def test_padding_changes_nothing(encoder, tok):
    texts = ["A short one.", "A much longer sentence, which says a good deal more than the other one did, and goes on."]
    together = encoder(*tok.batch(texts)).numpy()
    for text, row in zip(texts, together):
        np.testing.assert_allclose(encoder(*tok.batch([text])).numpy()[0], row, rtol=0, atol=2e-6)


def test_near_meanings_are_near(encoder, tok):
    y = encoder(*tok.batch(["A man is eating food.", "A man is eating a piece of bread.", "The girl is carrying a baby."])).numpy()
    assert y[0] @ y[1] == pytest.approx(0.7553, abs=1e-3)
    assert y[0] @ y[2] < 0.1


def test_any_batch_and_length_is_one_trace():
    """No new trace after the second call, few size classes and kernels, and no larger results than asked for."""
    encoder = model.load(DIRECTORY)
    rng = np.random.default_rng(7)
    pairs = [(int(rng.integers(1, 17)), int(rng.integers(2, 65))) for _ in range(20)]
    start = pto.counters()
    for i, (batch, length) in enumerate(pairs):
        assert encoder(*random_input(rng, batch, length)).shape == (batch, 384)
        if i == 1:
            second = pto.counters()
    end = pto.counters()
    assert second["traces"] - start["traces"] <= 2
    assert end["traces"] == second["traces"] and end["graphs_compiled"] == second["graphs_compiled"]
    assert end["size_classes"] - start["size_classes"] <= 4
    kernels = len(encoder.executable.summary()["kernels"])
    met = [end[n] - start[n] for n in ("kernels_compiled", "disk_hits")]
    assert sum(met) <= 2 * kernels


def test_nothing_is_padded(encoder):
    """Memory is what the batch and the length need, to the byte, and so are the sizes of all buffers."""
    encoder(*random_input(np.random.default_rng(3), 3, 17)).numpy()
    executable = encoder.executable
    shapes = [text[text.index("[") + 1 : -1].split(", ") for _, _, text in executable.summary()["buffers"]]
    assert {n for shape in shapes for n in shape if not n.isdigit()} == {"B", "S"}

    def memory(batch, length):
        return executable.memory({"B": batch, "S": length})

    for batch, length in [(1, 1), (3, 17), (7, 63), (31, 200)]:
        now, wider, longer = memory(batch, length), memory(batch + 1, length), memory(batch, length + 1)
        assert now["outputs"] == batch * 384 * 4 and longer["outputs"] == now["outputs"]
        assert wider["inputs"] - now["inputs"] == length * (8 + 1)  # tokens and mask
        assert longer["inputs"] - now["inputs"] == batch * (8 + 1)
        assert now["arena"] < min(wider["arena"], longer["arena"])


def test_shapes_that_do_not_fit(encoder):
    with pytest.raises(pto.Error, match="S is 4 in tokens and 5 in mask"):
        encoder(np.ones((2, 4), np.int64), np.ones((2, 5), bool))
    with pytest.raises(pto.Error, match="out of range"):
        encoder(np.full((1, 4), 30522), np.ones((1, 4), bool)).numpy()


@pytest.mark.parametrize(
    "text, want",
    [
        ("A man is eating food.", "[CLS] a man is eating food . [SEP]"),
        ("", "[CLS] [SEP]"),
        (" \t\r\n\u00a0\u3000 ", "[CLS] [SEP]"),
        ("Caf\u00e9 NA\u00cfVE", "[CLS] cafe naive [SEP]"),
        ("unaffable embeddings", "[CLS] una ##ffa ##ble em ##bed ##ding ##s [SEP]"),
        ("it's 3.14$", "[CLS] it ' s 3 . 14 $ [SEP]"),
        ("zero\u200bwidth\u0007 bell", "[CLS] zero ##wi ##dt ##h bell [SEP]"),
        ("\u6771\u4eacx", "[CLS] \u6771 \u4eac x [SEP]"),
        ("x" * 101, "[CLS] [UNK] [SEP]"),
        ("\U0001f600", "[CLS] [UNK] [SEP]"),
    ],
)
def test_tokens(tok, text, want):
    assert " ".join(tok.pieces[i] for i in tok.encode(text)) == want


def test_long_texts_are_cut(tok):
    ids = tok.encode("word " * 1000)
    assert len(ids) == 256 and ids[0] == tok.start and ids[-1] == tok.end


def test_batches_are_padded_to_the_longest(tok):
    tokens, mask = tok.batch(["one", "one two three"])
    assert tokens.shape == mask.shape == (2, 5)
    assert mask.sum(1).tolist() == [3, 5] and (tokens[~mask] == tok.pad).all()


def test_a_missing_model_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no config.json, vocab.txt, model.safetensors"):
        model.model_directory(str(tmp_path))
