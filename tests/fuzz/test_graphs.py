"""Random graphs through all levels: interpreted, compiled, lazily, parsed back from text, without each pass.

Of every graph the compiled results are compared with the interpreters of the tensor graph and of the tile
level, and the text of the graph and of the program is parsed back and run. What compiles it once more is
done for a fixed share: lazy evaluation (a half), the text of a lower level run and interpreted (a third,
one of them), one pass off by name (a third), narrower registers (a sixth), other values of the named sizes
(half of those that have any). How near results must be is told by float64 and by noise (compare.py).
"""

import collections
from random import Random

import numpy as np
from compare import GRAPH_PASSES, OPTIONAL, Levels, graph_rows
from hypothesis import HealthCheck, given, settings
from maker import MISFITS, NAMES, TABLE, programs
from programs import Program

import pypto as pto
from pypto import _core

GRAPHS = 1000
# Constants are what folding leaves, and no function reads bits as another type: see the second test.
IN_TEXT_ONLY = {"constant", "bitcast"}
# Of which a program's checks take one each.
TEXTS = ["tile", "schedule", "loop", "loop.lowered"]
PASSES = [*GRAPH_PASSES, *OPTIONAL]
WIDTHS = ["x86.sse", "x86.avx2", "x86.avx512"]
HOST = _core.host_target()
NARROW = WIDTHS[: WIDTHS.index(HOST)] if HOST in WIDTHS[1:] else [HOST]


class Drawn:
    """What the graphs had in them."""

    def __init__(self) -> None:
        self.names: collections.Counter = collections.Counter()
        self.rows: collections.Counter = collections.Counter()
        self.dtypes: collections.Counter = collections.Counter()
        self.layouts: collections.Counter = collections.Counter()
        self.graphs = self.nodes = self.sized = self.ran_sized = 0

    def note(self, program: Program, levels: Levels) -> None:
        self.graphs += 1
        rows = graph_rows(levels.graph)
        self.nodes += len(rows)
        self.rows.update(rows)
        self.names.update(c.name for c in program.calls)
        self.dtypes.update(program.dtypes)
        self.layouts.update(x.layout for x in program.inputs)


def other_sizes(program: Program, turn: Random) -> dict[int, int]:
    """Another value for each named size, the literal ones apart."""
    return dict(zip(program.symbols, turn.sample([0, 1, 2, 11, 16, 18, 23, 37, 70], len(program.symbols))))


def test_graphs(request):
    drawn = Drawn()
    slow = request.config.getoption("--slow")

    @settings(
        max_examples=GRAPHS * 10 if slow else GRAPHS,
        derandomize=True,
        database=None,
        deadline=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def run(program):
        levels = Levels(program)
        drawn.note(program, levels)
        levels.tile()
        levels.graph_text()
        levels.exec_text()
        # The program itself says which, so that it fails again in the same way.
        turn = Random(program.made)
        if turn.random() < 1 / 2:
            drawn.rows.update(levels.lazy())
        if turn.random() < 1 / 3:
            levels.text(turn.choice(TEXTS))
        if turn.random() < 1 / 3:
            levels.without(turn.choice(PASSES))
        if turn.random() < 1 / 6:
            levels.narrow(turn.choice(NARROW))
        if turn.random() < 1 / 2 and program.symbols:
            drawn.sized += 1
            drawn.ran_sized += levels.other_sizes(other_sizes(program, turn))

    run()
    assert drawn.graphs >= GRAPHS
    assert len(MISFITS) < drawn.graphs / 50, MISFITS[:10]
    assert drawn.nodes >= 12 * drawn.graphs, f"{drawn.nodes / drawn.graphs:.1f} nodes a graph"
    assert not [name for name in set(NAMES) | set(TABLE) if not drawn.names[name]]
    assert {row["name"] for row in pto.op_table() if not drawn.rows[row["name"]]} <= IN_TEXT_ONLY
    assert all(drawn.dtypes[d.name] for d in pto._dtypes.all_dtypes)
    assert all(drawn.layouts[layout] for layout in ("plain", "reversed", "transposed", "doubled", "repeated"))
    assert drawn.ran_sized > drawn.sized / 3, (drawn.ran_sized, drawn.sized)


def test_rows_that_no_function_makes():
    text = """graph bits(x: f32[37], y: i32[37]) {
  %0 = bitcast(x) {dtype = i32} : i32[37]
  %1 = add(%0, y) : i32[37]
  %2 = bitcast(%1) {dtype = f32} : f32[37]
  return %0, %2
}
"""
    graph = _core.Graph.parse(text)
    x = np.random.default_rng(1).normal(0, 3, 37).astype(np.float32)
    y = np.arange(37, dtype=np.int32)
    tensors = [pto.asarray(x), pto.asarray(y)]
    for got in (graph.interpret(tensors), _core.compile_graph(graph).run(tensors, {})):
        np.testing.assert_array_equal(got[0].numpy(), x.view(np.int32))
        np.testing.assert_array_equal(got[1].numpy().view(np.int32), x.view(np.int32) + y)

    folded = pto.jit(lambda: pto.arange(37) * 3 + 1)
    np.testing.assert_array_equal(folded().numpy(), np.arange(37) * 3 + 1)
