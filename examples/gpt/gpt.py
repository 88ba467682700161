"""A GPT on bytes, written with PyPTO's modules."""

import pypto as pto
from pypto import nn


class GPT(nn.Module):
    """Blocks between an embedding of bytes and its transpose, which gives the logits (Radford et al., 2019).

    Positions are learned vectors, or with `rope` rotations of the queries and keys.
    """

    def __init__(
        self, layers: int, width: int, heads: int, length: int, norm: str = "layer", rope: bool = False, bias: bool = True
    ) -> None:
        self.length = length
        self.embedding = nn.Embedding(256, width)
        self.positions = None if rope else nn.Embedding(length, width)
        self.blocks = nn.ModuleList(
            [nn.TransformerBlock(width, heads, causal=True, rope=rope, norm=norm, bias=bias) for _ in range(layers)]
        )
        self.norm = nn.LayerNorm(width) if norm == "layer" else nn.RMSNorm(width)
        for name, p in self.named_parameters():
            if p.ndim == 2:
                last = name.endswith(("attention.out.weight", "mlp.down.weight"))
                nn.init.normal_(p, std=0.02 / (2 * layers) ** 0.5 if last else 0.02)

    def forward(self, ids: pto.Tensor) -> pto.Tensor:
        """Logits [batch, length, 256] of what follows each of the bytes [batch, length]."""
        x = self.embedding(ids)
        if self.positions is not None:
            x = x + self.positions(pto.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.embedding.weight.T


def loss_of(model: GPT, windows: pto.Tensor) -> pto.Tensor:
    """Mean cross-entropy, in nats, of the last bytes of each window [batch, length + 1] given those before."""
    ids = windows.astype("int64")
    logits = model(ids[:, :-1])
    return nn.cross_entropy(logits.reshape(-1, 256), ids[:, 1:].reshape(-1))


def write(model: GPT, start: bytes, count: int, temperature: float = 0.8) -> bytes:
    """`start` and `count` more bytes, each drawn from the model's distribution given a window before it."""

    @pto.jit
    def following(ids: pto.Tensor) -> pto.Tensor:
        return pto.random.categorical(model(ids)[0, -1] / temperature)

    text = list(start)
    with pto.no_grad():
        for _ in range(count):
            text.append(int(following(pto.asarray([text[-model.length :]]))))
    return bytes(text)
