#include "graph_passes/grouping.h"

#include <algorithm>
#include <set>

#include "base/extents.h"
#include "expr/cost.h"
#include "graph_passes/rewrite.h"

namespace pto {
namespace {

constexpr int kMostOperations = 64;   // of a kernel: its code stays short
constexpr size_t kMostNodes = 256;    // with those that only move
constexpr int kMostPrologue = 8;      // of a contraction: repeated for each of its blocks
constexpr int kMostCopies = 4;        // kernels that compute a cheap node anew
constexpr int kCheapDepth = 3;
constexpr size_t kMostAnew = 32;      // nodes that are looked at to see what computing one anew takes
// In loads of an element from memory, where two cores share 25 GB/s and compute 32 numbers a cycle each: a store
// first loads the line; an elementary function takes some twenty operations.
constexpr double kStoreInLoads = 2, kCostlyInLoads = 0.5, kPlainInLoads = 0.03;
constexpr size_t kMostIndices = 4;  // different places at which a kernel reads a node
constexpr int64_t kEnoughRows = 8;

bool is_reshape(const Node& node) { return node.row()->name == "reshape"; }
bool is_joining(const Node& node) { return node.row()->name == "concat" && node.inputs().size() > 1; }

// Does an element take an elementary function, a root or a division?
bool computes_costly(const Node& node) {
  const OpRow& r = *node.row();
  if (r.family == Family::Random) return true;
  if (!r.scalar) return false;
  Exprs args;
  for (const auto& v : node.inputs()) args.push_back(load(Symbol("unknown"), v.dtype(), {}));
  bool costly = false;
  visit(r.scalar(*node.attrs(), args, node.outputs()[0]), [&](const Expr& e) { costly |= is_costly_op(e); });
  return costly;
}

bool subset(const std::vector<Symbol>& a, const std::vector<Symbol>& b) {
  return std::all_of(a.begin(), a.end(),
                     [&](Symbol s) { return std::find(b.begin(), b.end(), s) != b.end(); });
}
bool same_set(const std::vector<Symbol>& a, const std::vector<Symbol>& b) {
  return a.size() == b.size() && subset(a, b);
}

}  // namespace

Grouping::Grouping(const Graph& graph)
    : uses_(graph), epilogues_(find_epilogues(uses_)), outputs_(graph.outputs) {
  const size_t n = uses_.order.size();
  requests_.resize(n);
  stored_.resize(n, false);
  cheap_depth_.resize(n, -1);
  costly_.resize(n, false);
  for (size_t i = 0; i < n; i++) {
    const Node& node = *uses_.order[i];
    if (is_source(node)) {
      cheap_depth_[i] = 0;
      continue;
    }
    costly_[i] = computes_costly(node);
    const Family f = node.row()->family;
    const bool moves = f == Family::Movement || f == Family::Leaf;
    if (costly_[i] || !(moves || node.row()->is_elementwise())) continue;
    int depth = 0;
    for (const auto& v : node.inputs()) {
      const int d = cheap_depth_[uses_.position.at(v.node.get())];
      depth = d < 0 || depth < 0 ? -1 : std::max(depth, d);
    }
    if (depth < 0) continue;
    cheap_depth_[i] = depth + (moves ? 0 : 1);
    if (cheap_depth_[i] > kCheapDepth) cheap_depth_[i] = -1;
  }
}

std::string Grouping::describe(const Node& node) const {
  std::string text = node.row()->name + " " + node.outputs()[0].str();
  if (node.loc().known()) text += " (" + node.loc().str() + ")";
  return text;
}

void Grouping::say(int n, const std::string& what, int kernel) {
  std::string text = describe(*uses_.order[n]) + ": " + what;
  if (kernel >= 0) text += " [kernel of " + describe(*kernels_[kernel].root) + "]";
  because_.push_back(std::move(text));
}

Fusion Grouping::run() {
  for (int n = static_cast<int>(uses_.order.size()); n-- > 0;) visit_node(n);
  compare_siblings();
  return collect();
}

std::map<int, Grouping::Wanted> Grouping::wanted(int n) const {
  std::map<int, Wanted> out;
  std::map<int, std::vector<Exprs>> seen;
  auto add = [&](const std::vector<Request>& list, int result) {
    for (const auto& r : list) {
      Wanted& w = out[r.kernel];
      if (w.requests.empty()) w.axes = axes_in(r.index);
      w.requests.push_back(&r);
      w.results.push_back(result);
      w.product |= r.product;
      w.guarded |= r.guarded;
      w.irregular |= is_irregular(r.index);
      w.walks &= walks_axes(r.index);
      auto& indices = seen[r.kernel];
      if (std::find(indices.begin(), indices.end(), r.index) == indices.end()) indices.push_back(r.index);
      w.indices = indices.size();
    }
  };
  add(requests_[n], 0);
  if (const auto it = more_.find(uses_.order[n].get()); it != more_.end())
    for (size_t i = 0; i < it->second.size(); i++) add(it->second[i], static_cast<int>(i) + 1);
  return out;
}

void Grouping::visit_node(int n) {
  const Node& node = *uses_.order[n];
  if (is_source(node)) return;
  const auto all = wanted(n);
  if (takes_whole(node) || stored_[n] || uses_.leaves[n] || all.empty()) return start(n);
  if (epilogues_.ends[n]) {
    say(n, "stored: ends what follows a contraction, whose result is still in registers");
    return start(n);
  }
  std::vector<std::pair<int, Verdict>> verdicts;
  for (const auto& [kernel, w] : all)
    verdicts.emplace_back(kernel, may_join(n, w, kernels_[kernel], all.size() == 1));
  for (const auto& [kernel, v] : verdicts)
    if (!v.joins) {
      say(n, "stored, not fused: " + v.why, kernel);
      return start(n);
    }
  const Family f = node.row()->family;
  const bool free = f == Family::Movement || f == Family::Leaf;
  const bool cheap = cheap_depth_[n] >= 0 && all.size() <= kMostCopies;
  if (all.size() > 1 && !free && !cheap && !cheaper_anew(n, all)) {
    say(n, "stored: " + std::to_string(all.size()) +
               " kernels read it, and computing it again in each costs more");
    return start(n);
  }
  if (all.size() > 1 && !free)
    say(n, "computed again in " + std::to_string(all.size()) + " kernels: cheaper than a store");
  for (const auto& [kernel, v] : verdicts) {
    if (all.size() == 1 && !v.why.empty()) say(n, "fused: " + v.why, kernel);
    join(n, all.at(kernel), kernel);
  }
}

// Do all readers together pay less if each computes the node anew than if it is stored once and loaded by each?
// The unit is an element's load from memory. Each reader then also loads what the node is made of down to what is
// in memory anyway, as far as it does not read that yet.
bool Grouping::cheaper_anew(int n, const std::map<int, Wanted>& all) const {
  for (const auto& [_, w] : all)
    if (w.product || w.guarded || w.irregular || w.indices != 1) return false;
  const auto wide = [&](int i) {
    const Shape& shape = uses_.order[i]->outputs()[0].shape;
    return std::count_if(shape.begin(), shape.end(), [](const Size& size) { return !size.is_const(1); });
  };
  double cost = 0;
  std::vector<int> open{n};
  std::set<int> seen{n}, loaded;
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    const Node& node = *uses_.order[i];
    const Family f = node.row()->family;
    const bool in_memory = i != n && (is_source(node) || stored_[i] || uses_.leaves[i] || epilogues_.ends[i]);
    if (in_memory || !(node.row()->is_elementwise() || f == Family::Movement || f == Family::Leaf)) {
      if (i == n) return false;
      // What has fewer axes is small, and stays in the caches.
      if (wide(i) >= wide(n)) loaded.insert(i);
      continue;
    }
    if (node.row()->is_elementwise()) cost += costly_[i] ? kCostlyInLoads : kPlainInLoads;
    for (const auto& v : node.inputs()) {
      const int input = uses_.position.at(v.node.get());
      if (seen.insert(input).second) open.push_back(input);
    }
    if (seen.size() > kMostAnew) return false;
  }
  double anew = 0;
  for (const auto& [kernel, _] : all) {
    anew += cost;
    for (const int i : loaded)
      anew += std::none_of(requests_[i].begin(), requests_[i].end(),
                           [kernel = kernel](const Request& r) { return r.kernel == kernel; });
  }
  return anew <= kStoreInLoads + static_cast<double>(all.size());
}

