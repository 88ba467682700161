"""The sentence encoder of the demo in PyPTO and in PyTorch, each in a process of its own that waits for its turn."""

import json
import multiprocessing
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

EXAMPLE = pathlib.Path(__file__).parents[1] / "examples" / "minilm"
sys.path.insert(0, str(EXAMPLE))

Encode = Callable[[np.ndarray, np.ndarray], np.ndarray]


def tokens(batch: int, length: int, padded: bool) -> tuple[np.ndarray, np.ndarray]:
    """Random tokens and a mask; if padded, sentences of any length."""
    rng = np.random.default_rng(batch * 1000 + length)
    lengths = rng.integers(1, length + 1, batch) if padded else np.full(batch, length)
    lengths[0] = length
    mask = np.arange(length) < lengths[:, None]
    return np.where(mask, rng.integers(999, 30522, (batch, length)), 0), mask


def pypto_encoder(directory: pathlib.Path, threads: int) -> Encode:
    import model
    import pypto as pto

    pto.set_num_threads(threads)
    encoder = model.load(directory)
    return lambda ids, mask: encoder(ids, mask).numpy()


def torch_encoder(directory: pathlib.Path, threads: int, attention: str) -> Encode:
    """transformers' BertModel in eager mode, with the mean of the tokens and its length made 1."""
    import torch
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    known = json.loads((directory / "config.json").read_text())
    sizes = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    rest = ("hidden_act", "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "pad_token_id")
    config = BertConfig(**{name: known[name] for name in sizes + rest}, attn_implementation=attention)
    bert = BertModel(config, add_pooling_layer=False).eval()
    wrong = bert.load_state_dict(load_file(directory / "model.safetensors"), strict=False)
    unused = [n for n in wrong.unexpected_keys if not n.startswith("pooler.") and n != "embeddings.position_ids"]
    if wrong.missing_keys or unused:
        raise RuntimeError(f"the weights do not fit: missing {wrong.missing_keys}, unused {unused}")

    def encode(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        present = torch.from_numpy(mask)
        x = bert(input_ids=torch.from_numpy(ids), attention_mask=present).last_hidden_state
        weight = present[..., None].to(x.dtype)
        mean = (x * weight).sum(1) / weight.sum(1)
        return torch.nn.functional.normalize(mean, dim=-1).numpy()

    return encode


MAKERS: dict[str, Callable[[pathlib.Path, int], Encode]] = {
    "PyPTO": pypto_encoder,
    "PyTorch": lambda directory, threads: torch_encoder(directory, threads, "sdpa"),
    "PyTorch, attention in steps": lambda directory, threads: torch_encoder(directory, threads, "eager"),
}


def _serve(name: str, directory: pathlib.Path, threads: int, pipe: Any) -> None:
    encode = MAKERS[name](directory, threads)
    pipe.send("ready")
    while (given := pipe.recv()) is not None:
        start = time.perf_counter()
        result = encode(*given)
        pipe.send((time.perf_counter() - start, result))


class Worker:
    """A process that holds one encoder. Between its turns it sleeps, so that nobody is disturbed."""

    def __init__(self, name: str, directory: pathlib.Path, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(name, directory, threads, other), daemon=True)
        self.process.start()
        other.close()
        self.pipe.recv()

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> tuple[float, np.ndarray]:
        """Seconds, and the vectors."""
        self.pipe.send((ids, mask))
        seconds, vectors = self.pipe.recv()
        return seconds, vectors

    def close(self) -> None:
        self.pipe.send(None)
        self.process.join()
