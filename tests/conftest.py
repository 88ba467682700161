"""What all tests share: references are importable, and each run has a cache of its own."""

import os
import pathlib
import sys
import tempfile

os.environ.setdefault("PTO_CACHE_DIR", tempfile.mkdtemp(prefix="pypto-tests-"))
sys.path.insert(0, str(pathlib.Path(__file__).parent / "ops"))


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="more seeds, all values")