// Looked up along fewer axes than it has: fewer elements are computed than if all were stored.
bool Grouping::few_lookups(const Node& node, const Wanted& w) {
  const Shape& shape = node.outputs()[0].shape;
  const auto axes = std::count_if(shape.begin(), shape.end(), [](const Size& s) { return !s.is_const(1); });
  return static_cast<std::ptrdiff_t>(w.axes.size()) < axes;
}

// --- decisions -----------------------------------------------------------------------------------

Grouping::Verdict Grouping::may_join(int n, const Wanted& w, const Kernel& k, bool alone) const {
  const Node& node = *uses_.order[n];
  const Family f = node.row()->family;
  if (k.closed) return {false, "its reader takes whole tensors"};
  if (f == Family::Leaf) return {true, ""};
  if (k.nodes.size() >= kMostNodes)
    return {false, "the kernel is full: its indices would be long to compute"};
  if (w.indices > kMostIndices) return {false, "read at many places at once"};
  if (f == Family::Movement) {
    if (is_joining(node) && (!alone || w.product || w.guarded || node.inputs().size() > 4 || w.indices > 1))
      return {false, "joined from pieces, each stored at its place"};
    if (is_reshape(node)) return {true, ""};
    if (w.irregular && cheap_depth_[n] < 0 && !few_lookups(node, w))
      return {false, "its elements would be looked up one by one"};
    return {true, ""};
  }
  if (k.operations >= kMostOperations)
    return {false, "the kernel is full: its code would be long to compile"};
  switch (f) {
    case Family::Elementwise:
    case Family::Random: return may_compute(n, w, k);
    case Family::Gather:
      if (!alone) return {false, "several kernels read what it looks up"};
      if (w.product) return {false, "looking up factors of a contraction would be repeated for each block"};
      if (w.guarded || w.irregular || w.indices > 2)
        return {false, "it would be looked up anew for each reader"};
      return {true, "looked up where it is used"};
    case Family::Reduction: return may_fold(n, w, k);
    case Family::Contraction: return may_contract(w, k);
    case Family::Scan:
      if (w.product || w.guarded || !w.walks || w.indices > 1 || k.folds || k.scans || k.contracts ||
          k.epilogue || k.joined || !same_set(w.axes, k.own) ||
          !probe(node, w.results[0], w.requests[0]->index, k.axes).in_order)
        return {false, "running results are read other than in order, each once"};
      return {true, "computed as the running results come"};
    default: return {false, "its reader takes whole tensors"};
  }
}

