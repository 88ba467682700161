// Traces: graphs being built from Python, and the nodes with nested graphs.
#include "python/bindings.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <unordered_set>
#include <utility>

#include "api/session.h"
#include "autodiff/batch.h"
#include "exec/program.h"
#include "graph_passes/rewrite.h"
#include "ops/builder.h"
#include "ops/control.h"
#include "ops/foreign.h"
#include "ops/instantiate.h"
#include "python/executables.h"
#include "python/graphs.h"

namespace pto::python {
namespace {

thread_local TraceHandle* t_entered = nullptr;

void enter(TraceHandle& t) {
  PTO_CHECK(!t.scope, "trace", "a trace is entered twice");
  t.outer = current_trace();
  t.around = std::exchange(t_entered, &t);
  t.scope = std::make_unique<WithSizeContext>(t.sizes);
  set_current_trace(t.id);
}

void leave(TraceHandle& t) {
  set_current_trace(t.outer);
  t_entered = t.around;
  t.scope.reset();
  for (const auto& met : t.gradients) met.slot->gradient = met.before;
}

nb::object add_input(TraceHandle& t, const std::string& name, nb::handle dtype, nb::handle shape) {
  const Value v = make_input(name, {dtype_of(dtype), shape_of_object(shape)}, caller_loc());
  t.inputs.push_back(v.node);
  nb::object tensor = wrap(v);
  tensor_handle(tensor).trace = t.id;
  return tensor;
}

// A size symbol, with its value in the call that is being traced.
nb::object add_size(TraceHandle& t, const std::string& name, int64_t hint) {
  const Symbol symbol(name);
  t.sizes.hints[symbol] = hint;
  return nb::cast(SizeHandle{var(symbol)});
}

// An int that is known at run time only. Symbols are never negative: a negative int is one with a minus.
nb::object add_integer(TraceHandle& t, const std::string& name, int64_t hint) {
  const Symbol symbol(name);
  t.sizes.hints[symbol] = std::abs(hint);
  return nb::cast(SizeHandle{hint < 0 ? make(Op::Neg, {var(symbol)}) : var(symbol)});
}

// A size symbol without a value: what operations need of it is assumed, and becomes a guard.
nb::object add_symbol(TraceHandle&, const std::string& name) {
  return nb::cast(SizeHandle{var(Symbol(name))});
}

// A float that is known at run time only, carried as the bits of a symbol.
nb::object add_number(TraceHandle& t, const std::string& name, double hint) {
  const Symbol symbol(name);
  t.sizes.hints[symbol] = std::bit_cast<int64_t>(hint);
  return nb::cast(SizeHandle{bitcast(DType::F64, var(symbol))});
}

// Keeps what impure nodes do. Results of a nested graph are its node's, so there the first waits for them.
void keep_effects(Graph& graph, const Values& effects, bool nested) {
  if (nested && graph.outputs.empty()) graph.outputs.push_back(full({}, Scalar::from_bool(true)));
  std::unordered_set<const Node*> reached;
  for (const auto& node : topological(graph.outputs)) reached.insert(node.get());
  Values unused;
  for (const auto& effect : effects)
    if (!reached.count(effect.node.get())) unused.push_back(effect);
  if (!nested)
    graph.outputs.insert(graph.outputs.end(), unused.begin(), unused.end());
  else if (!unused.empty())
    graph.outputs[0] = after(graph.outputs[0], unused);
}

// `inputs` are tensors in the order wanted, which a nested graph has, or None: as they were made.
GraphPtr finish(TraceHandle& t, nb::handle outputs, const std::string& name, nb::handle inputs) {
  auto graph = std::make_shared<Graph>();
  graph->name = name;
  if (inputs.is_none())
    graph->inputs = t.inputs;
  else
    for (nb::handle input : inputs) graph->inputs.push_back(tensor_handle(input).value.node);
  for (nb::handle output : outputs) graph->outputs.push_back(tensor_handle(output).value);
  keep_effects(*graph, t.effects, !inputs.is_none());
  *graph = copied(*graph);
  std::unordered_set<Expr, ExprHash> seen;
  for (const auto& guard : t.sizes.guards) {
    const Expr simple = simplify(guard);
    if (!simple.is_const() && seen.insert(simple).second) graph->guards.push_back(simple);
  }
  verify(*graph, "trace");
  return graph;
}

// Of the gradients from outside that the trace met: (the Tensor before or None, the one now or None, whether
// they differ).
nb::list met_gradients(const TraceHandle& t) {
  nb::list all;
  for (const auto& met : t.gradients) {
    const nb::object& now = met.slot->gradient;
    const Value value = now.is_none() ? Value() : tensor_handle(now).value;
    all.append(nb::make_tuple(met.before, now, !(value == met.inside)));
  }
  return all;
}

// Guards of a nested graph hold for the graph around it.
void pass_guards(const GraphPtr& graph) {
  for (const auto& guard : graph->guards) size_context().guards.push_back(guard);
}

// Effects belong to the trace that is entered; outside of traces they happen at once.
void keep_effects_outside(const Values& effects) {
  if (effects.empty()) return;
  if (current_trace() != 0) {
    PTO_CHECK(t_entered && t_entered->id == current_trace(), "trace", "an effect outside its trace");
    t_entered->effects.insert(t_entered->effects.end(), effects.begin(), effects.end());
  } else {
    const nb::gil_scoped_release release;
    materialise(effects);
  }
}

nb::object control(const std::string& row, std::shared_ptr<Attrs> attrs, nb::handle operands,
                   const std::vector<GraphPtr>& graphs) {
  const AtCaller at;
  for (const auto& g : graphs) pass_guards(g);
  Values inputs;
  for (nb::handle o : operands) inputs.push_back(value_of(o));
  const NodePtr node = make_node(pto::row(row), inputs, std::move(attrs), current_loc());
  const Values results = results_of(node);
  if (!results.empty() && !is_pure(*node)) keep_effects_outside({results[0]});
  return wrap_all(results, false);
}

GraphPtr without_guards(const GraphPtr& graph) {
  auto copy = std::make_shared<Graph>(*graph);
  copy->guards.clear();
  return copy;
}

nb::object make_cond(nb::handle operands, GraphPtr then, GraphPtr orelse) {
  auto attrs = std::make_shared<CondAttrs>();
  attrs->then = without_guards(then);
  attrs->orelse = without_guards(orelse);
  return control("cond", attrs, operands, {then, orelse});
}

nb::object make_while(nb::handle operands, int64_t state, GraphPtr condition, GraphPtr body) {
  auto attrs = std::make_shared<WhileAttrs>();
  attrs->state = state;
  attrs->condition = without_guards(condition);
  attrs->body = without_guards(body);
  return control("while_loop", attrs, operands, {condition, body});
}

nb::object make_scan(nb::handle operands, int64_t carries, int64_t sequences, nb::handle length, bool reverse,
                     GraphPtr body) {
  auto attrs = std::make_shared<ScanLoopAttrs>();
  attrs->carries = carries;
  attrs->sequences = sequences;
  attrs->length = {size_of_object(length)};
  attrs->reverse = reverse;
  attrs->body = without_guards(body);
  return control("scan_loop", attrs, operands, {body});
}

// Runs a Python callable from whichever thread; its exceptions come back as they are.
struct PythonFunction {
  nb::object callable;
};

// A function stays registered as long as this, or a graph or program that calls it.
struct ForeignHandle {
  int64_t number;
  std::shared_ptr<const void> registration;
};

std::shared_ptr<PythonFunction> hold(nb::object callable) {
  return {new PythonFunction{std::move(callable)}, [](PythonFunction* f) {
            if (!Py_IsInitialized()) return;
            const nb::gil_scoped_acquire gil;
            delete f;
          }};
}

// rule(size, batched, operands) -> the results, all with the batch's axis.
struct PythonBatchRule {
  std::shared_ptr<PythonFunction> held;
  std::string name;

