// einsum: the subscripts are read here, and the products are taken two at a time (contract), in an
// order that costs few multiplications.
#include "ops/einsum.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>
#include <set>

#include "ops/compose.h"
#include "ops/fold_attrs.h"
#include "ops/movement_attrs.h"
#include "ops/size_context.h"

namespace pto {
namespace {

using Labels = std::vector<std::string>;

bool has(const Labels& labels, const std::string& label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

[[noreturn]] void fail(std::string_view fn, std::string message, std::string expected, std::string got,
                       std::string label, const Values& operands) {
  ErrorInfo info{.op = std::string(fn),
                 .message = std::move(message),
                 .expected = std::move(expected),
                 .got = std::move(got)};
  for (const auto& v : operands) info.operands.push_back(v.type().str());
  info.label = std::move(label);
  info.loc = current_loc();
  throw Error(std::move(info));
}

// --- one operand --------------------------------------------------------------------------------

// Equal labels become one axis.
Labelled without_repeats(Labelled x) {
  Labels distinct;
  auto attrs = std::make_shared<DiagonalAttrs>();
  for (const auto& label : x.labels) {
    auto it = std::find(distinct.begin(), distinct.end(), label);
    attrs->axes.push_back(it - distinct.begin());
    if (it == distinct.end()) distinct.push_back(label);
  }
  if (distinct.size() == x.labels.size()) return x;
  return {make_value("diagonal", {x.value}, attrs, current_loc()), distinct};
}

// Without axes whose size 1 stands for another size.
Labelled without_broadcast(const Labelled& x, const std::map<std::string, Size>& sizes) {
  Labelled y;
  Shape shape;
  for (size_t d = 0; d < x.labels.size(); d++) {
    const Size& size = x.value.shape()[d];
    if (size.is_const(1) && !sizes.at(x.labels[d]).is_const(1)) continue;
    shape.push_back(size);
    y.labels.push_back(x.labels[d]);
  }
  y.value = shape.size() == x.labels.size() ? x.value : reshape(x.value, shape);
  return y;
}

// Summed over the labels that are not in `kept`; the sum stays in the accumulator's type.
Labelled without_unused(const Labelled& x, const std::set<std::string>& kept) {
  Labelled y;
  std::vector<int64_t> axes;
  for (size_t d = 0; d < x.labels.size(); d++) {
    if (kept.count(x.labels[d]))
      y.labels.push_back(x.labels[d]);
    else
      axes.push_back(static_cast<int64_t>(d));
  }
  y.value =
      axes.empty() ? x.value : reduce("add", cast(x.value, accumulator_type(x.value.dtype())), axes, false);
  return y;
}

// Permuted to the order of `order`, with axes of size 1 for the labels that it lacks.
Value aligned(const Labelled& x, const Labels& order) {
  std::vector<int64_t> perm;
  Shape shape;
  for (const auto& label : order) {
    const auto it = std::find(x.labels.begin(), x.labels.end(), label);
    if (it != x.labels.end()) perm.push_back(it - x.labels.begin());
    shape.push_back(it == x.labels.end() ? Size(1) : x.value.shape()[it - x.labels.begin()]);
  }
  Value y = std::is_sorted(perm.begin(), perm.end()) ? x.value : permute(x.value, perm);
  return shape.size() == perm.size() ? y : reshape(y, shape);
}

// --- two operands -------------------------------------------------------------------------------

// The product of both, summed over the labels that are not in `out`, as `type`. Where nothing is summed
// it is an elementwise product.
Labelled product_of(const Labelled& x, const Labelled& y, const Labels& out, DType type) {
  DType common = x.value.dtype();
  if (y.value.dtype() != common) common = accumulator_type(common);   // one of them is a sum of halves
  auto stays = [&](const std::string& label) { return has(out, label); };
  if (std::all_of(x.labels.begin(), x.labels.end(), stays) &&
      std::all_of(y.labels.begin(), y.labels.end(), stays)) {
    if (type != common) common = accumulator_type(common);
    return {cast(mul(cast(aligned(x, out), common), cast(aligned(y, out), common)), type), out};
  }
  auto attrs = std::make_shared<ContractAttrs>();
  attrs->lhs = x.labels;
  attrs->rhs = y.labels;
  attrs->out = out;
  attrs->dtype = type == common ? type : accumulator_type(common);
  const Values operands{cast(x.value, common), cast(y.value, common)};
  return {cast(make_value("contract", operands, attrs, current_loc()), type), out};
}

// --- order --------------------------------------------------------------------------------------

using Mask = uint64_t;   // of operands
inline constexpr size_t kMaxExact = 8;

// Which operands to multiply, by number; a product gets the next number.
using Steps = std::vector<std::pair<size_t, size_t>>;

class Planner {
 public:
  Planner(const std::vector<Labelled>& operands, const Labels& out,
          const std::map<std::string, Size>& sizes) {
    const Sizes& hints = size_context().hints;
    for (const auto& [label, size] : sizes) {
      numbers_.emplace(label, extents_.size());
      bool known = true;
      visit(size, [&](const Expr& e) { known &= !e.is_var() || hints.count(e.symbol()); });
      extents_.push_back(known ? static_cast<double>(eval_size(size, hints)) : kUnknown);
    }
    for (const auto& x : operands) labels_.push_back(set_of(x.labels));
    out_ = set_of(out);
  }

  Steps plan() const { return labels_.size() <= kMaxExact ? exact() : greedy(); }

 private:
  static constexpr double kUnknown = 128;   // a symbolic size of which nothing is known
  using LabelSet = std::set<size_t>;

  LabelSet set_of(const Labels& labels) const {
    LabelSet set;
    for (const auto& label : labels) set.insert(numbers_.at(label));
    return set;
  }
  static LabelSet both(LabelSet a, const LabelSet& b) {
    a.insert(b.begin(), b.end());
    return a;
  }
  double points(const LabelSet& labels) const {
    double n = 1;
    for (size_t label : labels) n *= std::max(extents_[label], 1.0);
    return n;
  }

  // The labels of the product of the operands in `mask`: those that the rest or the result needs.
  LabelSet labels_of(Mask mask) const {
    LabelSet in, needed = out_, kept;
    for (size_t i = 0; i < labels_.size(); i++) {
      LabelSet& set = mask >> i & 1 ? in : needed;
      set.insert(labels_[i].begin(), labels_[i].end());
    }
    if (std::has_single_bit(mask)) return in;
    std::set_intersection(in.begin(), in.end(), needed.begin(), needed.end(),
                          std::inserter(kept, kept.end()));
    return kept;
  }

  // Over all sets of operands, from small to large, the cheapest way to split each in two.
  Steps exact() const {
    const size_t n = labels_.size();
    const Mask all = (Mask{1} << n) - 1;
    std::vector<LabelSet> labels(all + 1);
    std::vector<double> cost(all + 1, 0);
    std::vector<Mask> split(all + 1, 0);
    for (Mask m = 1; m <= all; m++) labels[m] = labels_of(m);
    for (Mask m = 1; m <= all; m++) {
      if (std::has_single_bit(m)) continue;
      const Mask low = m & -m;
      for (Mask part = (m - 1) & m; part; part = (part - 1) & m) {
        if (!(part & low)) continue;   // each split once
        const Mask rest = m ^ part;
        const double total =
            cost[part] + cost[rest] + points(both(labels[part], labels[rest])) + points(labels[m]);
        if (split[m] && total >= cost[m]) continue;
        cost[m] = total;
        split[m] = part;
      }
    }
    Steps steps;
    size_t next = n;
    emit(all, split, steps, next);
    return steps;
  }

  // At most kMaxExact deep.
  static size_t emit(Mask m, const std::vector<Mask>& split, Steps& steps, size_t& next) {
    if (std::has_single_bit(m)) return std::countr_zero(m);
    const size_t a = emit(split[m], split, steps, next), b = emit(m ^ split[m], split, steps, next);
    steps.emplace_back(a, b);
    return next++;
  }

  // Always the pair whose product needs the fewest multiplications.
  Steps greedy() const {
    struct Live {
      size_t number;
      LabelSet labels;
    };
    std::vector<Live> live;
    for (size_t i = 0; i < labels_.size(); i++) live.push_back({i, labels_[i]});
    Steps steps;
    for (size_t next = labels_.size(); live.size() > 1; next++) {
      size_t best_a = 0, best_b = 1;
      double best = points(both(live[0].labels, live[1].labels));
      for (size_t a = 0; a < live.size(); a++)
        for (size_t b = a + 1; b < live.size(); b++) {
          const double cost = points(both(live[a].labels, live[b].labels));
          if (cost < best) best = cost, best_a = a, best_b = b;
        }
      LabelSet needed = out_, kept;
      for (size_t i = 0; i < live.size(); i++)
        if (i != best_a && i != best_b) needed = both(needed, live[i].labels);
      const LabelSet in = both(live[best_a].labels, live[best_b].labels);
      std::set_intersection(in.begin(), in.end(), needed.begin(), needed.end(),
                            std::inserter(kept, kept.end()));
      steps.emplace_back(live[best_a].number, live[best_b].number);
      live[best_a] = {next, kept};
      live.erase(live.begin() + best_b);
    }
    return steps;
  }

  std::map<std::string, size_t> numbers_;
  std::vector<double> extents_;
  std::vector<LabelSet> labels_;
  LabelSet out_;
};

// --- sizes and types ----------------------------------------------------------------------------

std::map<std::string, Size> label_sizes(std::string_view fn, const std::vector<Labelled>& operands,
                                        const Values& values) {
  std::map<std::string, Size> sizes;
  std::map<std::string, size_t> given_by;
  for (size_t i = 0; i < operands.size(); i++)
    for (size_t d = 0; d < operands[i].labels.size(); d++) {
      const std::string& label = operands[i].labels[d];
      const Size& size = operands[i].value.shape()[d];
      const auto [it, fresh] = sizes.emplace(label, size);
      if (fresh || it->second.is_const(1)) {
        it->second = size;
        given_by[label] = i;
      } else if (!size.is_const(1) && !sizes_agree(it->second, size)) {
        const std::string first = std::to_string(given_by[label]), second = std::to_string(i);
        const std::string shown = label[0] == '_' ? "..." : label;
        fail(fn,
             "label " + shown + " has size " + to_text(it->second) + " in operand " + first + " and size " +
                 to_text(size) + " in operand " + second,
             shown + " = " + to_text(it->second), shown + " = " + to_text(size), shown, values);
      }
    }
  return sizes;
}

void promote_all(std::string_view fn, std::vector<Labelled>& operands, const Values& values) {
  DType type = operands[0].value.dtype();
  for (const auto& x : operands) {
    const auto common = promote(type, x.value.dtype());
    if (!common)
      fail(fn, "the operands' types do not promote to one", "",
           std::string(info(type).numpy) + " and " + std::string(info(x.value.dtype()).numpy), "", values);
    type = *common;
  }
  for (auto& x : operands) x.value = cast(x.value, type);
}

}  // namespace

Value sum_of_products(std::string_view fn, std::vector<Labelled> operands, const Labels& out) {
  Values values;
  for (const auto& x : operands) values.push_back(x.value);
  promote_all(fn, operands, values);
  const DType type = operands[0].value.dtype(), wide = accumulator_type(type);
  const auto sizes = label_sizes(fn, operands, values);
  std::map<std::string, int> uses;   // by operands that are left, and by the result
  for (const auto& label : out) uses[label]++;
  for (auto& x : operands) {
    x = without_broadcast(without_repeats(x), sizes);
    for (const auto& label : x.labels) uses[label]++;
  }
  for (auto& x : operands) {
    std::set<std::string> kept;
    for (const auto& label : x.labels)
      if (uses[label] > 1) kept.insert(label);
    x = without_unused(x, kept);
  }
  const Steps steps = Planner(operands, out, sizes).plan();
  for (size_t s = 0; s < steps.size(); s++) {
    const auto [i, j] = steps[s];
    const Labelled a = std::move(operands[i]), b = std::move(operands[j]);
    Labels kept;
    for (const auto* labels : {&a.labels, &b.labels})
      for (const auto& label : *labels) uses[label]--;
    // What both have stands first: it is the batch of this product, and of the next.
    for (const bool shared : {true, false})
      for (const auto* labels : {&a.labels, &b.labels})
        for (const auto& label : *labels)
          if (uses[label] > 0 && (has(a.labels, label) && has(b.labels, label)) == shared &&
              !has(kept, label))
            kept.push_back(label);
    const bool last = s + 1 == steps.size();
    operands.push_back(product_of(a, b, last ? out : kept, last ? type : wide));
    for (const auto& label : operands.back().labels) uses[label]++;
  }
  return cast(aligned(operands.back(), out), type);
}

// --- subscripts ---------------------------------------------------------------------------------

namespace {

struct Subscripts {
  std::vector<Labels> operands;   // "..." is a label of its own here
  Labels out;
  bool explicit_out = false;
};

const std::string kEllipsis = "...";

Labels parse_labels(std::string_view text, const Values& values) {
  Labels labels;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == kEllipsis) {
      if (has(labels, kEllipsis))
        fail("einsum", "an operand has two ellipses", "one \"...\"", std::string(text), "...", values);
      labels.push_back(kEllipsis);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels.emplace_back(1, text[i]);
    } else {
      fail("einsum", "subscripts are letters and \"...\"", "a letter", "'" + std::string(1, text[i]) + "'",
           std::string(1, text[i]), values);
    }
  }
  return labels;
}

// Labels that stand exactly once, in alphabetical order, after the ellipsis.
Labels implicit_out(const std::vector<Labels>& operands) {
  std::map<std::string, int> uses;
  for (const auto& labels : operands)
    for (const auto& label : labels) uses[label]++;
  Labels out;
  if (uses.count(kEllipsis)) out.push_back(kEllipsis);
  for (const auto& [label, n] : uses)
    if (n == 1 && label != kEllipsis) out.push_back(label);
  return out;
}

Subscripts parse_subscripts(std::string_view spec, const Values& values) {
  Subscripts s;
  const size_t arrow = spec.find("->");
  std::string_view inputs = spec.substr(0, arrow);
  for (;;) {
    const size_t comma = inputs.find(',');
    s.operands.push_back(parse_labels(inputs.substr(0, comma), values));
    if (comma == std::string_view::npos) break;
    inputs.remove_prefix(comma + 1);
  }
  if (s.operands.size() != values.size())
    fail("einsum", "the subscripts are for another number of operands",
         std::to_string(s.operands.size()) + " operands", std::to_string(values.size()), "", values);
  s.explicit_out = arrow != std::string_view::npos;
  s.out = s.explicit_out ? parse_labels(spec.substr(arrow + 2), values) : implicit_out(s.operands);
  return s;
}

// "..." as labels of the axes that it stands for, counted from the last: "_1", "_0".
Labels expanded(const Labels& labels, int axes) {
  Labels all;
  for (const auto& label : labels) {
    if (label != kEllipsis) {
      all.push_back(label);
      continue;
    }
    for (int d = axes; d-- > 0;) all.push_back("_" + std::to_string(d));
  }
  return all;
}

}  // namespace