Grouping::Verdict Grouping::may_compute(int n, const Wanted& w, const Kernel& k) const {
  const bool costly = costly_[n];
  if (w.product) {
    if (costly) return {false, "a costly factor of a contraction would be computed for each of its blocks"};
    if (k.prologue >= kMostPrologue)
      return {false, "enough is computed for each block of the contraction already"};
    return {true, "computed as the contraction packs its factor"};
  }
  if (w.irregular && cheap_depth_[n] < 0 && !few_lookups(*uses_.order[n], w))
    return {false, "elements would be computed once for each time they are looked up"};
  if (costly && w.indices > 1) return {false, "costly, and read at several places"};
  // Costly, and the same for all rows: computed once, by itself.
  if (costly && !k.joined && w.axes.size() < k.own.size() && !w.axes.empty() &&
      std::find(w.axes.begin(), w.axes.end(), k.own.back()) != w.axes.end() && subset(w.axes, k.own))
    return {false, "costly, and it would be computed again for each row"};
  return {true, "computed point by point where it is used"};
}

Grouping::Verdict Grouping::may_fold(int n, const Wanted& w, const Kernel& k) const {
  if (k.contracts || k.epilogue)
    return {false, "it is needed whole before the contraction's result is stored"};
  if (w.product) return {false, "it is needed whole before the contraction can start"};
  if (k.scans || k.joined || w.guarded || !w.walks || w.indices > 1)
    return {false, "it would be folded anew for each of its readers"};
  if (k.folds && !same_set(k.rows, w.axes)) return {false, "the kernel folds along other axes"};
  const Probed p = probe(*uses_.order[n], w.results[0], w.requests[0]->index, k.axes);
  if (same_set(w.axes, k.own)) return {true, "what follows a fold is computed once it is complete"};
  if (w.axes.empty())
    return {false, "everything is folded before anything can follow, and one worker would do it"};
  int64_t rows = 1;
  for (const auto& a : k.axes)
    if (std::find(w.axes.begin(), w.axes.end(), a.name) != w.axes.end())
      rows = saturating_mul(rows, a.extent.is_const() ? a.extent.as_int() : kEnoughRows);
  if (rows < kEnoughRows) return {false, "too few rows to keep all workers busy with whole rows"};
  std::vector<Symbol> all = w.axes;
  all.insert(all.end(), p.over.begin(), p.over.end());
  if (!same_set(all, k.own)) return {false, "it folds other axes than its reader walks"};
  return {true, "folded row by row, while the row is close"};
}

