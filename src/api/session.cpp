#include "api/session.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "api/backward_values.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "ops/builder.h"
#include "ops/leaf_attrs.h"
#include "ops/row.h"

namespace pto {
namespace {

// Pending graphs above this many nodes are computed piece by piece: chains of equal pieces compile once.
// A training step that is recorded is one piece.
constexpr size_t kMaxNodes = 2048, kMaxStepNodes = 1 << 17;
constexpr size_t kMaxCached = 512;

thread_local bool t_recorded = false;

bool is_leaf(const Node& node) { return node.has_data() || node.inputs().empty(); }

// A pending graph as a list of numbers, and the attributes they stand for. Equal structures compute the
// same function of their data.
struct Structure {
  std::vector<uint64_t> words;
  std::vector<AttrsPtr> attrs;
  uint64_t hash = 0;

  void add(uint64_t word) {
    words.push_back(word);
    hash = hash_combine(hash, word);
  }
  bool operator==(const Structure& other) const {
    if (hash != other.hash || words != other.words || attrs.size() != other.attrs.size()) return false;
    for (size_t i = 0; i < attrs.size(); i++)
      if (attrs[i] != other.attrs[i] && !equal_attrs(*attrs[i], *other.attrs[i])) return false;
    return true;
  }
};
struct StructureHash {
  size_t operator()(const Structure& s) const { return s.hash; }
};

// What is computed in one program.
struct Piece {
  std::vector<NodePtr> nodes;   // in topological order, leaves with data among them
  Values outputs;
};

bool is_number(const Node& node) { return !node.has_data() && node.row()->name == "full"; }

// All but the numbers of the program (the values of the row full), which are listed apart.
Structure structure_of(const Piece& piece, std::vector<BufferPtr>& data, std::vector<Scalar>& numbers) {
  Structure s;
  s.add(piece.nodes.size());
  std::unordered_map<const Node*, uint64_t> number;
  for (const auto& node : piece.nodes) {
    number.emplace(node.get(), number.size());
    if (node->has_data()) {
      s.add(node->outputs().size());
      for (size_t i = 0; i < node->outputs().size(); i++) {
        const auto& type = node->outputs()[i];
        s.add(static_cast<uint64_t>(type.dtype));
        s.add(type.shape.size());
        for (const auto& size : type.shape) s.add(static_cast<uint64_t>(size.as_int()));
        data.push_back(node->data(static_cast<int>(i)));
      }
      continue;
    }
    s.add(reinterpret_cast<uintptr_t>(node->row()));
    if (is_number(*node)) {
      const auto& attrs = attrs_of<FullAttrs>(*node);
      numbers.push_back(attrs.value);
      s.add(static_cast<uint64_t>(attrs.value.type));
      s.add(attrs.shape.size());
      for (const auto& size : attrs.shape) s.add(static_cast<uint64_t>(size.as_int()));
      s.add(node->loc().id());
      continue;
    }
    s.add(node->attrs() ? hash_attrs(*node->attrs()) : 0);
    if (node->attrs()) s.attrs.push_back(node->attrs());
    s.add(node->loc().id());
    s.add(node->inputs().size());
    for (const auto& v : node->inputs()) {
      s.add(number.at(v.node.get()));
      s.add(static_cast<uint64_t>(v.index));
    }
  }
  for (const auto& v : piece.outputs) {
    s.add(number.at(v.node.get()));
    s.add(static_cast<uint64_t>(v.index));
  }
  return s;
}

// A number that has had a second value is an operand of the program; others are constants of it.
class Numbers {
 public:
  std::vector<bool> operands(const Structure& structure, const std::vector<Scalar>& numbers) {
    const std::lock_guard lock(mutex_);
    if (seen_.size() > 8 * kMaxCached) seen_.clear();
    const auto [it, added] =
        seen_.try_emplace(structure, Seen{numbers, std::vector<bool>(numbers.size(), false)});
    auto& [first, varied] = it->second;
    for (size_t i = 0; i < numbers.size(); i++)
      if (!(numbers[i] == first[i])) varied[i] = true;
    return varied;
  }

