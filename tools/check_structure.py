"""Checks of the tree: include direction, names of composites, length of files, linked libraries."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A folder includes from those before it, and from itself.
ORDER = ["base", "expr", "graph", "ops", "graph_passes", "tile", "schedule", "loop", "loop_passes", "codegen", "exec", "api"]
FREE = {"python": None, "tools": None, "runtime": {"base", "runtime"}}
COMPOSITES = re.compile(r"softmax|attention|\bgelu|layer_?norm|rms_?norm|\brope\b|cross_entropy", re.IGNORECASE)
BELOW_GRAPH = ["tile", "schedule", "loop", "codegen"]
FORBIDDEN = re.compile(r"blas|lapack|oneapi|dnnl|mkl|eigen|svml|sleef|amath", re.IGNORECASE)
MAX_LINES = 700


def include_direction():
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        folder = path.relative_to(ROOT / "src").parts[0]
        if folder in FREE and FREE[folder] is None:
            continue
        allowed = FREE.get(folder) or {*ORDER[: ORDER.index(folder) + 1], "runtime"}
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'#include "(\w+)/', line)
            public = folder == "api" and match and match[1] == "pto"  # the public header, which api implements
            if match and match[1] not in allowed and not public:
                yield f"{path.relative_to(ROOT)}:{number}: {folder} includes {match[1]}"


def composite_names():
    """No composite's name in code below the tensor graph (comments may explain with one)."""
    for folder in BELOW_GRAPH:
        for path in sorted((ROOT / "src" / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if COMPOSITES.search(line.split("//")[0]):
                    yield f"{path.relative_to(ROOT)}:{number}: names a composite: {line.strip()}"


def file_lengths():
    for folder in ("src", "include", "python", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".py"):
                lines = path.read_text().count("\n")
                if lines > MAX_LINES:
                    yield f"{path.relative_to(ROOT)}: {lines} lines"


def linked_libraries(build):
    for path in sorted((build / "lib").glob("*.so")):
        for line in subprocess.run(["ldd", path], capture_output=True, text=True).stdout.splitlines():
            if FORBIDDEN.search(line.split("=>")[0]):
                yield f"{path.name} links {line.strip()}"


def main():
    build = pathlib.Path(sys.argv[1])
    problems = [*include_direction(), *composite_names(), *file_lengths(), *linked_libraries(build)]
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