Grouping::Verdict Grouping::may_contract(const Wanted& w, const Kernel& k) const {
  if (w.product) return {false, "a factor of another contraction is packed from memory"};
  if (k.contracts)
    return {false, "the kernel has a contraction already; a second one shares none of its packing"};
  if (k.folds || k.scans) return {false, "its reader folds whole rows, and a contraction comes in blocks"};
  if (k.joined || w.guarded || !w.walks || w.indices > 1 || !same_set(w.axes, k.own))
    return {false, "its reader walks it other than block by block"};
  return {true, "its result is used while in registers"};
}

// --- kernels -------------------------------------------------------------------------------------

void Grouping::keep(const Value& v) {
  if (const auto it = uses_.position.find(v.node.get()); it != uses_.position.end())
    stored_[it->second] = true;
}

void Grouping::request(int kernel, const Probed& probed, bool product, bool guarded) {
  kernels_[kernel].axes = probed.axes;
  for (const auto& a : probed.reads) {
    const auto it = uses_.position.find(a.operand.node.get());
    if (it == uses_.position.end()) continue;
    std::vector<Request>* list = &requests_[it->second];
    if (a.operand.index > 0) {
      auto& more = more_[a.operand.node.get()];
      if (more.size() < static_cast<size_t>(a.operand.index)) more.resize(a.operand.index);
      list = &more[a.operand.index - 1];
    }
    Request r{kernel, a.index, product || a.product, guarded || a.guarded};
    const bool known = std::any_of(list->begin(), list->end(), [&](const Request& o) {
      return o.kernel == r.kernel && o.product == r.product && o.guarded == r.guarded && o.index == r.index;
    });
    if (!known) list->push_back(std::move(r));
  }
}

void Grouping::join(int n, const Wanted& w, int kernel) {
  const NodePtr& node = uses_.order[n];
  Kernel& k = kernels_[kernel];
  k.nodes.push_back(node);
  const Family f = node->row()->family;
  const bool computes = f != Family::Movement && f != Family::Leaf;
  k.operations += computes;
  k.prologue += computes && w.product;
  if (f == Family::Reduction) {
    k.folds = true;
    k.rows = w.axes;
  }
  k.scans |= f == Family::Scan;
  k.contracts |= f == Family::Contraction;
  k.epilogue |= epilogues_.inside[n];
  // Copies: requests may grow while they are answered.
  const Wanted copy = w;
  std::vector<Request> requests;
  for (const Request* r : copy.requests) requests.push_back(*r);
  for (size_t i = 0; i < requests.size(); i++) {
    const Probed p = probe(*node, copy.results[i], requests[i].index, kernels_[kernel].axes);
    // A reshape that takes positions apart is a view of what is stored.
    if (is_reshape(*node) && !p.reads.empty() && is_irregular(p.reads[0].index)) {
      keep(node->inputs()[0]);
      continue;
    }
    request(kernel, p, requests[i].product, requests[i].guarded);
  }
}

