"""The example's GPT against the same model written in PyTorch: the same weights and windows, never brought together again."""

import pathlib
import sys

import numpy as np
import pytest

import pypto as pto
from pypto import optim

torch = pytest.importorskip("torch", reason="torch is not installed; ./dev test --frameworks installs it")
F = torch.nn.functional
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples" / "gpt"))
from gpt import GPT, loss_of  # noqa: E402

LAYERS, WIDTH, HEADS, LENGTH, BATCH, STEPS = 2, 32, 2, 24, 4, 100
RATE, EMBEDDING_RATE, EPS = 0.02, 2e-3, 1e-6


def windows():
    rng = np.random.default_rng(1)
    text = np.where(rng.random(4096) < 0.1, rng.integers(0, 256, 4096), np.arange(4096) ** 2 % 97).astype(np.uint8)
    starts = rng.integers(0, len(text) - LENGTH - 1, (STEPS, BATCH))
    return [np.stack([text[i : i + LENGTH + 1] for i in row]) for row in starts]


def turned(x):
    """Pairs (i, i + half) of the features at position t turned by t / 10000^(i / half)."""
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] / 10000 ** (torch.arange(half, dtype=x.dtype) / half)
    cos, sin, a, b = angles.cos(), angles.sin(), x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def torch_loss(p, ids):
    x = p["embedding.weight"][ids[:, :-1]]
    for i in range(LAYERS):
        w = {name.removeprefix(f"blocks.{i}."): value for name, value in p.items() if name.startswith(f"blocks.{i}.")}
        y = F.rms_norm(x, (WIDTH,), w["norm1.weight"], EPS)
        q, k, v = (
            (y @ w[f"attention.{part}.weight"].T).view(BATCH, LENGTH, HEADS, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        y = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
        x = x + y.transpose(1, 2).reshape(x.shape) @ w["attention.out.weight"].T
        y = F.rms_norm(x, (WIDTH,), w["norm2.weight"], EPS)
        x = x + F.gelu(y @ w["mlp.up.weight"].T) @ w["mlp.down.weight"].T
    logits = F.rms_norm(x, (WIDTH,), p["norm.weight"], EPS) @ p["embedding.weight"].T
    return F.cross_entropy(logits.reshape(-1, 256), ids[:, 1:].reshape(-1))


class TorchMuon:
    """PyTorch's own orthogonalises in bfloat16; this one in the parameters' type."""

    def __init__(self, matrices, lr):
        self.moments, self.lr = [(p, torch.zeros_like(p)) for p in matrices], lr

    @torch.no_grad()
    def step(self):
        for p, m in self.moments:
            m.lerp_(p.grad, 0.05)
            x = torch.lerp(p.grad, m, 0.95)
            tall = x.shape[0] > x.shape[1]
            x = x.T if tall else x
            x = x / x.norm().clamp(min=1e-7)
            for _ in range(5):
                a = x @ x.T
                x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
            x = x.T if tall else x
            p.mul_(1 - self.lr * 0.01).sub_(self.lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * x)


@pytest.mark.parametrize("dtype, bound", [("float64", 1e-9), ("float32", 1e-3)])
def test_a_hundred_steps_give_the_losses_of_pytorch(dtype, bound):
    pto.manual_seed(0)
    model = GPT(LAYERS, WIDTH, HEADS, LENGTH, norm="rms", rope=True, bias=False).to(dtype)
    p = {name: torch.tensor(value.numpy(), requires_grad=True) for name, value in model.named_parameters()}

    def is_matrix(name, value):
        return name.startswith("blocks.") and value.ndim == 2

    ours, theirs = ([p for n, p in all_ if is_matrix(n, p)] for all_ in (list(model.named_parameters()), list(p.items())))
    rest, their_rest = ([p for n, p in all_ if not is_matrix(n, p)] for all_ in (list(model.named_parameters()), list(p.items())))
    options = {"lr": EMBEDDING_RATE, "betas": (0.9, 0.95), "weight_decay": 0.0}
    optimizers = [optim.Muon(ours, lr=RATE, weight_decay=0.01), optim.AdamW(rest, **options)]
    their_optimizers = [TorchMuon(theirs, RATE), torch.optim.AdamW(their_rest, **options)]

    @pto.jit
    def step(batch):
        loss = loss_of(model, batch)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    losses, their_losses = [], []
    for i, batch in enumerate(windows()):
        share = min((i + 1) / 10, (STEPS - i) / 91)  # up for ten steps, then down
        optimizers[0].param_groups[0]["lr"] = their_optimizers[0].lr = share * RATE
        optimizers[1].param_groups[0]["lr"] = their_optimizers[1].param_groups[0]["lr"] = share * EMBEDDING_RATE
        losses.append(float(step(batch)))
        loss = torch_loss(p, torch.from_numpy(batch.astype(np.int64)))
        for value in p.values():
            value.grad = None
        loss.backward()
        for optimizer in their_optimizers:
            optimizer.step()
        their_losses.append(float(loss.detach()))
    assert their_losses[-1] < their_losses[0] - 2, "nothing was learnt"
    np.testing.assert_allclose(losses, their_losses, rtol=0, atol=bound)
