#pragma once
// Attributes of the control rows. The nested graphs are closed: what they read from outside is an
// operand, and their sizes are expressions over the size symbols of the graph around them.
#include "graph/node.h"

namespace pto {

using GraphAttr = std::shared_ptr<const Graph>;

// cond: (predicate: bool[], operand...) -> the results of one of two graphs over the operands.
struct CondAttrs : AttrsOf<CondAttrs> {
  GraphAttr then, orelse;
  void visit(AttrVisitor& v) override {
    v.field("then", then);
    v.field("orelse", orelse);
  }
};

// while_loop: (state..., constant...) -> the state after the body has run as long as the condition
// held. Both graphs take state and constants; the condition gives bool[], the body the next state.
struct WhileAttrs : AttrsOf<WhileAttrs> {
  int64_t state = 0;             // how many of the operands are state
  GraphAttr condition, body;
  void visit(AttrVisitor& v) override {
    v.field("state", state);
    v.field("condition", condition);
    v.field("body", body);
  }
};

// scan_loop: (carry..., sequence..., constant...) -> (carry..., stacked result...). The body runs
// once per position of the sequences' leading axis (of size length[0]; from the last to the first if
// `reverse`) and takes the carries, each sequence's slice there and the constants; it gives the next
// carries, and results that are stacked, each at its position, along a new leading axis.
struct ScanLoopAttrs : AttrsOf<ScanLoopAttrs> {
  int64_t carries = 0, sequences = 0;
  Exprs length;
  bool reverse = false;
  GraphAttr body;
  void visit(AttrVisitor& v) override {
    v.field("carries", carries);
    v.field("sequences", sequences);
    v.field("length", length);
    v.field("reverse", reverse);
    v.field("body", body);
  }
};

// A nested graph, with the sizes of the graph around it.
std::vector<BufferPtr> interpret_nested(const Graph& graph, const std::vector<BufferPtr>& inputs,
                                        const Sizes& sizes);

}  // namespace pto
