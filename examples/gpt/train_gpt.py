"""Trains a GPT on the bytes of a text, compares it with a 4-gram model on text that it has not seen, and lets it write."""

import argparse
import time

import numpy as np
from tqdm import tqdm

import pypto as pto
from gpt import GPT, loss_of, write
from ngram import ngram_loss
from pypto import optim
from pypto.data import DataLoader
from pypto.optim.schedules import LambdaLR
from text import Windows, split


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev demo train", description=__doc__)
    add = parser.add_argument
    add("--text", metavar="FILE", help="what to learn from (the King James Bible)")
    add("--layers", type=int, default=4, help="blocks (%(default)s)")
    add("--width", type=int, default=160, help="features (%(default)s)")
    add("--heads", type=int, default=4, help="heads of the attention (%(default)s)")
    add("--length", type=int, default=128, help="bytes of a window (%(default)s)")
    add("--batch", type=int, default=16, help="windows of a step (%(default)s)")
    add("--steps", type=int, default=320, help="training steps (%(default)s)")
    add("--rate", type=float, default=0.02, help="learning rate of the matrices, by Muon (%(default)s)")
    add("--embedding-rate", type=float, default=2e-3, help="of all other parameters, by AdamW (%(default)s)")
    add("--seed", type=int, default=0, help="of the weights and the order of the windows (%(default)s)")
    add("--write", type=int, default=400, metavar="BYTES", help="bytes to write at the end (%(default)s)")
    add("--plot", metavar="FILE", default="gpt.png", help="picture of the losses (%(default)s)")
    args = parser.parse_args()
    for name in ("layers", "width", "heads", "length", "batch", "steps"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} is at least 1")
    return args


def optimisers(model: GPT, args: argparse.Namespace) -> list[optim.Optimizer]:
    """Muon for the matrices within blocks, AdamW for the embedding and the norms."""
    matrices = [p for name, p in model.named_parameters() if name.startswith("blocks.") and p.ndim == 2]
    others = [p for name, p in model.named_parameters() if not (name.startswith("blocks.") and p.ndim == 2)]
    return [
        optim.Muon(matrices, lr=args.rate, weight_decay=0.01),
        optim.AdamW(others, lr=args.embedding_rate, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def rise_and_fall(steps: int, step: int) -> float:
    """Up over the first tenth of the steps, then down to nothing, in straight lines."""
    rise = max(1, steps // 10)
    return min((step + 1) / rise, max(0.0, (steps - step) / (steps - rise + 1)))


def held_out_loss(model: GPT, text: np.ndarray, batch: int) -> float:
    """Nats a byte. Each byte has between half a window and a window before it, except at the start of the text; less
    than half a window at its end is left out."""
    length = model.length
    half = length // 2

    @pto.jit
    def losses(windows: pto.Tensor) -> pto.Tensor:
        ids = windows.astype("int64")
        chosen = pto.take_along_axis(pto.log_softmax(model(ids[:, :-1]), -1), ids[:, 1:].unsqueeze(-1), -1)
        return -chosen.squeeze(-1)

    starts = list(range(0, len(text) - length - 1, length - half))
    total = count = 0.0
    with pto.no_grad():
        for i in range(0, len(starts), batch):
            windows = np.stack([text[s : s + length + 1] for s in starts[i : i + batch]])
            found = losses(pto.asarray(windows)).numpy()
            scored = found[:, half:] if i > 0 else np.concatenate([found[0], found[1:, half:].ravel()])
            total, count = total + float(scored.sum(dtype=np.float64)), count + scored.size
    return total / count


def plot(path: str, losses: list[float], held_out: float, ngram: float) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    mean = np.convolve(losses, np.ones(20) / 20, "valid") if len(losses) >= 20 else np.asarray(losses)
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(losses, color="0.8", label="a step's windows")
    axes.plot(np.arange(len(mean)) + len(losses) - len(mean), mean, label="mean of 20 steps")
    axes.axhline(ngram, color="tab:red", linestyle="--", label=f"4-gram model, held-out text: {ngram:.3f}")
    axes.plot(len(losses) - 1, held_out, "o", color="tab:green", label=f"GPT, held-out text: {held_out:.3f}")
    axes.set(xlabel="step", ylabel="loss, nats a byte", ylim=(0, None))
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    args = arguments()
    pto.manual_seed(args.seed)
    train, held_out = split(args.text)
    model = GPT(args.layers, args.width, args.heads, args.length, norm="rms", rope=True, bias=False)
    optimizers = optimisers(model, args)
    schedules = [LambdaLR(o, lambda step: rise_and_fall(args.steps, step)) for o in optimizers]
    print(f"{len(train)} bytes to learn from, {len(held_out)} held out; {sum(p.size for p in model.parameters())} parameters")

    @pto.jit
    def step(windows: pto.Tensor) -> pto.Tensor:
        loss = loss_of(model, windows)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    losses: list[float] = []
    loader = iter(DataLoader(Windows(train, args.length), args.batch, shuffle=True, seed=args.seed))
    started = time.perf_counter()
    with tqdm(total=args.steps, unit="step") as bar:
        for i in range(args.steps):
            losses.append(float(step(next(loader))))
            for schedule in schedules:
                schedule.step()
            if not np.isfinite(losses[-1]):
                raise SystemExit(f"the loss of step {i + 1} is {losses[-1]}: try a smaller --rate")
            rate = (i + 1) * args.batch * args.length / (time.perf_counter() - started)
            bar.set_postfix_str(f"loss {np.mean(losses[-20:]):.3f}, {rate:.0f} bytes/s", refresh=False)
            bar.update()

    ours, theirs = held_out_loss(model, held_out, args.batch), ngram_loss(train, held_out)
    print(f"held-out text, nats a byte: GPT {ours:.3f}, 4-gram model {theirs:.3f}")
    plot(args.plot, losses, ours, theirs)
    print(f"losses in {args.plot}\n")
    start = bytes(held_out[: args.length // 2])
    print(write(model, start[start.rfind(b"\n") + 1 :] or start, args.write).decode(errors="replace"))


if __name__ == "__main__":
    main()
