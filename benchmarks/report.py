"""Figures with the bounds that some of them have, printed and as a table."""

import os
import pathlib
import platform

UNITS = {"ms": (1e3, 1), "us": (1e6, 1), "MB": (1e-6, 0), "GB/s": (1e-9, 1), "": (1, 2), "count": (1, 0), "error": (1, -1)}


class Report:
    """Rows of a table, and what missed its bound."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []
        self.missed: list[str] = []

    def add(self, name: str, value: float, unit: str, at_most: float | None = None, at_least: float | None = None) -> None:
        """A value in seconds, bytes or bytes a second, or without unit."""
        scale, digits = UNITS[unit]
        suffix = f" {unit}" if unit not in ("", "count", "error") else ""
        shown = (f"{value:.1e}" if digits < 0 else f"{value * scale:.{digits}f}") + suffix
        bound, kept = "", True
        for word, limit, holds in (("at most", at_most, lambda b: value <= b), ("at least", at_least, lambda b: value >= b)):
            if limit is not None:
                bound = f"{word} {f'{limit:.0e}' if digits < 0 else f'{limit * scale:g}'}{suffix}"
                kept = holds(limit)
        verdict = f"   {bound}: {'ok' if kept else 'MISSED'}" if bound else ""
        print(f"  {name:58} {shown:>12}{verdict}", flush=True)
        self.rows.append((name, shown, bound))
        if not kept:
            self.missed.append(name)

    def markdown(self, about: str) -> str:
        lines = [about, "", "| figure | measured | bound |", "|---|---|---|"]
        return "\n".join(lines + [f"| {n} | {v} | {b} |" for n, v, b in self.rows]) + "\n"

    def finish(self, about: str, markdown: str | None) -> int:
        """Writes the table if asked, and says what was missed; the exit status."""
        if markdown:
            pathlib.Path(markdown).write_text(self.markdown(about))
        if self.missed:
            print(f"\nmissed: {', '.join(self.missed)}")
        return 1 if self.missed else 0


def cpu() -> str:
    """The name of the processor."""
    try:
        names = [line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        return names[0].split(":")[1].strip()
    except (OSError, IndexError):
        return platform.machine()


def machine(threads: int) -> str:
    return f"{cpu()}, {os.cpu_count()} cores, {threads} threads"
