"""Every Python block of the documents runs, and prints the text block that follows it."""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WALK = ROOT / "ARCHITECTURE.md"
DOCUMENTS = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")} - {WALK})
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$(\n*)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)\)")


def blocks(path):
    """The kind and text of each block, and whether the next one follows directly."""
    text = path.read_text(encoding="utf-8")
    return [(m[1], m[2], text.startswith("```", m.end())) for m in BLOCK.finditer(text)]


def without_places(text):
    text = re.sub(r"^ *because .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r' +@ "[^"\n]*"(:[\d:-]+)?( "[^"\n]*")?', "", text)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_blocks_run(path):
    scope = {}
    found = blocks(path)
    for (kind, code, close), following in zip(found, [*found[1:], ("", "", False)]):
        if kind != "python":
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, path.name, "exec"), scope)
        if close and following[0] == "text":
            assert out.getvalue() == following[1]


def test_readmes_show_the_same():
    assert blocks(ROOT / "README.md") == blocks(ROOT / "README.zh-CN.md")


@pytest.mark.parametrize("path", [*DOCUMENTS, WALK], ids=lambda p: p.name)
def test_links_lead_to_files(path):
    for target in LINK.findall(BLOCK.sub("", path.read_text(encoding="utf-8"))):
        assert (path.parent / target).exists(), target


def has_avx2():
    info = pathlib.Path("/proc/cpuinfo")
    return info.exists() and re.search(r"\bavx2\b", info.read_text()) is not None


@pytest.mark.skipif(not has_avx2(), reason="the walk is printed for AVX2")
def test_the_walk_is_what_the_compiler_prints(tmp_path):
    found = blocks(WALK)
    script = tmp_path / "walk.py"
    script.write_text("".join(text for kind, text, _ in found if kind == "python"))
    path = os.pathsep.join(p for p in sys.path if p)
    env = {**os.environ, "PTO_TARGET": "avx2", "PYTHONPATH": path}
    run = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    printed = without_places(run.stdout)
    shown = [text for kind, text, _ in found if kind == "text"]
    assert shown
    for text in shown:
        assert text in printed
