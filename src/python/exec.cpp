// Executables, their texts and facts, counters.
#include "python/bindings.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "api/session.h"
#include "base/interrupt.h"
#include "codegen/codegen.h"
#include "exec/reschedule.h"
#include "graph_passes/pipeline.h"
#include "loop_passes/pipeline.h"
#include "python/executables.h"
#include "runtime/cpu/allocator.h"
#include "runtime/cpu/pool.h"
#include "schedule/target.h"

namespace pto::python {
namespace {

CompileOptions options_of(const std::vector<std::string>& passes_off, const std::string& target,
                          bool disk_cache) {
  CompileOptions options;
  options.passes_off = passes_off;
  options.use_disk_cache = disk_cache;
  if (!target.empty()) options.target = make_target(target);
  return options;
}

Sizes sizes_of(const std::map<std::string, int64_t>& sizes) {
  Sizes result;
  for (const auto& [name, value] : sizes) result[Symbol(name)] = value;
  return result;
}

ExecutableHandle compile_graph(const GraphHandle& g, const std::vector<std::string>& passes_off,
                               const std::string& target, bool disk_cache) {
  const CompileOptions options = options_of(passes_off, target, disk_cache);
  const nb::gil_scoped_release release;
  return {compile(*g.graph, options)};
}

ExecutableHandle with_schedule(const ExecutableHandle& e, const std::string& text) {
  const AtCaller at;
  return {std::make_shared<Executable>(with_schedules(*e.executable, text), e.executable->options())};
}

nb::dict counters_dict() {
  const Counters& c = counters();
  nb::dict d;
  d["traces"] = c.traces.load();
  d["graphs_compiled"] = c.graphs_compiled.load();
  d["kernels_compiled"] = c.kernels_compiled.load();
  d["size_classes"] = c.size_classes.load();
  d["disk_hits"] = c.disk_hits.load();
  d["launches"] = c.launches.load();
  d["runs"] = c.runs.load();
  d["compile_microseconds"] = c.compile_microseconds.load();
  return d;
}

nb::dict memory_dict(const ExecutableHandle& e, const std::map<std::string, int64_t>& sizes) {
  const MemoryPlan plan = e.executable->memory(sizes_of(sizes));
  nb::dict d;
  d["arena"] = plan.arena_bytes;
  d["inputs"] = plan.input_bytes;
  d["outputs"] = plan.output_bytes;
  d["constants"] = plan.constant_bytes;
  return d;
}

// What the compiler did: kernels by name with how many operators and launches, and the reasons.
nb::dict summary(const ExecutableHandle& e) {
  const Program& p = e.executable->program();
  nb::list steps;
  for (const Step& s : p.steps)
    steps.append(nb::make_tuple(s.kind == StepKind::Launch    ? "launch"
                                : s.kind == StepKind::Copy    ? "copy"
                                : s.kind == StepKind::Foreign ? "foreign"
                                : s.kind == StepKind::Cond    ? "cond"
                                : s.kind == StepKind::While   ? "while"
                                                              : "scan",
                                s.kernel.str(), s.inputs, s.outputs,
                                s.loc.known() ? s.loc.str() : std::string()));
  nb::list buffers;
  for (const auto& b : p.buffers)
    buffers.append(nb::make_tuple(b.name.str(),
                                  b.kind == BufferKind::Input      ? "input"
                                  : b.kind == BufferKind::Constant ? "constant"
                                  : b.kind == BufferKind::Temp     ? "temp"
                                                                   : "output",
                                  TensorType{b.dtype, b.shape}.str()));
  nb::dict kernels;
  for (const auto& [name, kernel] : p.kernels)
    kernels[name.str().c_str()] = nb::make_tuple(to_text(kernel), kernel.because);
  nb::dict d;
  d["steps"] = steps;
  d["buffers"] = buffers;
  d["kernels"] = kernels;
  d["because"] = p.because;
  return d;
}

// Ctrl-C and other signals: what their Python handlers raise ends the program that runs.
void check_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

void bind_exec(nb::module_& m) {
  set_interrupt_check(&check_signals);
  nb::class_<ExecutableHandle>(m, "Executable")
      .def_static(
          "parse",
          [](const std::string& text) {
            Program program = parse_program(text);
            verify(program, "parse");
            return ExecutableHandle{std::make_shared<Executable>(std::move(program), CompileOptions{})};
          })
      .def("__str__", [](const ExecutableHandle& e) { return to_text(e.executable->program()); })
      .def("text",
           [](const ExecutableHandle& e, const std::string& level,
              const std::map<std::string, int64_t>& sizes) {
             const nb::gil_scoped_release release;
             return e.executable->text(level, sizes_of(sizes));
           })
      .def("memory", &memory_dict)
      .def("summary", &summary)
      .def("with_schedule", &with_schedule)
      .def("run",
           [](const ExecutableHandle& e, nb::handle tensors, const std::map<std::string, int64_t>& sizes) {
             std::vector<BufferPtr> inputs = buffers_of(tensors);
             std::vector<BufferPtr> outputs;
             {
               const AtCaller at;
               const nb::gil_scoped_release release;
               outputs = e.executable->run(inputs, sizes_of(sizes));
             }
             nb::list results;
             for (auto& b : outputs) results.append(wrap_outside(make_data(std::move(b))));
             return results;
           })
      .def("interpret", [](const ExecutableHandle& e, nb::handle tensors) {
        nb::list results;
        for (auto& b : interpret(e.executable->program(), buffers_of(tensors)))
          results.append(wrap_outside(make_data(std::move(b))));
        return results;
      });

  m.def("compile_graph", &compile_graph, nb::arg("graph"), nb::arg("passes_off") = std::vector<std::string>{},
        nb::arg("target") = "", nb::arg("disk_cache") = true);
  m.def("materialise", [](nb::handle tensors) {
    Values values;
    for (nb::handle t : tensors) values.push_back(value_of(t));
    const AtCaller at;
    const nb::gil_scoped_release release;
    materialise(values);
  });
  m.def("counters", &counters_dict);
  m.def("allocator_stats", [] {
    const AllocatorStats stats = allocator_stats();
    nb::dict d;
    d["in_use"] = stats.in_use_bytes;
    d["peak"] = stats.peak_bytes;
    d["cached"] = stats.cached_bytes;
    return d;
  });
  m.def("count_trace", [] { counters().traces++; });
  m.def("num_threads", &num_threads);
  m.def("set_num_threads", &set_num_threads);
  m.def("target_names", &target_names);
  m.def("host_target", [] { return host_target().name; });
  m.def("graph_passes", [] {
    nb::list all;
    for (const auto& p : graph_passes()) all.append(nb::make_tuple(p.name, p.doc));
    return all;
  });
  m.def("loop_passes", [] {
    nb::list all;
    for (const auto& p : loop_passes()) all.append(nb::make_tuple(p.name, p.doc));
    return all;
  });
  m.def("llvm_available", [] {
    std::string why;
    return nb::make_tuple(llvm_available(&why), why);
  });
}

}  // namespace pto::python
