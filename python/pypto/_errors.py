"""The two kinds of failure: a user's mistake, and a fault of the compiler."""

from __future__ import annotations

import linecache
import os
import re

from . import _core
from ._trace_names import caller


class Error(ValueError):
    """A mistake in the use of an operator, a function or a file, raised where it was written.

    Attributes: ``op`` (operator or function), ``message``, ``expected``, ``got``, ``operands`` (their
    types as text), ``label`` (the axis or index label at fault), ``sizes`` (in a traced function, what the
    symbols above are in this call), ``file`` and ``line`` of the user's program (found where they are not
    given), ``path`` (the names of the functions and modules that led there).
    """

    def __init__(
        self,
        message: str,
        *,
        op: str | None = None,
        expected: str | None = None,
        got: str | None = None,
        operands: tuple[str, ...] = (),
        label: str | None = None,
        file: str | None = None,
        line: int | None = None,
        columns: tuple[int, int] = (0, 0),
        path: str | None = None,
    ) -> None:
        if file is None:
            where = caller()
            file, line, columns = where.get("file"), where.get("line"), where.get("columns", (0, 0))
        self.op = op
        self.message = message
        self.expected = expected
        self.got = got
        self.operands = tuple(operands)
        self.label = label
        self.sizes = _sizes(expected, got, *operands)
        self.file = file
        self.line = line
        self.columns = columns
        self.path = path
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [f"{self.op}: {self.message}" if self.op else self.message]
        for name in ("label", "expected", "got"):
            value = getattr(self, name)
            if value:
                lines.append(f"  {name}: {value}")
        if self.operands:
            lines.append("  operands: " + ", ".join(self.operands))
        if self.sizes:
            lines.append(f"  where: {self.sizes}")
        if self.file and self.line:
            where = f"  at {self.file}:{self.line}"
            lines.append(f"{where} ({self.path})" if self.path else where)
            source = linecache.getline(self.file, self.line).rstrip("\n")
            if source.strip():
                text = source.strip()
                lines.append("    " + text)
                start, end = self.columns
                indent = len(source) - len(source.lstrip())
                if start > 0:
                    at = start - 1 - indent
                    lines.append("    " + " " * at + "^" * max(1, min(end - start, len(text) - at)))
        return "\n".join(lines)

    def __reduce__(self):
        return _rebuild, (type(self), self.message, {k: v for k, v in self.__dict__.items() if k != "message"})


def _sizes(*texts: str | None) -> str | None:
    hints = _core.size_hints()
    if not hints:
        return None
    words = set(re.findall(r"[A-Za-z_]\w*", " ".join(t for t in texts if t)))
    return ", ".join(f"{name} = {size}" for name, size in sorted(hints.items()) if name in words) or None


def _rebuild(cls: type[Error], message: str, fields: dict) -> Error:
    error = cls.__new__(cls, message)
    error.__dict__.update(fields, message=message)
    ValueError.__init__(error, error._text())
    return error


class InternalError(RuntimeError):
    """A fault of the compiler. ``where`` names the pass or part that noticed it; ``reproducer`` is the
    path of a file with the program at fault, or None."""

    def __init__(self, message: str, where: str = "", reproducer: str | None = None) -> None:
        self.where = where
        self.reproducer = reproducer
        super().__init__(message)


def internal_error(message: str, where: str, program: str, file: str = "") -> InternalError:
    path = file or None
    if program and not path:
        import tempfile  # here, because it takes milliseconds

        handle, path = tempfile.mkstemp(prefix="pypto-", suffix=".txt")
        with os.fdopen(handle, "w") as f:
            f.write(program)
        message += f"\n  the program at fault is in {path}; please report it"
    return InternalError(message, where, path)