Value einsum(std::string_view spec, const Values& values) {
  if (values.empty()) fail("einsum", "there are no operands", "at least one", "none", "", values);
  const Subscripts s = parse_subscripts(spec, values);
  std::vector<Labelled> operands;
  std::set<std::string> known;
  int widest = 0;
  for (size_t i = 0; i < values.size(); i++) {
    const bool ellipsis = has(s.operands[i], kEllipsis);
    const int named = static_cast<int>(s.operands[i].size()) - ellipsis, rest = values[i].rank() - named;
    if (rest < 0 || (rest > 0 && !ellipsis))
      fail("einsum", "operand " + std::to_string(i) + " has another number of axes than its subscripts",
           join(s.operands[i], "") + " (" + std::to_string(named) + (ellipsis ? " or more" : "") + " axes)",
           values[i].type().str(), "", values);
    if (ellipsis) widest = std::max(widest, rest);
    operands.push_back({values[i], expanded(s.operands[i], rest)});
    known.insert(operands.back().labels.begin(), operands.back().labels.end());
  }
  if (widest > 0 && !has(s.out, kEllipsis))
    fail("einsum", "the result must have the axes of the ellipsis", "\"...\" in the result", join(s.out, ""),
         "...", values);
  const Labels out = expanded(s.out, widest);
  std::set<std::string> seen;
  for (const auto& label : out) {
    if (!known.count(label))
      fail("einsum", "label " + label + " of the result is no operand's", "", join(s.out, ""), label, values);
    if (!seen.insert(label).second)
      fail("einsum", "label " + label + " stands twice in the result", "", join(s.out, ""), label, values);
  }
  return sum_of_products("einsum", std::move(operands), out);
}

