"""Checkpoints: nested state (of modules, optimisers, schedules, loaders, generators) in one safetensors file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._errors import Error
from ._files import load, save
from ._tensor import Tensor
from ._trace_names import caller

_FORM = "checkpoint.json"  # the tensor whose bytes are the state's form in JSON


def save_checkpoint(path: str | os.PathLike[str], state: Mapping[str, Any]) -> None:
    """Writes nested dicts, lists and tuples of tensors, arrays, numbers, text and None as one safetensors file,
    replacing what was there in one step. Tuples come back as lists."""
    tensors: dict[str, Any] = {}

    def form(x: Any, name: str) -> Any:
        if isinstance(x, (Tensor, np.ndarray)):
            tensors[name] = x.copy() if isinstance(x, np.ndarray) else np.array(x.numpy())
            return {"tensor": name}
        if isinstance(x, Mapping):
            if not all(isinstance(k, str) for k in x):
                raise Error("names in a checkpoint are text", op="save_checkpoint", got=repr(list(x))[:80], **caller())
            return {"dict": {k: form(v, f"{name}/{k}") for k, v in x.items()}}
        if isinstance(x, (list, tuple)):
            return {"list": [form(v, f"{name}/{i}") for i, v in enumerate(x)]}
        if x is None or isinstance(x, (bool, int, float, str)):
            return {"value": x}
        raise Error("this is not kept in a checkpoint", op="save_checkpoint", got=f"{name}: {type(x).__name__}", **caller())

    text = json.dumps(form(state, "state")).encode()
    save(path, {**tensors, _FORM: np.frombuffer(text, np.uint8)})


def load_checkpoint(path: str | os.PathLike[str]) -> Any:
    """The state that `save_checkpoint` wrote. A file that is damaged is an error before anything is made of it."""
    tensors = load(path)
    if _FORM not in tensors:
        raise Error("the file is no checkpoint", op="load_checkpoint", expected=f"a tensor {_FORM}", got=str(path), **caller())

    def value(x: Any) -> Any:
        ((kind, held),) = x.items()
        if kind == "tensor":
            return tensors[held]
        if kind == "dict":
            return {k: value(v) for k, v in held.items()}
        return [value(v) for v in held] if kind == "list" else held

    try:
        return value(json.loads(tensors[_FORM].numpy().tobytes().decode()))
    except (ValueError, KeyError, AttributeError) as e:
        raise Error("the form of the checkpoint is damaged", op="load_checkpoint", got=f"{path}: {e}", **caller()) from None
