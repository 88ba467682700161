// Loads across memory. Of a matrix, statements that stand together often read neighbouring columns, each
// with a stride. Where the columns make a square with the lanes, its rows are read as they stand in
// memory, and exchanged in registers.
#include <bit>

#include "codegen/llvm/emit.h"

namespace pto::llvm_codegen {
namespace {

bool is_plain(const Stmt& s) { return s.kind == StmtKind::Store || s.kind == StmtKind::Let; }

// A sum's constant, which stands last; what is left of a constant is empty.
std::pair<Expr, int64_t> split_constant(const Expr& e) {
  if (e.is_const()) return {Expr(), e.as_int()};
  if (e.op() == Op::Add && e.arg(1).is_const()) return {e.arg(0), e.arg(1).as_int()};
  if (e.op() == Op::Sub && e.arg(1).is_const()) return {e.arg(0), -e.arg(1).as_int()};
  return {e, 0};
}

// Loads that differ in their first element by constants.
struct Columns {
  Expr stride, rest;
  std::map<int64_t, Exprs> loads;   // by that constant
};

bool same(const Expr& a, const Expr& b) { return a && b ? a == b : !a && !b; }

}  // namespace

bool FunctionEmitter::crosses_memory(const Expr& e) const {
  if (e.op() != Op::Load || e.lanes() < 4 || !std::has_single_bit(static_cast<unsigned>(e.lanes())))
    return false;
  const int bytes = size_of(e.type());
  if (e.args().size() != 1 || e.arg(0).op() != Op::Ramp || bytes < 4 ||
      bytes * e.lanes() > target_.vector_bytes)
    return false;
  const Expr& stride = e.arg(0).arg(1);
  return !stride.is_const() || std::abs(stride.as_int()) > 4;
}

// Finds the squares among the statements from `first` on that run one after the other, and returns where
// these end. Buffers that they store to do not count.
size_t FunctionEmitter::find_squares(const std::vector<StmtPtr>& body, size_t first) {
  size_t last = first;
  std::set<Symbol> stored;
  for (; last < body.size() && is_plain(*body[last]); last++)
    if (body[last]->kind == StmtKind::Store) stored.insert(body[last]->name);
  if (last - first < 4) return last;

  std::map<std::pair<Symbol, int>, std::vector<Columns>> found;
  for (size_t i = first; i < last; i++)
    visit(body[i]->value, [&](const Expr& e) {
      if (!crosses_memory(e) || stored.count(e.symbol())) return;
      const auto [rest, offset] = split_constant(e.arg(0).arg(0));
      auto& all = found[{e.symbol(), e.lanes()}];
      // Of those that began long ago no more are found.
      const Expr& stride = e.arg(0).arg(1);
      size_t c = all.size() > 8 ? all.size() - 8 : 0;
      while (c < all.size() && !(same(all[c].rest, rest) && all[c].stride == stride)) c++;
      if (c == all.size()) all.push_back({stride, rest, {}});
      all[c].loads[offset].push_back(e);
    });
  for (const auto& [key, all] : found)
    for (const auto& columns : all) {
      const int lanes = key.second;
      for (auto it = columns.loads.begin(); it != columns.loads.end();) {
        auto end = it;
        Square square;
        while (end != columns.loads.end() && static_cast<int>(square.columns.size()) < lanes &&
               end->first == it->first + static_cast<int64_t>(square.columns.size())) {
          square.columns.push_back(end->second);
          ++end;
        }
        if (static_cast<int>(square.columns.size()) == lanes) {
          const auto made = std::make_shared<Square>(std::move(square));
          for (const auto& same_column : made->columns)
            for (const auto& e : same_column) squares_[e.get()] = made;
        }
        it = end;
      }
    }
  return last;
}

// The loads of a square, all at once, when the first is wanted.
Value* FunctionEmitter::load_from_square(const Expr& e) {
  const auto it = squares_.find(e.get());
  if (it == squares_.end()) return nullptr;
  const std::shared_ptr<Square> square = it->second;
  if (square->values.empty()) {
    const BufferInfo& from = buffer(e.symbol());
    const Expr& ramp = square->columns[0][0].arg(0);
    const auto n = static_cast<size_t>(e.lanes());
    Value *base = value(ramp.arg(0)), *stride = value(ramp.arg(1));
    for (size_t row = 0; row < n; row++) {
      square->values.push_back(load_contiguous(from, base, e.lanes()));
      if (row + 1 < n) base = b.CreateAdd(base, stride);
    }
    transpose(square->values);
  }
  for (size_t c = 0; c < square->columns.size(); c++)
    for (const auto& load : square->columns[c])
      if (load.get() == e.get()) return from_memory(buffer(e.symbol()), square->values[c]);
  return nullptr;
}

// Blocks of a half, of a quarter, ... of the square change places across its diagonal.
void FunctionEmitter::transpose(std::vector<Value*>& rows) {
  const size_t n = rows.size();
  for (size_t half = n / 2; half >= 1; half /= 2) {
    llvm::SmallVector<int> upper, lower;
    for (size_t lane = 0; lane < n; lane++) {
      const bool second = (lane & half) != 0;
      upper.push_back(static_cast<int>(second ? n + lane - half : lane));
      lower.push_back(static_cast<int>(second ? n + lane : lane + half));
    }
    for (size_t row = 0; row < n; row++) {
      if ((row & half) != 0) continue;
      Value *a = rows[row], *c = rows[row + half];
      rows[row] = b.CreateShuffleVector(a, c, upper);
      rows[row + half] = b.CreateShuffleVector(a, c, lower);
    }
  }
}

}  // namespace pto::llvm_codegen