 private:
  struct Seen {
    std::vector<Scalar> first;
    std::vector<bool> varied;
  };
  std::mutex mutex_;
  std::unordered_map<Structure, Seen, StructureHash> seen_;
};

// Adds to a structure the numbers that are constants, to the data those that are operands.
void add_numbers(Structure& s, const std::vector<Scalar>& numbers, const std::vector<bool>& operands,
                 std::vector<BufferPtr>& data) {
  for (size_t i = 0; i < numbers.size(); i++) {
    s.add(operands[i] ? 1 : 0);
    if (!operands[i]) {
      s.add(numbers[i].bits);
      continue;
    }
    BufferPtr buffer = make_buffer(numbers[i].type, {});
    numbers[i].to_bytes(buffer->data);
    data.push_back(std::move(buffer));
  }
}

// The same nodes over inputs in place of data, and of those numbers that are operands.
Graph graph_of(const Piece& piece, const std::vector<bool>& operands) {
  Graph graph;
  graph.name = "lazy";
  std::unordered_map<const Node*, Values> replaced;
  std::vector<NodePtr> number_inputs;
  size_t number = 0;
  for (const auto& node : piece.nodes) {
    Values results;
    if (is_number(*node) && operands[number++]) {
      const auto& attrs = attrs_of<FullAttrs>(*node);
      const Value x =
          make_input("n" + std::to_string(number_inputs.size()), {attrs.value.type, {}}, node->loc());
      number_inputs.push_back(x.node);
      const WithLoc at(node->loc());
      results.push_back(broadcast_to(x, attrs.shape));
    } else if (node->has_data()) {
      for (const auto& type : node->outputs()) {
        results.push_back(make_input("x" + std::to_string(graph.inputs.size()), type, node->loc()));
        graph.inputs.push_back(results.back().node);
      }
    } else {
      Values operands;
      for (const auto& v : node->inputs()) operands.push_back(replaced.at(v.node.get())[v.index]);
      const auto copy = std::make_shared<Node>(node->row(), node->attrs(), std::move(operands),
                                               node->outputs(), node->loc());
      results = results_of(copy);
    }
    replaced.emplace(node.get(), std::move(results));
  }
  graph.inputs.insert(graph.inputs.end(), number_inputs.begin(), number_inputs.end());
  for (const auto& v : piece.outputs) graph.outputs.push_back(replaced.at(v.node.get())[v.index]);
  return graph;
}

// Executables by structure, the least recently used dropped.
class Cache {
 public:
  std::shared_ptr<Executable> find(const Structure& s) {
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(s);
    if (it == entries_.end()) return nullptr;
    order_.splice(order_.begin(), order_, it->second.place);
    return it->second.executable;
  }

  void insert(const Structure& s, std::shared_ptr<Executable> executable) {
    const std::lock_guard lock(mutex_);
    const auto [it, added] = entries_.try_emplace(s);
    if (!added) return;
    order_.push_front(&it->first);
    it->second = {std::move(executable), order_.begin()};
    if (entries_.size() <= kMaxCached) return;
    const Structure oldest = *order_.back();
    order_.pop_back();
    entries_.erase(oldest);
  }

 private:
  struct Entry {
    std::shared_ptr<Executable> executable;
    std::list<const Structure*>::iterator place;
  };
  std::mutex mutex_;
  std::unordered_map<Structure, Entry, StructureHash> entries_;
  std::list<const Structure*> order_;
};

Cache& cache() {
  static auto& all = *new Cache;
  return all;
}

Numbers& numbers_seen() {
  static auto& all = *new Numbers;
  return all;
}

// Guards the data of nodes while pending graphs are walked and results attached. Not held while
// programs run: they may call back.
std::mutex g_nodes;

void add_outputs(Piece& piece, const std::unordered_set<const Node*>& nodes) {
  piece.outputs.clear();
  for (const auto& node : piece.nodes) {
    if (!nodes.count(node.get())) continue;
    for (const auto& v : results_of(node)) piece.outputs.push_back(v);
  }
}

// What gradients read, by the structure of what they are of: positions among its nodes.
class Kept {
 public:
  const std::vector<size_t>* find(const Structure& s) const {
    const auto it = positions_.find(s);
    return it == positions_.end() ? nullptr : &it->second;
  }
  void insert(Structure s, std::vector<size_t> positions) {
    if (positions_.size() > kMaxCached) positions_.clear();
    positions_.emplace(std::move(s), std::move(positions));
  }

