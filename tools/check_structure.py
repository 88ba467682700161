"""Checks of the tree: include direction, names of composites, length of files, linked libraries."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A folder includes from those before it, and from itself.
ORDER = "base expr graph ops autodiff graph_passes tile schedule loop loop_passes codegen exec api".split()
FREE = {"python": None, "tools": None, "runtime": {"base", "runtime"}}
# Composites are read off the table of functions; what is left here are parts of their names.
COMPOSITES = re.compile(r"softmax|attention|\bgelu|layer_?norm|rms_?norm|\brope\b|cross_entropy", re.IGNORECASE)
# Functions whose names are ordinary words in a compiler as well.
WORDS = set(
    "acosh all any asinh atanh chunk clamp clip expand flatten full gather hypot isinf isnan linear max min normal ones"
    " pad split square stack std sum take tile transpose var".split()
)
BELOW_GRAPH = ["tile", "schedule", "loop", "codegen"]
FORBIDDEN = re.compile(
    r"blas|lapack|dnnl|mkl|eigen|armpl|svml|sleef|amath|mvec|_ZGV[bcdenrsv]|accelerate\.framework", re.IGNORECASE
)
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


def words(identifier):
    """isAllOnes and is_all_ones: "_is_all_ones_"."""
    return f"_{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', identifier).lower()}_"


def composites():
    """Functions that are no rows of the operator table, by name and alias."""
    rows, functions = set(), set()
    for path in sorted((ROOT / "src" / "ops").glob("*.cpp")):
        text = path.read_text()
        if path.name.startswith("functions"):
            functions |= set(re.findall(r'\{\.name = "(\w+)"', text))
            for aliases in re.findall(r"\.aliases = \{([^}]*)\}", text):
                functions |= set(re.findall(r'"(\w+)"', aliases))
        else:
            rows |= set(re.findall(r'"(\w+)"', text))
    return functions - rows - WORDS


def composite_names():
    """No composite's name in code below the tensor graph (comments may explain with one)."""
    names = composites()
    if not {"softmax", "gelu", "layer_norm", "rms_norm", "scaled_dot_product_attention"} <= names:
        yield "src/ops: the table of functions is written in another way than this check reads"
    for folder in BELOW_GRAPH:
        for path in sorted((ROOT / "src" / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code = line.split("//")[0]
                parts = "".join(words(t) for t in re.findall(r"[A-Za-z_]\w*", code))
                if COMPOSITES.search(code) or any(f"_{name}_" in parts for name in names):
                    yield f"{path.relative_to(ROOT)}:{number}: names a composite: {line.strip()}"


def file_lengths():
    for folder in ("src", "include", "python", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".py"):
                lines = path.read_text().count("\n")
                if lines > MAX_LINES:
                    yield f"{path.relative_to(ROOT)}: {lines} lines"


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def linked_libraries(build):
    """Neither a library of others' kernels nor one of vector functions: linked, called by name, or opened."""
    built = [*(build / "lib").glob("*.so*"), *(ROOT / "python" / "pypto").glob("*.so"), build / "bin" / "pto-opt"]
    if not any("_core" in path.name for path in built) or not any("pto_llvm" in path.name for path in built):
        yield f"{build}: nothing built to look at"
    for path in sorted(path for path in built if path.exists()):
        for line in output_of("ldd", str(path)).splitlines():
            if FORBIDDEN.search(line.split("=>")[0]):
                yield f"{path.name} links {line.strip()}"
        for line in output_of("nm", "-D", "--undefined-only", str(path)).splitlines():
            if FORBIDDEN.search(line):
                yield f"{path.name} calls {line.split()[-1]}"
    sources = [path for path in (ROOT / "src").rglob("*") if path.suffix in (".h", ".cpp")]
    for path in sorted([*sources, ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*"), *(ROOT / "python").rglob("*.py")]):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if FORBIDDEN.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: names a library that must not be used: {line.strip()}"


def main():
    build = pathlib.Path(sys.argv[1])
    problems = [*include_direction(), *composite_names(), *file_lengths(), *linked_libraries(build)]
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
