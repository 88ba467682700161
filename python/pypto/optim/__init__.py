"""Optimisers. A step is one program; the learning rate and the number of steps are operands of it."""

from __future__ import annotations

from . import schedules
from ._base import Optimizer
from ._rules import SGD, Adafactor, Adam, AdamW, Lion, Muon, RMSprop

__all__ = [
    "Adafactor",
    "Adam",
    "AdamW",
    "Lion",
    "Muon",
    "Optimizer",
    "RMSprop",
    "SGD",
    "schedules",
]
