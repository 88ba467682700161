"""Files that are made from the tables: written when they change, or only checked."""

import sys


def settle(texts, command):
    """Writes the files that differ; with --check, ends with an error that names the command which does."""
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" not in sys.argv:
        for path in stale:
            path.write_text(texts[path], encoding="utf-8")
    elif stale:
        sys.exit(f"{', '.join(p.name for p in stale)}: not what the tables say; {command} writes them again")
