#pragma once
// Which operators form one kernel. Nodes are visited from the results backward: a node joins the
// kernel that reads it, or starts one of its own, whose result is stored. A kernel's nodes are those
// from which all ways lead to its result, and copies of cheap ones; so kernels cannot wait for one
// another in a circle, and each node is looked at once.
#include <map>
#include <string>

#include "graph_passes/access_probe.h"
#include "graph_passes/epilogues.h"
#include "graph_passes/fuse.h"

namespace pto {

class Grouping {
 public:
  explicit Grouping(const Graph& graph);
  Fusion run();

 private:
  struct Kernel {
    NodePtr root;
    std::vector<NodePtr> nodes;          // the last first
    std::vector<ProbeAxis> axes;
    std::vector<Symbol> own;             // of these, what the result walks
    std::vector<Symbol> rows;            // of these, what folds leave, if it folds
    bool folds = false, scans = false, contracts = false;
    bool epilogue = false;               // a contraction is to come
    bool joined = false;                 // from pieces, each with its axes
    bool closed = false;                 // takes no more
    int operations = 0, prologue = 0;
  };
  struct Request {                       // an element that a kernel reads
    int kernel;
    Exprs index;
    bool product, guarded;
  };
  struct Verdict {
    bool joins = false;
    std::string why;
  };
  // The requests of one kernel to one node.
  struct Wanted {
    std::vector<const Request*> requests;
    std::vector<int> results;            // which result each is for
    bool product = false, guarded = false, irregular = false, walks = true;
    std::vector<Symbol> axes;            // of the first
    size_t indices = 0;                  // different ones
  };

  void visit_node(int n);
  std::map<int, Wanted> wanted(int n) const;
  Verdict may_join(int n, const Wanted& w, const Kernel& k, bool alone) const;
  Verdict may_fold(int n, const Wanted& w, const Kernel& k) const;
  Verdict may_contract(const Wanted& w, const Kernel& k) const;
  Verdict may_compute(int n, const Wanted& w, const Kernel& k) const;
  bool cheaper_anew(int n, const std::map<int, Wanted>& all) const;
  static bool few_lookups(const Node& node, const Wanted& w);
  void join(int n, const Wanted& w, int kernel);
  void start(int n);
  void request(int kernel, const Probed& probed, bool product, bool guarded);
  void keep(const Value& v);
  void say(int n, const std::string& what, int kernel = -1);
  std::string describe(const Node& node) const;
  Fusion collect();
  void compare_siblings();

  GraphUses uses_;
  Epilogues epilogues_;
  std::vector<int> cheap_depth_;  // cheap nodes above it, down to what has its elements; -1: not cheap
  std::vector<bool> costly_;
  std::vector<std::vector<Request>> requests_;  // by position, of result 0
  std::unordered_map<const Node*, std::vector<std::vector<Request>>> more_;  // of further results
  std::vector<bool> stored_;
  std::vector<Kernel> kernels_;
  std::vector<std::string> because_;
  std::vector<Value> outputs_;
};

}  // namespace pto