// Vectors count as a row on the left and a column on the right; axes before the last two broadcast.
Value matmul(const Value& a, const Value& b) {
  if (a.rank() == 0 || b.rank() == 0)
    fail("matmul", "a product of matrices needs axes", "rank 1 or more",
         a.type().str() + " and " + b.type().str(), "", {a, b});
  const Size &columns = a.shape()[a.rank() - 1], &rows = b.shape()[std::max(b.rank() - 2, 0)];
  if (!sizes_agree(columns, rows))
    fail("matmul",
         "the last axis of the first operand must match the " +
             std::string(b.rank() == 1 ? "axis" : "axis before the last") + " of the second",
         to_text(columns), to_text(rows), std::to_string(std::max(b.rank() - 2, 0)), {a, b});
  auto batch = [](int rank) {
    Labels labels;
    for (int d = rank - 2; d-- > 0;) labels.push_back("_" + std::to_string(d));
    return labels;
  };
  Labels lhs = batch(a.rank()), rhs = batch(b.rank()), out = batch(std::max(a.rank(), b.rank()));
  if (a.rank() > 1) {
    lhs.push_back("i");
    out.push_back("i");
  }
  lhs.push_back("k");
  rhs.push_back("k");
  if (b.rank() > 1) {
    rhs.push_back("j");
    out.push_back("j");
  }
  return sum_of_products("matmul", {{a, lhs}, {b, rhs}}, out);
}

}  // namespace pto
