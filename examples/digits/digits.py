"""Handwritten digits: a small convolutional network learns scikit-learn's bundled set, and draws how it went.

python digits.py --epochs 12 --plot digits.png
"""

import argparse
import time

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import pypto as pto
from pypto import nn, optim

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 - after the choice of what draws

HELD_OUT = slice(0, None, 5)  # every fifth digit; writers stand in both parts


class Digits:
    """The training images as a data set; each is moved a pixel along each axis now and then."""

    def __init__(self, images, labels, seed):
        self.images, self.labels = np.pad(images, ((0, 0), (1, 1), (1, 1))), labels
        self.random = np.random.default_rng(seed)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        y, x = self.random.choice(3, 2, p=(0.15, 0.7, 0.15))
        return self.images[i, None, y : y + 8, x : x + 8], self.labels[i]


def digits(seed):
    """The training set, and the images [360, 8, 8] and labels that are held out."""
    images, labels = load_digits(return_X_y=True)
    images = (images.reshape(-1, 8, 8) / 16).astype(np.float32)
    kept = np.ones(len(labels), bool)
    kept[HELD_OUT] = False
    return Digits(images[kept], labels[kept], seed), (images[~kept], labels[~kept])


def network():
    """Two convolutions that keep the size, one that halves it, and a classifier; [B, 1, 8, 8] to [B, 10]."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm(32),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, stride=2, padding=1),
        nn.BatchNorm(32),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(32 * 4 * 4, 10),
    )


def draw(path, losses, accuracies, images, labels, found):
    """Loss of every step, accuracy after every epoch, and up to ten of the misread digits."""
    figure = plt.figure(figsize=(10, 6), layout="constrained")
    curves, pictures = figure.subfigures(2, 1, height_ratios=(3, 2))
    left, right = curves.subplots(1, 2)
    left.semilogy(np.arange(1, len(losses) + 1), losses, linewidth=0.8)
    left.set(xlabel="step", ylabel="cross-entropy", title="training loss")
    right.plot(np.arange(1, len(accuracies) + 1), 100 * np.array(accuracies), marker="o", markersize=3)
    right.set(xlabel="epoch", ylabel="%", title=f"accuracy on {len(labels)} held-out digits: {100 * accuracies[-1]:.1f} %")
    right.grid(alpha=0.3)
    wrong = np.flatnonzero(found != labels)
    pictures.suptitle(f"{len(wrong)} misread" + (", the first ten" if len(wrong) > 10 else ""))
    for panel, i in zip(pictures.subplots(1, 10), [*wrong[:10], *[None] * 10]):
        panel.set_axis_off()
        if i is not None:
            panel.imshow(images[i], cmap="gray_r")
            panel.set_title(f"{labels[i]} as {found[i]}", fontsize=9)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12, help="passes over the training digits (%(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="digits a step (%(default)s)")
    parser.add_argument("--lr", type=float, default=4e-3, help="highest learning rate (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights, the order, the moves and dropout (%(default)s)")
    parser.add_argument("--plot", default="digits.png", help="where the picture goes (%(default)s)")
    args = parser.parse_args()
    if args.epochs < 1:
        parser.error(f"--epochs wants at least 1, and got {args.epochs}")

    train, (held_out, truth) = digits(args.seed)
    if not 1 <= args.batch <= len(train):
        parser.error(f"--batch wants 1 to {len(train)} digits, and got {args.batch}")

    pto.manual_seed(args.seed)
    model = network()
    loader = pto.data.DataLoader(train, args.batch, shuffle=True, seed=args.seed, drop_last=True)
    optimizer = optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    schedule = optim.schedules.OneCycleLR(optimizer, args.epochs * len(loader) + 1)
    criterion = nn.CrossEntropyLoss()

    @pto.jit
    def step(x, y):
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    @pto.jit
    @pto.no_grad
    def read(x):
        return pto.argmax(model(x), axis=-1)

    start = time.perf_counter()
    losses, accuracies = [], []
    with tqdm(total=args.epochs * len(loader) * args.batch, unit="digits", unit_scale=True) as bar:
        for _ in range(args.epochs):
            model.train()
            for x, y in loader:
                losses.append(step(x, y).item())
                schedule.step()
                bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
                bar.update(args.batch)
            model.eval()
            found = read(held_out[:, None]).numpy()
            accuracies.append(float((found == truth).mean()))
    print(f"{args.epochs} epochs in {time.perf_counter() - start:.1f} s, with compilation")
    print(f"held out: {(found == truth).sum()} of {len(truth)} read as they are, {100 * accuracies[-1]:.2f} %")
    draw(args.plot, losses, accuracies, held_out, truth, found)
    print(f"loss, accuracy and misread digits: {args.plot}")


if __name__ == "__main__":
    main()
