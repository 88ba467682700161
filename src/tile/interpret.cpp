// Runs a definition as it reads: values one after the other, each computed whole.
#include "base/error.h"
#include "tile/kernel.h"
#include "tile/opaque.h"
#include "tile/point_eval.h"

namespace pto {
namespace {

class Interpreter {
 public:
  Interpreter(const Kernel& k, const std::vector<BufferPtr>& buffers, const Sizes& sizes, std::string* error)
      : k_(k), error_(error) {
    PTO_CHECK(buffers.size() == k.params.size(), "tile/interpret", "one buffer a parameter");
    for (const auto& a : k.axes) {
      scope_.vars.emplace(a.name, static_cast<int>(vars_.size()));
      extents_.emplace(a.name, eval_size(a.extent, sizes));
      vars_.push_back(Scalar::from_int(DType::I64, 0));
    }
    for (Symbol s : k.sizes) {
      auto it = sizes.find(s);
      PTO_CHECK(it != sizes.end(), "tile/interpret", "no size for " + s.str());
      scope_.vars.emplace(s, static_cast<int>(vars_.size()));
      vars_.push_back(Scalar::from_int(DType::I64, it->second));
    }
    for (size_t i = 0; i < k.params.size(); i++) {
      const auto& p = k.params[i];
      PTO_CHECK(buffers[i]->dtype == p.dtype && buffers[i]->contiguous(), "tile/interpret",
                "the buffer of " + p.name.str());
      add_array(p.name,
                {p.dtype, eval_shape(p.shape, sizes), static_cast<char*>(buffers[i]->data), buffers[i]});
      PTO_CHECK(arrays_.at(p.name).elements() == buffers[i]->elements(), "tile/interpret",
                "the size of " + p.name.str());
    }
  }

  void run() {
    for (const auto& v : k_.values) compute(v);
    for (const auto& c : k_.checks) {
      const PointExpr condition(c.condition, scope_, MathMode::Reference);
      for_each_point(extents(c.axes), [&](const std::vector<int64_t>& at) {
        bind(c.axes, at);
        if (!condition(vars_).to_bool() && error_ && error_->empty()) *error_ = c.message;
      });
    }
    for (const auto& s : k_.stores) store(s);
  }

 private:
  PointArray& add_array(Symbol name, PointArray array) {
    PointArray& placed = arrays_.emplace(name, std::move(array)).first->second;
    scope_.arrays.emplace(name, &placed);
    return placed;
  }

  std::vector<int64_t> extents(const std::vector<Symbol>& axes) const {
    std::vector<int64_t> out;
    for (Symbol a : axes) out.push_back(extents_.at(a));
    return out;
  }

  void bind(const std::vector<Symbol>& axes, const std::vector<int64_t>& at) {
    for (size_t i = 0; i < axes.size(); i++)
      vars_[scope_.vars.at(axes[i])] = Scalar::from_int(DType::I64, at[i]);
  }

  // A monoid's combination of two tuples, or a contract's step, where b is (lhs, rhs).
  class Step {
   public:
    explicit Step(const TileValue& v) : v_(v) {
      if (v.kind == ValueKind::Contract) return;
      PointScope scope;
      for (int i = 0; i < v.monoid.size(); i++)
        for (char side : {'a', 'b'})
          scope.vars.emplace(component(side, i, v.types[i]).symbol(), 2 * i + (side == 'b'));
      for (const auto& e : v.monoid.combine) combine_.emplace_back(e, scope, MathMode::Reference);
    }
    std::vector<Scalar> identity() const {
      if (v_.kind == ValueKind::Contract) return {Scalar::from_int(v_.types[0], 0)};
      std::vector<Scalar> out;
      for (const auto& e : v_.monoid.init) out.push_back(e.value());
      return out;
    }
    void operator()(std::vector<Scalar>& acc, const std::vector<Scalar>& b) const {
      if (v_.kind == ValueKind::Contract) {
        const Scalar fma[] = {b[0], b[1], acc[0]};
        if (is_float(v_.types[0])) {
          acc[0] = eval_op(Op::Fma, fma);
        } else {
          const Scalar sum[] = {acc[0], eval_op(Op::Mul, fma)};
          acc[0] = eval_op(Op::Add, sum);
        }
        return;
      }
      std::vector<Scalar> both;
      for (size_t i = 0; i < acc.size(); i++) {
        both.push_back(acc[i]);
        both.push_back(b[i]);
      }
      for (size_t i = 0; i < acc.size(); i++) acc[i] = combine_[i](both);
    }

