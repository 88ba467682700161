"""Processes that hold one thing to be measured each, and wait for their turns."""

import multiprocessing
import time
from collections.abc import Callable
from typing import Any


def _serve(make: Callable[..., Callable[..., Any]], arguments: tuple[Any, ...], pipe: Any) -> None:
    call = make(*arguments)
    pipe.send("ready")
    while (given := pipe.recv()) is not None:
        start = time.perf_counter()
        result = call(*given)
        pipe.send((time.perf_counter() - start, result))


class Worker:
    """A process that calls what `make(*arguments)` gives. Between its turns it sleeps, so that nobody is disturbed."""

    def __init__(self, make: Callable[..., Callable[..., Any]], *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(make, arguments, other), daemon=True)
        self.process.start()
        other.close()
        self.pipe.recv()

    def __call__(self, *given: Any) -> tuple[float, Any]:
        """Seconds, and the result."""
        self.pipe.send(given)
        seconds, result = self.pipe.recv()
        return seconds, result

    def close(self) -> None:
        self.pipe.send(None)
        self.process.join()
