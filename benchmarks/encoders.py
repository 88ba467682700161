"""The sentence encoder of the demo in PyPTO and in PyTorch."""

import json
import pathlib
import sys
from collections.abc import Callable

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


def torch_fused(directory: pathlib.Path, threads: int) -> Encode:
    return torch_encoder(directory, threads, "sdpa")


def torch_in_steps(directory: pathlib.Path, threads: int) -> Encode:
    return torch_encoder(directory, threads, "eager")


MAKERS: dict[str, Callable[[pathlib.Path, int], Encode]] = {
    "PyPTO": pypto_encoder,
    "PyTorch": torch_fused,
    "PyTorch, attention in steps": torch_in_steps,
}
