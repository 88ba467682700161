"""A training step of the GPT of examples/gpt, with the same weights, in PyPTO, PyTorch and JAX.

Each `make` gives a function from windows [batch, length + 1] of bytes to the loss before the update by AdamW
(betas 0.9 and 0.95, weight decay 0.1).
"""

import dataclasses
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

EXAMPLE = pathlib.Path(__file__).parents[1] / "examples" / "gpt"
Step = Callable[[np.ndarray], float]
RATE, BETAS, EPS, DECAY = 1e-3, (0.9, 0.95), 1e-8, 0.1


@dataclasses.dataclass(frozen=True)
class Sizes:
    layers: int = 6
    width: int = 384
    heads: int = 6
    length: int = 256
    batch: int = 8
    dtype: str = "float32"


def weights(s: Sizes) -> dict[str, np.ndarray]:
    """Random weights by the names of PyPTO's modules; the layouts are PyTorch's as well."""
    rng = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {"embedding.weight": (256, s.width), "positions.weight": (s.length, s.width)}
    for i in range(s.layers):
        maps = {f"attention.{name}": (s.width, s.width) for name in ("query", "key", "value", "out")}
        maps |= {"mlp.up": (4 * s.width, s.width), "mlp.down": (s.width, 4 * s.width)}
        for norm in ("norm1", "norm2"):
            shapes |= {f"blocks.{i}.{norm}.weight": (s.width,), f"blocks.{i}.{norm}.bias": (s.width,)}
        for name, shape in maps.items():
            shapes |= {f"blocks.{i}.{name}.weight": shape, f"blocks.{i}.{name}.bias": shape[:1]}
    shapes |= {"norm.weight": (s.width,), "norm.bias": (s.width,)}
    found = {}
    for name, shape in shapes.items():
        centre = 1.0 if "norm" in name and name.endswith("weight") else 0.0
        found[name] = (centre + 0.02 * rng.standard_normal(shape)).astype(s.dtype)
    return found


def windows(s: Sizes, count: int) -> list[np.ndarray]:
    """Windows of a periodic text with some noise, so that there is something to learn."""
    rng = np.random.default_rng(1)
    text = np.where(rng.random(1 << 16) < 0.1, rng.integers(0, 256, 1 << 16), np.arange(1 << 16) ** 2 % 97)
    starts = rng.integers(0, len(text) - s.length - 1, (count, s.batch))
    return [np.stack([text[i : i + s.length + 1] for i in row]).astype(np.uint8) for row in starts]


def pypto_step(s: Sizes, threads: int, how: str = "jit") -> Step:
    """`how`: the step is a compiled function ("jit"), recorded ("record"), or neither ("plain")."""
    sys.path.insert(0, str(EXAMPLE))
    import gpt
    import pypto as pto
    from pypto import optim

    pto.set_num_threads(threads)
    model = gpt.GPT(s.layers, s.width, s.heads, s.length).to(s.dtype)
    model.load_state_dict({name: pto.asarray(value) for name, value in weights(s).items()})
    optimizer = optim.AdamW(model.parameters(), lr=RATE, betas=BETAS, eps=EPS, weight_decay=DECAY)

    def step(batch: Any) -> Any:
        loss = gpt.loss_of(model, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    def recorded(batch: Any) -> Any:
        with pto.record():
            return step(pto.asarray(batch))

    compiled = pto.jit(step)
    call = {"jit": compiled, "record": recorded, "plain": lambda batch: step(pto.asarray(batch))}[how]

    def run(batch: np.ndarray) -> float:
        return float(call(batch))

    run.plan = lambda: compiled.executable.memory({})  # type: ignore[attr-defined]
    return run


def torch_step(s: Sizes, threads: int, compiled: bool = False) -> Step:
    """As people write it: one map for queries, keys and values, scaled_dot_product_attention, the fused AdamW."""
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(threads)
    given = {name: torch.from_numpy(value) for name, value in weights(s).items()}
    p = {name: value for name, value in given.items() if not any(f".{part}." in name for part in ("query", "key", "value"))}
    for i in range(s.layers):
        for kind in ("weight", "bias"):
            parts = [given[f"blocks.{i}.attention.{part}.{kind}"] for part in ("query", "key", "value")]
            p[f"blocks.{i}.attention.qkv.{kind}"] = torch.cat(parts)
    for value in p.values():
        value.requires_grad_()

    def linear(x: Any, name: str) -> Any:
        return F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])

    def norm(x: Any, name: str) -> Any:
        return F.layer_norm(x, (s.width,), p[f"{name}.weight"], p[f"{name}.bias"])

    def loss_of(ids: Any) -> Any:
        before, target = ids[:, :-1], ids[:, 1:]
        x = p["embedding.weight"][before] + p["positions.weight"]
        for i in range(s.layers):
            b = f"blocks.{i}"
            qkv = linear(norm(x, f"{b}.norm1"), f"{b}.attention.qkv").split(s.width, -1)
            q, k, v = (y.view(len(ids), s.length, s.heads, -1).transpose(1, 2) for y in qkv)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
            x = x + linear(y, f"{b}.attention.out")
            x = x + linear(F.gelu(linear(norm(x, f"{b}.norm2"), f"{b}.mlp.up")), f"{b}.mlp.down")
        logits = norm(x, "norm") @ p["embedding.weight"].T
        return F.cross_entropy(logits.view(-1, 256), target.reshape(-1))

    optimizer = torch.optim.AdamW(p.values(), lr=RATE, betas=BETAS, eps=EPS, weight_decay=DECAY, fused=True)
    loss_function = torch.compile(loss_of) if compiled else loss_of

    def step(batch: np.ndarray) -> float:
        loss = loss_function(torch.from_numpy(batch.astype(np.int64)))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return step