   private:
    const TileValue& v_;
    std::vector<PointExpr> combine_;
  };

  void compute(const TileValue& v) {
    std::vector<PointExpr> body;
    for (const auto& e : v.kind == ValueKind::Contract ? v.body[0].args() : v.body)
      body.emplace_back(e, scope_, MathMode::Reference);
    std::vector<PointArray> out;
    for (DType type : v.types) out.push_back(PointArray::make(type, extents(v.axes)));
    auto evaluate = [&] {
      std::vector<Scalar> values;
      for (const auto& e : body) values.push_back(e(vars_));
      return values;
    };
    auto write = [&](const std::vector<int64_t>& at, const std::vector<Scalar>& values) {
      for (size_t i = 0; i < out.size(); i++) out[i].write(out[i].offset(at), values[i]);
    };
    if (v.kind == ValueKind::Map) {
      for_each_point(extents(v.axes), [&](const std::vector<int64_t>& at) {
        bind(v.axes, at);
        write(at, evaluate());
      });
    } else if (v.kind == ValueKind::Scan) {
      scan(v, evaluate, write);
    } else {
      const Step step(v);
      for_each_point(extents(v.axes), [&](const std::vector<int64_t>& at) {
        bind(v.axes, at);
        auto acc = step.identity();
        for_each_point(extents(v.over), [&](const std::vector<int64_t>& folded) {
          bind(v.over, folded);
          step(acc, evaluate());
        });
        write(at, acc);
      });
    }
    for (size_t i = 0; i < out.size(); i++) add_array(v.names[i], std::move(out[i]));
  }

  template <class Evaluate, class Write>
  void scan(const TileValue& v, Evaluate evaluate, Write write) {
    const Step step(v);
    auto lines = extents(v.axes);
    size_t d = 0;
    while (v.axes[d] != v.over[0]) d++;
    const int64_t n = lines[d];
    lines[d] = 1;
    for_each_point(lines, [&](std::vector<int64_t> at) {
      auto acc = step.identity();
      for (int64_t i = 0; i < n; i++) {
        at[d] = v.reverse ? n - 1 - i : i;
        bind(v.axes, at);
        step(acc, evaluate());
        write(at, acc);
      }
    });
  }

  void store(const TileStore& s) {
    std::vector<PointExpr> index;
    for (const auto& e : s.index) index.emplace_back(e, scope_, MathMode::Reference);
    const PointExpr value(s.value, scope_, MathMode::Reference);
    PointExpr predicate;
    if (s.predicate) predicate = PointExpr(s.predicate, scope_, MathMode::Reference);
    std::vector<Symbol> axes;
    for (const auto& a : k_.axes)
      for (const auto& e : s.index)
        if (uses_var(e, a.name)) {
          axes.push_back(a.name);
          break;
        }
    PointArray& to = arrays_.at(s.param);
    std::vector<int64_t> place(index.size());
    for_each_point(extents(axes), [&](const std::vector<int64_t>& at) {
      bind(axes, at);
      if (s.predicate && !predicate(vars_).to_bool()) return;
      for (size_t i = 0; i < index.size(); i++) place[i] = index[i](vars_).to_int();
      to.write(to.offset(place), value(vars_));
    });
  }

  const Kernel& k_;
  std::string* error_;
  PointScope scope_;
  std::vector<Scalar> vars_;                     // axes, then sizes
  std::unordered_map<Symbol, int64_t> extents_;
  std::unordered_map<Symbol, PointArray> arrays_;   // its elements never move
};

}  // namespace

void interpret(const Kernel& kernel, const std::vector<BufferPtr>& buffers, const Sizes& sizes,
               std::string* error) {
  if (!kernel.opaque.empty()) {
    opaque_template(kernel).interpret(kernel, buffers, sizes, error);
    return;
  }
  Interpreter(kernel, buffers, sizes, error).run();
}

}  // namespace pto
