#pragma once
// The definition of a kernel while it grows: rows ask for elements of their operands at an index, and
// get expressions over the kernel's axes. Folds become values; everything else stays an expression.
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/row.h"
#include "tile/kernel.h"

namespace pto {

// Names while the kernel grows cannot be those of size symbols.
class Former : public Emit {
 public:
  explicit Former(const std::vector<NodePtr>& nodes);

  // Stores an output; a value that was reached before is stored at the same axes.
  void store(const Value& output);

  Expr element(const Value& operand, const Exprs& index) override;
  Expr element_if(const Expr& predicate, const Value& operand, const Exprs& index,
                  const Expr& other) override;
  Exprs reduce(const Monoid& monoid, const Shape& extents,
               const std::function<Exprs(const Exprs&)>& body) override;
  Expr contract(const Shape& extents, DType accum,
                const std::function<std::pair<Expr, Expr>(const Exprs&)>& factors) override;
  Exprs scan(const Monoid& monoid, const Size& extent, const Expr& at, bool reverse,
             const std::function<Exprs(const Expr&)>& body) override;
  Expr checked_index(const Expr& index, const Size& extent, int64_t axis, const Node& node) override;

  Kernel kernel;        // in the graph's size symbols; inputs are parameters, outputs stand apart
  Values inputs;        // of the parameters
  std::vector<Param> outputs;

 private:
  struct Request {      // an element that was asked for
    Value value;
    Exprs index;
    Expr guard;
    Expr result;
  };
  struct Frame {        // the element that is being made
    const Node* node;
    std::unordered_set<Symbol> axes;   // in use at its point
  };

  bool inside(const Value& v) const { return inside_.count(v.node.get()) > 0; }
  bool is_view(const Value& v) const;
  Expr read(const Value& source, const Shape& shape, const Exprs& index);
  Expr at_guard(const Expr& condition) const;
  const Request* known(const Value& v) const;
  Exprs output_index(const Value& v);
  void store_at(Symbol param, const Value& v, const Exprs& index, Loc loc);
  void store_pieces(Symbol param, const Value& joined, Loc loc);

  Symbol new_axis(const Size& extent);
  Symbol axis_for(const Size& extent, const std::unordered_set<Symbol>& taken);
  std::vector<Symbol> axes_of(const Exprs& exprs) const;   // in the kernel's order
  std::pair<Exprs, std::vector<Symbol>> fold_axes(const Shape& extents);
  Exprs add_value(TileValue value);

  std::unordered_set<const Node*> inside_;
  std::unordered_map<Symbol, size_t> axis_number_;
  std::unordered_map<uint64_t, std::vector<Request>> requests_;
  std::unordered_map<uint64_t, std::vector<size_t>> values_by_hash_;
  std::vector<Frame> frames_;
  Expr guard_;
  int names_ = 0;
};

}  // namespace pto
