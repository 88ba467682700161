"""What the GPT has to beat: an n-gram model of bytes."""

import numpy as np


def ngram_loss(train: np.ndarray, held_out: np.ndarray, n: int = 4) -> float:
    """Nats a byte of `held_out`, whose first bytes follow on the last of `train`.

    The model interpolates all orders up to `n` by the number T(h) of different bytes seen after the bytes h
    (Witten and Bell, 1991): p(c | h) = (count(h c) + T(h) p(c | h without its first byte)) / (count(h) + T(h)); below
    is the uniform distribution.
    """
    given = np.concatenate([train[len(train) - (n - 1) :], held_out])
    p = np.full(len(held_out), 1 / 256)
    for order in range(1, n + 1):
        seen, counts = np.unique(_codes(train, order), return_counts=True)
        histories, first, kinds = np.unique(seen >> 8, return_index=True, return_counts=True)
        totals = np.add.reduceat(counts, first)
        asked = _codes(given, order)[len(given) - len(held_out) - (order - 1) :]
        count = _look_up(seen, counts, asked)
        total, kind = (_look_up(histories, values, asked >> 8) for values in (totals, kinds))
        known = total > 0
        p = np.where(known, (count + kind * p) / np.where(known, total + kind, 1), p)
    return float(-np.log(p).mean())


def _codes(text: np.ndarray, order: int) -> np.ndarray:
    """Each run of `order` bytes as one number."""
    codes = np.zeros(len(text) - order + 1, np.int64)
    for i in range(order):
        codes = codes << 8 | text[i : len(text) - order + 1 + i]
    return codes


def _look_up(keys: np.ndarray, values: np.ndarray, asked: np.ndarray) -> np.ndarray:
    place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where(keys[place] == asked, values[place], 0)