void Grouping::start(int n) {
  const NodePtr& node = uses_.order[n];
  const int number = static_cast<int>(kernels_.size());
  stored_[n] = true;
  kernels_.push_back({});
  Kernel& k = kernels_.back();
  k.root = node;
  k.nodes = {node};
  k.operations = 1;
  if (takes_whole(*node)) {
    k.closed = true;
    for (const auto& v : node->inputs()) keep(v);
    return;
  }
  const Family f = node->row()->family;
  if (is_joining(*node)) {
    k.joined = true;
    Probed p{{}, {}, {}};
    for (const auto& v : node->inputs()) p.reads.push_back({v, walking_index(v.shape(), p.axes)});
    for (const auto& a : p.axes) k.own.push_back(a.name);
    return request(number, p, false, false);
  }
  if (is_reshape(*node)) {
    // Its operand is stored under another shape, so the kernel walks the operand.
    const Value& v = node->inputs()[0];
    Probed p{{}, {}, {}};
    const Exprs index = walking_index(v.shape(), p.axes);
    p.reads.push_back({v, index});
    k.own = axes_in(index);
    return request(number, p, false, false);
  }
  const Exprs index = walking_index(node->outputs()[0].shape, k.axes);
  k.own = axes_in(index);
  k.folds = f == Family::Reduction;
  if (k.folds) k.rows = k.own;
  k.scans = f == Family::Scan;
  k.contracts = f == Family::Contraction;
  k.epilogue = epilogues_.inside[n] || epilogues_.ends[n];
  const auto axes = k.axes;
  request(number, probe(*node, 0, index, axes), false, false);
}

// --- results -------------------------------------------------------------------------------------

// Contractions that read the same factor could be one kernel.
void Grouping::compare_siblings() {
  std::map<std::pair<const Node*, int>, int> first;
  for (size_t n = 0; n < uses_.order.size(); n++) {
    const Node& node = *uses_.order[n];
    if (node.row()->family != Family::Contraction || node.inputs().empty()) continue;
    const Value& x = node.inputs()[0];
    const auto [it, fresh] = first.emplace(std::pair(x.node.get(), x.index), static_cast<int>(n));
    if (fresh) continue;
    say(static_cast<int>(n),
        "not merged with " + describe(*uses_.order[it->second]) +
            ", which reads the same factor: each packs that factor in its own blocks, so one kernel "
            "would read it as often");
  }
}

Fusion Grouping::collect() {
  std::set<std::pair<const Node*, int>> out;
  for (const auto& v : outputs_) out.insert({v.node.get(), v.index});
  std::vector<const Kernel*> sorted;
  for (const auto& k : kernels_) sorted.push_back(&k);
  auto position = [&](const NodePtr& n) { return uses_.position.at(n.get()); };
  std::sort(sorted.begin(), sorted.end(),
            [&](const Kernel* a, const Kernel* b) { return position(a->root) < position(b->root); });
  // Operands of what takes whole tensors are results too.
  for (const Kernel* k : sorted)
    if (k->closed)
      for (const auto& v : k->root->inputs()) out.insert({v.node.get(), v.index});
  Fusion fusion;
  for (const Kernel* k : sorted) {
    FusionGroup g;
    g.nodes = k->nodes;
    std::sort(g.nodes.begin(), g.nodes.end(),
              [&](const NodePtr& a, const NodePtr& b) { return position(a) < position(b); });
    g.nodes.erase(std::unique(g.nodes.begin(), g.nodes.end()), g.nodes.end());
    for (const auto& v : results_of(k->root)) {
      bool used = k->closed || out.count({v.node.get(), v.index});
      if (v.index == 0) {
        used |= !requests_[position(k->root)].empty();
      } else if (const auto it = more_.find(k->root.get()); it != more_.end()) {
        used |= it->second.size() >= static_cast<size_t>(v.index) && !it->second[v.index - 1].empty();
      }
      if (used) g.outputs.push_back(v);
    }
    if (g.outputs.empty()) g.outputs.push_back({k->root, 0});
    fusion.groups.push_back(std::move(g));
  }
  std::reverse(because_.begin(), because_.end());
  fusion.because = std::move(because_);
  return fusion;
}

}  // namespace pto
