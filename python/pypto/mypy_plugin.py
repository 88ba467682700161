"""For mypy: ``Tensor["B", 64, float16]`` is a Tensor, and a class under ``@module`` is a Module.

In pyproject.toml: ``[tool.mypy] plugins = ["pypto.mypy_plugin"]``.
"""

from __future__ import annotations

import pathlib
import re
import time
from collections.abc import Callable, Iterator

from mypy.mro import MroError, calculate_mro
from mypy.nodes import AssignmentStmt, Block, FuncBase, FuncDef, MypyFile, Node, Statement, TypeInfo
from mypy.plugin import AnalyzeTypeContext, ClassDefContext, Plugin, ReportConfigContext
from mypy.types import CallableType, Instance, Type, UnboundType, UnionType

TENSORS = ("pypto.Tensor", "pypto._tensor.Tensor")
NAMED = re.compile(r"""\bTensor\[[^\]]*["']""")
MODULES = ("pypto.module", "pypto._module.module")


def _drop_names(t: Type | None) -> None:
    """Strings in the brackets of a Tensor name sizes; mypy would look them up as types."""
    if isinstance(t, UnionType):
        for item in t.items:
            _drop_names(item)
    elif isinstance(t, CallableType):
        for item in [*t.arg_types, t.ret_type]:
            _drop_names(item)
    elif isinstance(t, UnboundType):
        if t.name.rpartition(".")[2] == "Tensor":
            t.args = tuple(a for a in t.args if not (isinstance(a, UnboundType) and a.original_str_expr))
        for argument in t.args:
            _drop_names(argument)


def _statements(file: MypyFile) -> Iterator[Node]:
    """All statements, within functions, classes and blocks too."""
    stack: list[Node] = list(file.defs)
    while stack:
        node = stack.pop()
        if isinstance(node, Block):
            stack.extend(node.body)
            continue
        yield node
        for name in ("func", "items", "defs", "body", "else_body", "handlers", "finally_body"):
            inner = getattr(node, name, None)
            stack.extend(n for n in (inner if isinstance(inner, list) else [inner]) if isinstance(n, (Statement, FuncBase)))


def _names_sizes(path: str) -> bool:
    try:
        return NAMED.search(pathlib.Path(path).read_text(encoding="utf-8")) is not None
    except (OSError, ValueError):
        return False


def _tensor(context: AnalyzeTypeContext) -> Type:
    """The sizes and the element type in brackets are not types."""
    return context.api.named_type("pypto._tensor.Tensor", [])


def _module(context: ClassDefContext) -> None:
    """What the decorator does: Module becomes the last base."""
    info = context.cls.info
    found = context.api.lookup_fully_qualified_or_none("pypto._module.Module")
    if found is None or not isinstance(found.node, TypeInfo) or found.node in info.mro:
        return
    info.bases = [*(b for b in info.bases if b.type.fullname != "builtins.object"), Instance(found.node, [])]
    before, info.mro = info.mro, []
    try:
        calculate_mro(info)
    except MroError:
        info.mro = before
        context.api.fail("this class cannot be a Module", context.cls)


class PyPTOPlugin(Plugin):
    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        for node in _statements(file):
            if isinstance(node, (FuncDef, AssignmentStmt)):
                _drop_names(node.type)
                _drop_names(node.unanalyzed_type)
        return []

    def report_config_data(self, ctx: ReportConfigContext) -> object:
        # mypy shows us a file's text when it has no valid cache entry for it, so there must be none where sizes are named.
        return time.time_ns() if ctx.is_check and _names_sizes(ctx.path) else 0

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        return _tensor if fullname in TENSORS else None

    def get_class_decorator_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        return _module if fullname in MODULES else None


def plugin(version: str) -> type[Plugin]:
    """What mypy asks for."""
    return PyPTOPlugin
