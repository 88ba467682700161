"""Writes docs/reference.md from the tables: every function with its signature, and every operator. With --check, only says
whether it is up to date."""

import inspect
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from generated import settle  # noqa: E402

import pypto  # noqa: E402

HEAD = """\
# Reference

Made from the tables by `./dev docs`. `dim` and `keepdim` are accepted for `axis` and `keepdims`. A `Tensor` may be given as a
NumPy array, a number, a nested list, or another library's tensor; a `Shape` is an integer or a sequence of them.
"""
OPERATORS = """\
The rows of the operator table: what graphs consist of, and what the functions above become. The bound is the greatest error of
float32 results against exact ones, in units of the last place (ulp) or absolutely; none where results are exact.

| operator | family | inputs | bound | what it does |
|---|---|---|---|---|
"""
PARTS = [
    ("Compilation", "jit kernel Compiled spec TensorSpec custom_op foreign"),
    ("Control flow", "cond while_loop scan"),
    ("Gradients", "record grad_enabled no_grad is_grad_enabled"),
    ("Modules", "module Module Parameter Buffer"),
    (
        "Tensors and types",
        "Tensor is_tensor asarray from_numpy from_dlpack load save save_checkpoint load_checkpoint DType result_type Size",
    ),
    ("Session", "materialise counters num_threads set_num_threads op_table function_table Error InternalError"),
]

PACKAGES = [("Layers and losses", pypto.nn), ("Initialisers", pypto.nn.init), ("Optimisers", pypto.optim), ("Data", pypto.data)]


def plain(text):
    """Text of the tables as one paragraph in which Markdown reads nothing but code."""
    parts = " ".join(text.split()).replace("``", "`").split("`")
    for i in range(0, len(parts), 2):
        for c in "\\*<|[]":
            parts[i] = parts[i].replace(c, "\\" + c)
    return "`".join(parts)


class Bare(str):
    """Text that signatures show without quotes."""

    __repr__ = str.__str__


def bare(annotation):
    return Bare(annotation) if isinstance(annotation, str) else annotation


def parameters(value):
    """A Python function's signature as it is written."""
    signature = inspect.signature(value)
    shown = [p.replace(annotation=bare(p.annotation)) for p in signature.parameters.values()]
    return str(signature.replace(parameters=shown, return_annotation=bare(signature.return_annotation)))


def entry(heading, doc, notes=()):
    return f"- `{heading}`  \n  {' '.join([plain(doc), *notes])}"


def python_entry(name, value, prefix=""):
    if not callable(value) or isinstance(value, type):
        return entry(f"class {prefix}{name}", inspect.getdoc(value))
    return entry(prefix + name + parameters(value), inspect.getdoc(value))


def members(cls):
    """What a class defines beside the functions of the table: methods with their parameters, then properties."""
    for name, value in sorted(vars(cls).items()):
        if name.startswith("_") or getattr(value, "__module__", "") == "pypto" or not inspect.getdoc(value):
            continue
        if isinstance(value, property):
            yield entry(f"{cls.__name__}.{name}", inspect.getdoc(value))
        elif inspect.isfunction(value):
            yield entry(f"{cls.__name__}.{name}{parameters(value)}", inspect.getdoc(value))


def function_entry(row):
    aliases = ", ".join(f"`{a}`" for a in row["aliases"])
    notes = [f"Also named {aliases}."] if aliases else []
    if row["method"]:
        notes.append("Also a method.")
    return entry(f"{row['name']}({row['signature']}) -> {row['returns']}", row["doc"], notes)


def operator_line(row):
    least, most = row["min_inputs"], row["max_inputs"]
    inputs = str(least) if least == most else f"{least} or more" if most < 0 or most > 99 else f"{least} to {most}"
    test, bounds = row["test"], []
    if not test["exact"] and row["family"] not in ("control", "foreign"):
        bounds = [f"{test['ulp']:g} ulp"] + ([f"{test['atol']:g}"] if test["atol"] else [])
    return f"| `{row['name']}` | {row['family']} | {inputs} | {', '.join(bounds)} | {plain(row['doc'])} |"


def reference():
    sections = [HEAD]
    for title, names in PARTS:
        lines = []
        for name in names.split():
            value = getattr(pypto, name)
            lines.append(python_entry(name, value))
            if isinstance(value, type):
                lines += members(value)
        sections.append(f"## {title}\n\n" + "\n".join(lines) + "\n")
    for title, package in PACKAGES:
        names = [n for n in package.__all__ if n not in ("init", "schedules", "Buffer", "Module", "Parameter")]
        lines = [python_entry(n, getattr(package, n), package.__name__.removeprefix("pypto.") + ".") for n in names]
        sections.append(f"## {title}\n\n" + "\n".join(lines) + "\n")
    own = [row for row in pypto.function_table() if hasattr(pypto, row["name"]) and not hasattr(pypto.random, row["name"])]
    sections.append("## Functions\n\n" + "\n".join(map(function_entry, sorted(own, key=lambda r: r["name"]))) + "\n")
    draws = [python_entry(n, getattr(pypto.random, n), "random.") for n in pypto.random.__all__ if n != "default_generator"]
    sections.append("## Random numbers\n\n" + "\n".join(draws) + "\n")
    sections.append("## Operators\n\n" + OPERATORS + "\n".join(map(operator_line, pypto.op_table())) + "\n")
    return "\n".join(sections)


if __name__ == "__main__":
    settle({ROOT / "docs" / "reference.md": reference()}, "./dev docs")
