"""Batches from data sets: shuffled by a seed, prefetched in a thread, restartable at a position."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ._arrays import as_tensor, to_numpy
from ._errors import Error
from ._tensor import Tensor
from ._trace_names import caller


def collate(items: list[Any]) -> Any:
    """Tensors, arrays and numbers stacked along a new first axis; tuples, lists and dicts place by place; anything
    else as a list."""
    first = items[0]
    if isinstance(first, Mapping):
        return {key: collate([item[key] for item in items]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(collate(list(part)) for part in zip(*items, strict=True)))
    if isinstance(first, (tuple, list)):
        return type(first)(collate(list(part)) for part in zip(*items, strict=True))
    if isinstance(first, Tensor):
        return as_tensor(np.stack([to_numpy(item) for item in items]))
    if isinstance(first, (np.ndarray, np.generic)):
        return as_tensor(np.stack([np.asarray(item) for item in items]))
    if isinstance(first, (bool, int, float)):
        return as_tensor(list(items))
    return list(items)


class DataLoader:
    """Batches of a sequence (``len`` and ``[i]``) or an iterable.

    Each ``iter(loader)`` is an epoch. With `shuffle` the order of epoch e is NumPy's permutation by (seed, e), so
    that it does not depend on anything before. `prefetch` batches are made ahead in a thread; what the data set raises
    there is raised where the batch is asked for, and the thread ends when the iterator is dropped.

    ``state_dict()`` is the epoch and the batches handed out in it; an iterator made after ``load_state_dict`` goes on
    from there with the same batches. Of an iterable, those before are read and dropped.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        collate: Callable[[list[Any]], Any] = collate,
        prefetch: int = 2,
    ) -> None:
        self._sequence = hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")
        if not self._sequence and not isinstance(dataset, Iterable):
            raise Error(
                "this is no data set", op="DataLoader", expected="a sequence or an iterable", got=type(dataset).__name__, **caller()
            )
        if batch_size < 1 or prefetch < 0:
            raise Error("this is no size", op="DataLoader", got=f"batch_size={batch_size}, prefetch={prefetch}", **caller())
        if shuffle and not self._sequence:
            raise Error("only a sequence can be shuffled", op="DataLoader", got=type(dataset).__name__, **caller())
        self.dataset, self.batch_size, self.shuffle, self.seed = dataset, batch_size, shuffle, seed
        self.drop_last, self.collate, self.prefetch = drop_last, collate, prefetch
        self.epoch = self.position = 0

    def __len__(self) -> int:
        """Batches of a whole epoch."""
        n = len(self.dataset)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def _items(self, epoch: int, skip: int) -> Iterator[Any]:
        if not self._sequence:
            for i, item in enumerate(self.dataset):
                if i >= skip:
                    yield item
            return
        n = len(self.dataset)
        order = np.random.default_rng((self.seed, epoch)).permutation(n) if self.shuffle else range(n)
        for i in order[skip:]:
            yield self.dataset[int(i)]

    def _batches(self, epoch: int, position: int) -> Iterator[Any]:
        items: list[Any] = []
        for item in self._items(epoch, position * self.batch_size):
            items.append(item)
            if len(items) == self.batch_size:
                yield self.collate(items)
                items = []
        if items and not self.drop_last:
            yield self.collate(items)

    def __iter__(self) -> Iterator[Any]:
        batches = self._batches(self.epoch, self.position)
        source = _ahead(batches, self.prefetch) if self.prefetch else batches
        try:
            for batch in source:
                self.position += 1
                yield batch
            self.epoch, self.position = self.epoch + 1, 0
        finally:
            source.close()  # type: ignore[attr-defined]

    def state_dict(self) -> dict[str, int]:
        """The epoch, the batches handed out in it, and what the order depends on."""
        return {"epoch": self.epoch, "position": self.position, "seed": self.seed, "batch_size": self.batch_size}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Goes on at a position; a state of another batch size is an error that changes nothing."""
        own = self.state_dict()
        if set(state) != set(own) or state["batch_size"] != self.batch_size:
            expected = f"{', '.join(own)}, with batch_size {self.batch_size}"
            raise Error(
                "the state does not fit the loader", op="load_state_dict", expected=expected, got=repr(dict(state)), **caller()
            )
        self.epoch, self.position, self.seed = int(state["epoch"]), int(state["position"]), int(state["seed"])


def _ahead(batches: Iterator[Any], depth: int) -> Iterator[Any]:
    """The same, made in a thread up to `depth` ahead."""
    made: queue.Queue[tuple[str, Any]] = queue.Queue(depth)
    stop = threading.Event()

    def put(kind: str, value: Any) -> bool:
        while not stop.is_set():
            try:
                made.put((kind, value), timeout=0.05)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for batch in batches:
                if not put("batch", batch):
                    return
            put("end", None)
        except BaseException as e:  # raised again where the batch is asked for
            put("error", e)

    thread = threading.Thread(target=work, name="pypto-data", daemon=True)
    thread.start()
    try:
        while True:
            kind, value = made.get()
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        stop.set()
        thread.join()


__all__ = ["DataLoader", "collate"]
