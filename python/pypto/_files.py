"""Files of tensors by name in the safetensors format: a header in JSON, then the elements. Nothing in them runs."""

from __future__ import annotations

import json
import math
import mmap
import os
import tempfile
import warnings
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ._arrays import array_dtype, as_tensor, from_array, to_numpy
from ._dtypes import DType, as_dtype
from ._errors import Error
from ._tensor import Tensor

_TYPES = {
    "BOOL": "bool",
    "BF16": "bfloat16",
    **{f"F{n}": f"float{n}" for n in (16, 32, 64)},
    **{f"I{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"U{n}": f"uint{n}" for n in (8, 16, 32, 64)},
}
_CODES = {name: code for code, name in _TYPES.items()}
_METADATA = "__metadata__"
_MAX_HEADER = 100_000_000  # as the format's own library has it
_MAX_RANK = 64  # NumPy's
_MAX_BYTES = 1 << 56


class _Entry(NamedTuple):
    name: str
    dtype: DType
    shape: tuple[int, ...]
    begin: int
    end: int


def load(path: str | os.PathLike[str], *, mapped: bool = False) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name, in the order of the file.

    The header is checked against the file before anything is allocated: a file that is damaged, or whose
    header does not fit its data, is an error, and so is an element type that tensors do not have.

    With ``mapped=True`` the elements stay in the file and are read where they are used, which is quicker.
    The file must then be neither changed in place nor cut while its tensors are in use; ``save`` does
    neither, it replaces the file.
    """
    name = _path("load", path)
    try:
        with open(name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            entries, start = _header(file, size, name)
            if mapped:
                memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
                arrays = {e.name: _mapped(memory, start, e) for e in entries}
            else:
                file.seek(start)
                arrays = {e.name: _elements(file, e, name) for e in sorted(entries, key=lambda e: e.begin)}
    except OSError as e:
        raise _of_system("load", name, e) from None
    return {e.name: from_array(arrays[e.name], copy=False) for e in entries}


def save(path: str | os.PathLike[str], tensors: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> None:
    """Writes tensors (or arrays) by name as a safetensors file, replacing what was there in one step.

    Tensors that share memory are written as copies; a warning names them.
    """
    name = _path("save", path)
    if not isinstance(tensors, Mapping):
        raise Error("tensors are saved by name", op="save", expected="a mapping of names to tensors", got=type(tensors).__name__)
    for key in tensors:
        if not isinstance(key, str) or key == _METADATA:
            raise Error("this is not a name of a tensor", op="save", expected=f"text other than {_METADATA}", got=repr(key))
    facts = dict(metadata or {})
    if not all(isinstance(text, str) for pair in facts.items() for text in pair):
        raise Error("metadata are text by name", op="save", expected="a mapping of str to str", got=repr(facts))
    arrays = {key: value if isinstance(value, np.ndarray) else to_numpy(as_tensor(value)) for key, value in tensors.items()}
    types = {key: array_dtype(array) for key, array in arrays.items()}
    _warn_of_shared(arrays)

    # The widest elements first, so that each tensor begins at a multiple of its elements' size.
    order = sorted(arrays, key=lambda key: (-types[key].itemsize, key))
    header: dict[str, Any] = {_METADATA: facts} if facts else {}
    at = 0
    for key in order:
        array = arrays[key]
        header[key] = {
            "dtype": _CODES[types[key].name],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    try:
        _replace(name, [len(text).to_bytes(8, "little"), text], (arrays[key] for key in order))
    except OSError as e:
        raise _of_system("save", name, e) from None


def _replace(name: str, head: list[bytes], arrays: Any) -> None:
    """The file is written beside its place and then put there."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(name)), prefix=os.path.basename(name) + ".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(head)
            for array in arrays:
                # `order` keeps what is contiguous as it is; zero-size arrays have no bytes to view.
                if array.size:
                    file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, name)
    except BaseException:
        os.unlink(temporary)
        raise


def _warn_of_shared(arrays: Mapping[str, np.ndarray]) -> None:
    bounds = sorted((*np.lib.array_utils.byte_bounds(a), key) for key, a in arrays.items() if a.size)
    reach, group = 0, []  # type: ignore[var-annotated]
    for low, high, key in [*bounds, (math.inf, math.inf, "")]:
        if low >= reach:
            if len(group) > 1:
                warnings.warn(f"{', '.join(group)} share memory; the file holds a copy for each", stacklevel=3)
            group = []
        group.append(key)
        reach = max(reach, high)  # type: ignore[assignment]


