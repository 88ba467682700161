"""Where the user's program stands, for messages."""

from __future__ import annotations

import os
import sys

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def caller() -> dict:
    """File, line and columns of the innermost frame outside the package, as Error's fields."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return {}
    columns = (0, 0)
    for i, (line, end_line, column, end_column) in enumerate(frame.f_code.co_positions()):
        if i == frame.f_lasti // 2 and line == end_line and column is not None and end_column is not None:
            columns = (column + 1, end_column + 1)
            break
    return {"file": frame.f_code.co_filename, "line": frame.f_lineno, "columns": columns}
