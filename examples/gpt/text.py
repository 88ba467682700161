"""The text that the example learns from: bytes of a file, or the King James Bible of Debian's package bible-kjv."""

import pathlib
import re
import shutil
import subprocess

import numpy as np


def bible() -> bytes:
    """All verses, one a line, without their names; the text is in the public domain."""
    program = shutil.which("bible")
    if program is None:
        raise SystemExit("there is no program `bible`: install Debian's packages bible-kjv and bible-kjv-text, or give --text FILE")
    printed = subprocess.run([program, "-f", "gen1:1-rev22:21"], capture_output=True, check=True).stdout
    return re.sub(rb"^\w+:\d+ ", b"", printed, flags=re.MULTILINE)


def split(path: str | None) -> tuple[np.ndarray, np.ndarray]:
    """The bytes to learn from, and the last twentieth, which is held out."""
    text = np.frombuffer(pathlib.Path(path).read_bytes() if path else bible(), np.uint8)
    if len(text) < 20_000:
        raise SystemExit(f"the text has {len(text)} bytes; at least 20000 are needed")
    cut = len(text) - len(text) // 20
    return text[:cut], text[cut:]


class Windows:
    """A data set of all windows of `length` + 1 bytes; neighbours overlap in all but one byte."""

    def __init__(self, text: np.ndarray, length: int) -> None:
        self.text, self.length = text, length

    def __len__(self) -> int:
        return len(self.text) - self.length

    def __getitem__(self, i: int) -> np.ndarray:
        return self.text[i : i + self.length + 1]
