"""Safetensors files that are damaged or hostile, and the bytes of sound ones."""

import json
import pathlib
import tempfile

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="pto-errors-"))
FLOAT = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def packed(header, data=b"", length=None):
    """A file's bytes: `header` as JSON or as it stands, and a length that may be a lie."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def written(content):
    """The path of a new file."""
    with tempfile.NamedTemporaryFile(dir=FOLDER, suffix=".safetensors", delete=False) as file:
        file.write(content)
    return file.name


def one(dtype="F32", shape=(2,), offsets=(0, 8), data=bytes(8), **others):
    """A file of one tensor, w."""
    return written(packed({"w": {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)} | others}, data))


def two(first, second, data):
    """A file of two float32 vectors, a and b, at the given bytes."""
    entries = {
        name: {"dtype": "F32", "shape": [(end - begin) // 4], "data_offsets": [begin, end]}
        for name, (begin, end) in {"a": first, "b": second}.items()
    }
    return written(packed(entries, bytes(data)))