def _header(file: BinaryIO, size: int, name: str) -> tuple[list[_Entry], int]:
    """The entries, which fill the data without gaps or overlaps, and where the data begin."""
    first = file.read(8)
    if len(first) < 8:
        raise _unsound(name, f"it has {len(first)} bytes, and the length of the header alone takes 8")
    length = int.from_bytes(first, "little")
    if length > min(size - 8, _MAX_HEADER):
        raise _unsound(name, f"its header should have {length} bytes, at most {min(size - 8, _MAX_HEADER)} are possible")
    text = file.read(length)
    if len(text) != length:
        raise _unsound(name, "it ends within its header")
    try:
        header = json.loads(text.decode(), object_pairs_hook=_once)
    except _Twice as e:
        raise _unsound(name, f"{e} stands twice in its header", str(e)) from None
    except (ValueError, RecursionError) as e:
        raise _unsound(name, f"its header is not JSON: {e}") from None
    if not isinstance(header, dict):
        raise _unsound(name, f"its header is no object: {_short(header)}")
    facts = header.pop(_METADATA, {})
    if not isinstance(facts, dict) or not all(isinstance(v, str) for v in facts.values()):
        raise _unsound(name, f"its metadata are no text by name: {_short(facts)}")
    data = size - 8 - length
    entries = [_entry(key, value, data, name) for key, value in header.items()]
    end, before = 0, ""
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if entry.begin < end:
            raise _unsound(name, f"tensors {before} and {entry.name} overlap at byte {entry.begin} of the data", entry.name)
        if entry.begin > end:
            gap = f"bytes {end} to {entry.begin} of the data, before tensor {entry.name}, belong to none"
            raise _unsound(name, gap, entry.name)
        end, before = entry.end, entry.name
    if end != data:
        raise _unsound(name, f"its data have {data} bytes, and its tensors {end}")
    return entries, 8 + length


def _entry(key: str, facts: Any, data: int, name: str) -> _Entry:
    if not isinstance(facts, dict) or facts.keys() != {"dtype", "shape", "data_offsets"}:
        raise _unsound(name, f"tensor {key} has not dtype, shape and data_offsets: {_short(facts)}", key)
    code, shape, offsets = facts["dtype"], facts["shape"], facts["data_offsets"]
    if not isinstance(code, str) or code not in _TYPES:
        raise Error(
            f"the element type of tensor {key} is not supported",
            op="load",
            expected=", ".join(_TYPES),
            got=f"{_short(code)} in {name}",
            label=key,
        )
    dtype = as_dtype(_TYPES[code])
    if not _counts(shape) or len(shape) > _MAX_RANK:
        raise _unsound(name, f"tensor {key} has no sizes for a shape: {_short(shape)}", key)
    if not _counts(offsets) or len(offsets) != 2 or not offsets[0] <= offsets[1] <= data:
        raise _unsound(name, f"tensor {key} is at {_short(offsets)} of data of {data} bytes", key)
    begin, end = offsets
    # Python's integers do not overflow; sizes beside a 0 are bounded too.
    if math.prod(s for s in shape if s) * dtype.itemsize > _MAX_BYTES or math.prod(shape) * dtype.itemsize != end - begin:
        raise _unsound(name, f"tensor {key} is {dtype}{_short(tuple(shape))} in {end - begin} bytes", key)
    return _Entry(key, dtype, tuple(shape), begin, end)


def _counts(x: Any) -> bool:
    return isinstance(x, list) and all(type(n) is int and n >= 0 for n in x)


class _Twice(ValueError):
    """A name that occurs twice in one JSON object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [key for key, _ in pairs]
        raise _Twice(next(key for key in names if names.count(key) > 1))
    return found


def _elements(file: BinaryIO, entry: _Entry, name: str) -> np.ndarray:
    array = np.empty(entry.shape, entry.dtype.numpy)
    if not array.size:
        return array
    raw = array.reshape(-1).view(np.uint8)
    if file.readinto(raw) != array.nbytes:  # type: ignore[attr-defined]
        raise _unsound(name, f"it ends within tensor {entry.name}", entry.name)
    return raw.reshape(entry.shape) != 0 if entry.dtype.name == "bool" else array


def _mapped(memory: mmap.mmap, start: int, entry: _Entry) -> np.ndarray:
    """A view of the file; a copy where bytes are not the elements' own form, or do not lie where they may."""
    count = math.prod(entry.shape)
    if entry.dtype.name == "bool":
        return np.frombuffer(memory, np.uint8, count, start + entry.begin).reshape(entry.shape) != 0
    array = np.frombuffer(memory, entry.dtype.numpy, count, start + entry.begin).reshape(entry.shape)
    return array if array.flags.aligned else array.copy()


def _path(op: str, path: Any) -> str:
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else path
    if not isinstance(name, str) or "\0" in name:
        raise Error("this is not a path", op=op, expected="text or a pathlib.Path", got=repr(path))
    return name


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 80 else text[:77] + "..."


def _of_system(op: str, name: str, e: OSError) -> Error:
    reading = op == "load"
    message = f"the file cannot be {'read' if reading else 'written'}: {e.strerror or e}"
    if reading and isinstance(e, FileNotFoundError):
        message = "there is no such file"
    return Error(message, op=op, expected="a safetensors file" if reading else None, got=name)


def _unsound(name: str, why: str, label: str | None = None) -> Error:
    message = "the file is not a sound safetensors file"
    return Error(message, op="load", expected="a safetensors file", got=f"{name}: {why}", label=label)
