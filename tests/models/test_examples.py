"""The examples that learn reach what they promise, and draw it."""

import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed; ./dev test --frameworks installs it")

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def run(script, *args):
    done = subprocess.run([sys.executable, EXAMPLES / script, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def is_png(path):
    return path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_digits(tmp_path):
    out = run("digits/digits.py", "--epochs", 6, "--plot", tmp_path / "digits.png")
    assert float(re.search(r"([\d.]+) %", out)[1]) >= 97
    assert is_png(tmp_path / "digits.png")