 private:
  std::unordered_map<Structure, std::vector<size_t>, StructureHash> positions_;
};

// A result on a tape that is read before its gradient is asked for: what the gradient will read comes out too.
void keep_for_backward(Piece& piece, std::unordered_set<const Node*>& wanted) {
  static auto& known = *new Kept;  // guarded by g_nodes
  Values results;
  for (const auto& v : piece.outputs)
    if (v.node->taped() && is_float(v.dtype())) results.push_back(v);
  if (results.empty()) return;
  std::vector<BufferPtr> data;
  std::vector<Scalar> numbers;
  Structure s = structure_of(piece, data, numbers);
  for (const auto& node : piece.nodes) s.add(node->taped() ? 1 : 0);
  const std::vector<size_t>* positions = known.find(s);
  if (!positions) {
    std::unordered_set<const Node*> read;
    for (const auto& v : backward_values(results)) read.insert(v.node.get());
    std::vector<size_t> found;
    for (size_t i = 0; i < piece.nodes.size(); i++)
      if (read.count(piece.nodes[i].get())) found.push_back(i);
    known.insert(s, std::move(found));
    positions = known.find(s);
  }
  for (const size_t i : *positions) wanted.insert(piece.nodes[i].get());
  add_outputs(piece, wanted);
}

// The first nodes of what is pending for `values`, up to a limit, with all results that the rest needs.
Piece next_piece(const Values& values) {
  Piece piece;
  Values roots;
  for (const auto& v : values)
    if (!v.node->has_data()) roots.push_back(v);
  if (roots.empty()) return piece;
  const auto order = topological(roots, [](const Node& n) { return n.has_data(); });
  std::unordered_set<const Node*> inside;
  const size_t limit = t_recorded ? kMaxStepNodes : kMaxNodes;
  size_t pending = 0, end = 0;
  for (; end < order.size() && pending < limit; end++) pending += is_leaf(*order[end]) ? 0 : 1;
  for (size_t i = 0; i < end; i++) inside.insert(order[i].get());
  piece.nodes.assign(order.begin(), order.begin() + static_cast<int64_t>(end));
  // Results are attached to whole nodes.
  std::unordered_set<const Node*> wanted;
  for (const auto& v : roots)
    if (inside.count(v.node.get())) wanted.insert(v.node.get());
  for (size_t i = end; i < order.size(); i++)
    for (const auto& v : order[i]->inputs())
      if (inside.count(v.node.get()) && !v.node->has_data()) wanted.insert(v.node.get());
  add_outputs(piece, wanted);
  if (t_recorded && end == order.size()) keep_for_backward(piece, wanted);
  return piece;
}

}  // namespace

Value make_data(BufferPtr buffer, Loc loc) {
  PTO_CHECK(buffer, "make_data", "no buffer");
  auto attrs = std::make_shared<DataAttrs>();
  attrs->dtype = buffer->dtype;
  attrs->shape = buffer->shape;
  const Value v = make_value("data", {}, std::move(attrs), loc);
  v.node->set_data({std::move(buffer)});
  return v;
}

void materialise(const Values& values) {
  for (;;) {
    check_interrupt();
    // Holds its nodes until the lock is gone: to free what came from elsewhere may need other locks.
    Piece piece;
    std::vector<BufferPtr> data;
    std::vector<Scalar> numbers;
    Structure structure;
    {
      const std::lock_guard lock(g_nodes);
      piece = next_piece(values);
      if (piece.outputs.empty()) return;
      structure = structure_of(piece, data, numbers);
    }
    const Structure nodes = structure;
    const std::vector<bool> operands = numbers_seen().operands(nodes, numbers);
    add_numbers(structure, numbers, operands, data);
    auto executable = cache().find(structure);
    if (!executable) {
      Graph graph;
      {
        const std::lock_guard lock(g_nodes);
        // Another thread may have computed some of it meanwhile.
        std::vector<BufferPtr> unused;
        std::vector<Scalar> same;
        if (!(structure_of(piece, unused, same) == nodes)) continue;
        graph = graph_of(piece, operands);
      }
      executable = compile(graph);
      cache().insert(structure, executable);
    }
    const auto results = executable->run(data);
    PTO_CHECK(results.size() == piece.outputs.size(), "materialise", "a program of another graph was found");
    const std::lock_guard lock(g_nodes);
    size_t next = 0;
    for (size_t i = 0; i < piece.outputs.size(); i = next) {
      const NodePtr& node = piece.outputs[i].node;
      next = i + node->outputs().size();
      if (!node->has_data())
        node->set_data(
            {results.begin() + static_cast<int64_t>(i), results.begin() + static_cast<int64_t>(next)});
    }
  }
}

bool step_is_recorded() { return t_recorded; }
void record_step(bool recorded) { t_recorded = recorded; }

BufferPtr data_of(const Value& value) {
  materialise({value});
  const std::lock_guard lock(g_nodes);
  return value.node->data(value.index);
}

Value detached(const Value& value) {
  if (!value.node->taped() || !is_float(value.dtype())) return value;
  {
    const std::lock_guard lock(g_nodes);
    if (value.node->has_data()) return make_data(value.node->data(value.index), value.node->loc());
  }
  return make_value("stop_gradient", {value}, std::make_shared<NoAttrs>(), value.node->loc());
}

Value make_variable(const Value& value, Loc loc) {
  Value start = detached(value);
  if (start.node->has_data())
    start = make_data(start.node->data(start.index), loc);
  else
    start = make_value("variable", {start}, std::make_shared<NoAttrs>(), loc);
  start.node->tape();
  return start;
}

void release_tape(const Values& values) {
  std::vector<NodePtr> order;
  const std::lock_guard lock(g_nodes);
  order = topological(values, [](const Node& n) { return !n.taped(); });
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    Node& node = **it;
    const bool inner =
        node.taped() && std::any_of(node.inputs().begin(), node.inputs().end(),
                                    [](const Value& v) { return v.node->taped() || v.node->released(); });
    if (inner) node.release();
  }
}

}  // namespace pto