def torch_compiled_step(s: Sizes, threads: int) -> Step:
    return torch_step(s, threads, compiled=True)


def jax_step(s: Sizes, threads: int) -> Step:
    """One jitted function with donated state. XLA takes its threads from the processors the process may use."""
    import os

    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    import jax
    import jax.numpy as jnp

    if s.dtype == "float64":
        jax.config.update("jax_enable_x64", True)
    parameters = {name: jnp.asarray(value) for name, value in weights(s).items()}
    zeros = {name: jnp.zeros_like(value) for name, value in parameters.items()}

    def norm(p: Any, x: Any, name: str) -> Any:
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]

    def linear(p: Any, x: Any, name: str) -> Any:
        return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

    def loss_of(p: Any, ids: Any) -> Any:
        before, target = ids[:, :-1], ids[:, 1:]
        x = p["embedding.weight"][before] + p["positions.weight"]
        for i in range(s.layers):
            b = f"blocks.{i}"
            y = norm(p, x, f"{b}.norm1")
            parts = (linear(p, y, f"{b}.attention.{part}") for part in ("query", "key", "value"))
            q, k, v = (part.reshape(*part.shape[:2], s.heads, -1) for part in parts)
            y = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape)
            x = x + linear(p, y, f"{b}.attention.out")
            y = jax.nn.gelu(linear(p, norm(p, x, f"{b}.norm2"), f"{b}.mlp.up"), approximate=False)
            x = x + linear(p, y, f"{b}.mlp.down")
        logits = norm(p, x, "norm") @ p["embedding.weight"].T
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), target[..., None], -1).mean()

    def update(p: Any, m: Any, v: Any, t: Any, ids: Any) -> Any:
        loss, g = jax.value_and_grad(loss_of)(p, ids)
        (b1, b2), tree = BETAS, jax.tree.map
        m = tree(lambda a, b: b1 * a + (1 - b1) * b, m, g)
        v = tree(lambda a, b: b2 * a + (1 - b2) * b * b, v, g)
        root = jnp.sqrt(1 - b2**t)

        def new(w: Any, a: Any, b: Any) -> Any:
            return (w * (1 - RATE * DECAY) - RATE / (1 - b1**t) * a / (jnp.sqrt(b) / root + EPS)).astype(w.dtype)

        return loss, tree(new, p, m, v), m, v

    compiled = jax.jit(update, donate_argnums=(0, 1, 2))
    state: list[Any] = [parameters, zeros, jax.tree.map(jnp.zeros_like, parameters), 0]

    def step(batch: np.ndarray) -> float:
        state[3] += 1
        t = jnp.asarray(state[3], s.dtype)
        loss, *state[:3] = compiled(state[0], state[1], state[2], t, jnp.asarray(batch, jnp.int32))
        return float(loss)

    return step
