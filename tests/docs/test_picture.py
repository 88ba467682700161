"""The picture at the top of both READMEs is there, well formed, and speaks of the example's files only."""

import pathlib
import re
import xml.etree.ElementTree as ET

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_picture(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    sources = re.findall(r'<img src="([^"]+)"', text[: text.index("\n## ")])
    assert len(sources) == 1
    titles = [t.text for t in ET.parse(ROOT / sources[0]).iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) > 5
    assert all(re.fullmatch(r"(model\.py:\d+ )?\(.*\)", t) for t in titles), titles
