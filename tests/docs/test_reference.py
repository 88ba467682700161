"""The reference is what the tables say, and leaves no public function out."""

import pathlib
import subprocess
import sys

import pypto as pto

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")


def test_reference_is_what_the_tables_say():
    run = subprocess.run([sys.executable, ROOT / "tools" / "make_reference.py", "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_every_function_is_there():
    public = [n for n, f in vars(pto).items() if callable(f) and not n.startswith("_") and n not in ("Any", "tensor")]
    missing = [n for n in public if f"`{n}(" not in PAGE and f"`class {n}`" not in PAGE and f"random.{n}" not in PAGE]
    named = {a for row in pto.function_table() for a in row["aliases"]}
    assert [n for n in missing if n not in named and getattr(pto, n).__name__ == n] == []


def test_every_operator_is_there():
    assert [row["name"] for row in pto.op_table() if f"| `{row['name']}` |" not in PAGE] == []
