"""Comparisons with other libraries, where they are installed."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