  Values operator()(const Batch& b) const {
    const nb::gil_scoped_acquire gil;
    nb::list batched, operands;
    for (const bool flag : b.batched) batched.append(nb::bool_(flag));
    for (const auto& x : b.x) operands.append(wrap(x));
    nb::object given = held->callable(size_object(b.size), nb::tuple(batched), nb::tuple(operands));
    Values results;
    for (nb::handle h : given) results.push_back(value_of(h));
    const auto& types = b.node.outputs();
    bool fits = results.size() == types.size();
    for (size_t i = 0; fits && i < types.size(); i++) {
      Shape shape = types[i].shape;
      shape.insert(shape.begin(), b.size);
      fits = results[i].dtype() == types[i].dtype && results[i].rank() == static_cast<int>(shape.size());
      for (size_t d = 0; fits && d < shape.size(); d++) fits = sizes_agree(results[i].shape()[d], shape[d]);
    }
    if (!fits)
      throw Error({.op = name,
                   .message = "the batching rule must give every result with the batch as its leading axis",
                   .loc = b.node.loc()});
    return results;
  }
};

ForeignHandle register_python(nb::object callable) {
  const auto held = hold(std::move(callable));
  const int64_t number = register_foreign([held](const std::vector<BufferPtr>& inputs) {
    const nb::gil_scoped_acquire gil;
    const uint64_t trace = current_trace();
    set_current_trace(0);
    struct Restore {
      uint64_t trace;
      ~Restore() { set_current_trace(trace); }
    } restore{trace};
    nb::list args;
    for (const auto& b : inputs) args.append(wrap_outside(make_data(b)));
    nb::object results = held->callable(*nb::tuple(args));
    return buffers_of(results);
  });
  return {number, std::shared_ptr<const void>(nullptr, [number](const void*) { release_foreign(number); })};
}

nb::object make_foreign(const std::string& name, const ForeignHandle& function, bool pure,
                        nb::handle operands, nb::handle dtypes, nb::handle shapes, nb::object rule) {
  const AtCaller at;
  auto attrs = std::make_shared<ForeignAttrs>();
  attrs->name = name;
  attrs->function = function.number;
  attrs->registration = function.registration;
  attrs->pure = pure;
  for (size_t i = 0; i < nb::len(dtypes); i++)
    attrs->add_result({dtype_of(dtypes[i]), shape_of_object(shapes[i])});
  if (!rule.is_none()) attrs->batch = PythonBatchRule{hold(std::move(rule)), name};
  return control("foreign", attrs, operands, {});
}

// The results of a trace for operands of which the first `batched` have a new leading axis, each with whether
// it has the axis; the operands stand for the trace's inputs in their order. Belongs to the trace around.
nb::object batch_trace(const TraceHandle& t, nb::handle outputs, nb::handle operands, size_t batched,
                       nb::handle size) {
  const AtCaller at;
  for (const auto& guard : t.sizes.guards)
    if (const Expr simple = simplify(guard); !simple.is_const()) size_context().guards.push_back(simple);
  Values roots, variables;
  for (nb::handle output : outputs) roots.push_back(tensor_handle(output).value);
  const size_t wanted = roots.size();
  roots.insert(roots.end(), t.effects.begin(), t.effects.end());
  for (const auto& input : t.inputs) variables.push_back({input, 0});
  Batched given;
  for (nb::handle operand : operands) {
    given.batched.push_back(given.values.size() < batched);
    given.values.push_back(value_of(operand));
  }
  const Batched results = batch(roots, variables, given, size_of_object(size));
  keep_effects_outside({results.values.begin() + static_cast<int64_t>(wanted), results.values.end()});
  nb::list all;
  for (size_t i = 0; i < wanted; i++)
    all.append(nb::make_tuple(wrap(results.values[i]), static_cast<bool>(results.batched[i])));
  return all;
}

}  // namespace

TraceHandle* entered_trace() { return t_entered; }

void bind_graphs(nb::module_& m) {
  nb::class_<GraphHandle>(m, "Graph")
      .def_static("parse",
                  [](const std::string& text) {
                    auto graph = std::make_shared<Graph>(parse_graph(text));
                    verify(*graph, "parse");
                    return GraphHandle{graph};
                  })
      .def("__str__", [](const GraphHandle& g) { return to_text(*g.graph); })
      .def_prop_ro("name", [](const GraphHandle& g) { return g.graph->name; })
      .def_prop_ro("guards",
                   [](const GraphHandle& g) {
                     std::vector<std::string> texts;
                     for (const auto& guard : g.graph->guards) texts.push_back(to_text(guard));
                     return texts;
                   })
      .def_prop_ro("nodes",
                   [](const GraphHandle& g) {
                     // (row, inputs as (node, result), outputs as text, location, path) in topological order
                     nb::list all;
                     std::unordered_map<const Node*, int> number;
                     for (const auto& node : g.graph->order()) {
                       number.emplace(node.get(), static_cast<int>(number.size()));
                       nb::list inputs, outputs;
                       for (const auto& v : node->inputs())
                         inputs.append(nb::make_tuple(number.at(v.node.get()), v.index));
                       for (const auto& t : node->outputs()) outputs.append(t.str());
                       const LocInfo& loc = node->loc().info();
                       all.append(nb::make_tuple(node->row()->name, inputs, outputs,
                                                 node->loc().known() ? loc.file : "", loc.line, loc.path));
                     }
                     return all;
                   })
      .def_prop_ro("input_types",
                   [](const GraphHandle& g) {
                     std::vector<std::string> texts;
                     for (const auto& n : g.graph->inputs) texts.push_back(n->outputs()[0].str());
                     return texts;
                   })
      .def("interpret", [](const GraphHandle& g, nb::handle inputs) {
        std::vector<BufferPtr> buffers = buffers_of(inputs);
        for (auto& b : buffers) b = packed(b);
        nb::list results;
        for (auto& b : interpret(*g.graph, buffers)) results.append(wrap_outside(make_data(b)));
        return results;
      });

  nb::class_<TraceHandle>(m, "Trace")
      .def("__init__", [](TraceHandle* t, uint64_t id) { new (t) TraceHandle{id}; })
      .def_ro("id", &TraceHandle::id)
      .def("enter", &enter)
      .def("leave", &leave)
      .def("input", &add_input)
      .def("size", &add_size)
      .def("symbol", &add_symbol)
      .def("integer", &add_integer)
      .def("gradients", &met_gradients)
      .def("number", &add_number)
      // Hints of the trace around this one hold inside too.
      .def("inherit",
           [](TraceHandle& t, const TraceHandle& outer) {
             t.sizes.hints.insert(outer.sizes.hints.begin(), outer.sizes.hints.end());
           })
      .def(
          "finish",
          [](TraceHandle& t, nb::handle outputs, const std::string& name, nb::handle inputs) {
            return GraphHandle{finish(t, outputs, name, inputs)};
          },
          nb::arg("outputs"), nb::arg("name"), nb::arg("inputs") = nb::none());

  m.def("make_cond", [](nb::handle operands, const GraphHandle& then, const GraphHandle& orelse) {
    return make_cond(operands, then.graph, orelse.graph);
  });
  m.def("make_while",
        [](nb::handle operands, int64_t state, const GraphHandle& condition, const GraphHandle& body) {
          return make_while(operands, state, condition.graph, body.graph);
        });
  m.def("make_scan", [](nb::handle operands, int64_t carries, int64_t sequences, nb::handle length,
                        bool reverse, const GraphHandle& body) {
    return make_scan(operands, carries, sequences, length, reverse, body.graph);
  });
  nb::class_<ForeignHandle>(m, "ForeignFunction");
  m.def("register_foreign", &register_python);
  m.def("make_foreign", &make_foreign, nb::arg("name"), nb::arg("function"), nb::arg("pure"),
        nb::arg("operands"), nb::arg("dtypes"), nb::arg("shapes"), nb::arg("rule").none());
  m.def("batch", &batch_trace);

  nb::class_<NameScope>(m, "NameScope")
      .def(nb::init<std::string, bool>(), nb::arg("name"), nb::arg("whole") = false)
      .def("__enter__", [](NameScope& s) { s.scope = std::make_unique<WithName>(s.name, s.whole); })
      .def("__exit__", [](NameScope& s, nb::args) { s.scope.reset(); });
  // The path of names of the program that is being built.
  m.def("current_path", [] { return current_loc().known() ? current_loc().info().path : std::string(); });
}

}  // namespace pto::python
