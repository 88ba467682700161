"""Every Python block of the documents runs, and prints the text block that follows it."""

import contextlib
import io
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"```(\w+)\n(.*?)```\n", re.DOTALL)


def blocks(path):
    return BLOCK.findall(path.read_text())


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_blocks_run(path):
    scope = {}
    found = blocks(path)
    for (kind, code), following in zip(found, [*found[1:], ("", "")]):
        if kind != "python":
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, path.name, "exec"), scope)
        if following[0] == "text":
            assert out.getvalue() == following[1]


def test_readmes_show_the_same():
    assert blocks(ROOT / "README.md") == blocks(ROOT / "README.zh-CN.md")
