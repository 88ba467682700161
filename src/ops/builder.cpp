// Operands of elementwise rows: types, weak scalars, shapes. And the location of what is built.
#include "ops/builder.h"

#include <algorithm>
#include <cmath>

#include "ops/leaf_attrs.h"
#include "ops/movement_attrs.h"
#include "ops/size_context.h"

namespace pto {
namespace {

thread_local Loc location;
thread_local bool within_whole = false;

bool is_full(const Value& x) {
  static const OpRow& full_row = row("full");
  return x.node->row() == &full_row && !x.node->has_data();
}
Value size_node(const Expr& value, DType type) {
  auto attrs = std::make_shared<SizeAttrs>();
  attrs->value = {cast(type, value)};
  return make_value("size", {}, std::move(attrs), location);
}
bool is_size(const Value& x) {
  static const OpRow& size_row = row("size");
  return x.node->row() == &size_row && !x.node->has_data();
}

}  // namespace

// --- locations ----------------------------------------------------------------------------------

WithLoc::WithLoc(Loc loc) : previous_(location) { location = loc; }
WithLoc::~WithLoc() { location = previous_; }

WithName::WithName(std::string_view name, bool whole) : previous_(location) {
  if (within_whole) return;
  within_whole = outermost_whole_ = whole;
  LocInfo info = location.info();
  info.path += info.path.empty() ? std::string(name) : " / " + std::string(name);
  location = Loc(info);
}
WithName::~WithName() {
  location = previous_;
  if (outermost_whole_) within_whole = false;
}

Loc current_loc() { return location; }

std::string_view innermost(const LocInfo& loc) {
  const std::string_view path = loc.path;
  const size_t last = path.rfind(" / ");
  return path.substr(last == path.npos ? 0 : last + 3);
}

std::string called_name(const Node& node) {
  const auto name = innermost(node.loc().info());
  return name.empty() ? node.row()->name : std::string(name);
}

std::string reported_name(const std::string& function) {
  return within_whole ? std::string(innermost(location.info())) : function;
}

// --- scalars ------------------------------------------------------------------------------------

Value full(const Shape& shape, Scalar value) {
  auto attrs = std::make_shared<FullAttrs>();
  attrs->value = value;
  attrs->shape = shape;
  return make_value("full", {}, std::move(attrs), location);
}

Value cast(const Value& x, DType type) {
  if (x.dtype() == type) return x;
  if (is_full(x)) return full(x.shape(), convert(attrs_of<FullAttrs>(*x.node).value, type));
  if (is_size(x)) return size_node(attrs_of<SizeAttrs>(*x.node).value[0], type);
  auto attrs = std::make_shared<DTypeAttrs>();
  attrs->dtype = type;
  return make_value("cast", {x}, std::move(attrs), location);
}

namespace {

// The type that a scalar has where nothing else decides.
DType own_type(const Operand& operand) {
  if (const auto* v = std::get_if<Value>(&operand)) return v->dtype();
  if (std::holds_alternative<bool>(operand)) return DType::Bool;
  if (std::holds_alternative<double>(operand)) return DType::F32;
  if (const auto* e = std::get_if<Expr>(&operand)) return is_float(e->type()) ? DType::F32 : e->type();
  return DType::I64;
}

std::optional<Scalar> integer_of(const Operand& operand) {
  if (const auto* i = std::get_if<int64_t>(&operand)) return Scalar::from_int(DType::I64, *i);
  const auto* e = std::get_if<Expr>(&operand);
  return e && e->is_const() && is_int(e->type()) ? std::optional(e->value()) : std::nullopt;
}

bool fits(Scalar value, DType type) {
  const int64_t n = value.to_int();
  if (value.type == DType::U64 && n < 0) return type == DType::U64;
  return (n >= 0 || is_signed(type)) && convert(value, type).to_int() == n;
}

// A whole number within the type.
bool fits(double value, DType type) {
  const double limit = type == DType::U64 ? 0x1p64 : 0x1p63;
  return std::trunc(value) == value && value < limit && Scalar::from_double(type, value).to_double() == value;
}

// Of what is known when the program is called, the value in the call that is traced decides, and is a guard.
bool fits(const Expr& value, DType type) {
  if (type == DType::I64 || !is_int(value.type())) return true;
  const Expr low(Scalar::from_double(type, -INFINITY).to_int());
  Expr within = low <= value;
  if (type != DType::U64) within = within & (value <= Expr(Scalar::from_double(type, INFINITY).to_int()));
  return decide(within) != false;
}

ErrorInfo misfit(const std::string& value, DType type) {
  return {.op = std::string(innermost(location.info())),
          .message = value + " does not fit the type " + std::string(info(type).numpy),
          .expected = "an integer within the type, or a cast of the tensor",
          .got = value,
          .loc = location};
}
ErrorInfo misfit(Scalar integer, DType type) {
  ErrorInfo info = misfit(integer.str(), type);
  info.message = "the integer " + info.message;
  return info;
}

}  // namespace

Value to_value(const Operand& operand, std::optional<DType> type) {
  const DType to = type.value_or(own_type(operand));
  if (const auto* v = std::get_if<Value>(&operand)) return cast(*v, to);
  if (const auto* b = std::get_if<bool>(&operand)) return full({}, convert(Scalar::from_bool(*b), to));
  if (const auto i = integer_of(operand)) {
    if (is_int(to) && !fits(*i, to)) throw Error(misfit(*i, to));
    return full({}, convert(*i, to));
  }
  if (const auto* d = std::get_if<double>(&operand)) {
    const Scalar value = Scalar::from_double(DType::F64, *d);
    if (is_int(to) && !fits(*d, to))
      throw Error(misfit("the number " + (std::isnan(*d) ? "nan" : value.str()), to));
    return full({}, convert(value, to));
  }
  const Expr& e = std::get<Expr>(operand);
  if (e.is_const()) return full({}, convert(e.value(), to));
  if (is_int(to) && !fits(e, to)) throw Error(misfit("the integer " + to_text(e), to));
  return size_node(e, to);
}

Value to_value_of(const Operand& operand, DType type) {
  return std::holds_alternative<double>(operand) ? cast(to_value(operand, DType::F64), type)
                                                 : to_value(operand, type);
}

// --- shapes -------------------------------------------------------------------------------------

Shape broadcast_shapes(const std::vector<Shape>& shapes, std::string_view fn, const Values& operands) {
  size_t rank = 0;
  for (const auto& s : shapes) rank = std::max(rank, s.size());
  Shape result(rank, Size(1));
  for (const auto& s : shapes)
    for (size_t d = 0; d < s.size(); d++) {
      Size& at = result[rank - s.size() + d];
      const Size& size = s[d];
      if (size.is_const(1) || at == size) continue;
      if (at.is_const(1)) {
        at = size;
        continue;
      }
      // A symbolic size that is 1 in this call is an axis that is repeated, and stays so by a guard.
      if (sizes_agree(at, size)) {
        if (size.is_const()) at = size;
        continue;
      }
      auto is_one = [](const Size& n) { return !n.is_const() && decide(equal(n, Size(1))) == true; };
      if (is_one(size)) continue;
      if (is_one(at)) {
        at = size;
        continue;
      }
      const int64_t axis = static_cast<int64_t>(d) - static_cast<int64_t>(s.size());
      ErrorInfo info{.op = std::string(fn),
                     .message = "the shapes do not broadcast: axis " + std::to_string(axis) +
                                " has the sizes " + to_text(at) + " and " + to_text(size),
                     .expected = "equal sizes, or 1"};
      std::vector<std::string> texts;
      for (const auto& other : shapes) texts.push_back(shape_text(other));
      info.got = join(texts, ", ");
      for (size_t i = 0; i < operands.size(); i++)
        info.operands.push_back("x" + std::to_string(i) + ": " + operands[i].type().str());
      info.label = std::to_string(axis);
      info.loc = location;
      throw Error(std::move(info));
    }
  return result;
}

Value broadcast_to(const Value& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  if (x.rank() == 0 && is_full(x)) return full(shape, attrs_of<FullAttrs>(*x.node).value);
  // Only an axis whose size is the constant 1 is repeated.
  Shape ones = x.shape();
  const int64_t extra = static_cast<int64_t>(shape.size()) - x.rank();
  for (int d = 0; extra >= 0 && d < x.rank(); d++) {
    Size& from = ones[d];
    const Size& to = shape[d + extra];
    if (from.is_const() || prove_equal(from, to) == true) continue;
    const Sizes& hints = size_context().hints;
    bool known = !hints.empty();
    for (const Size& size : {from, to})
      visit(size, [&](const Expr& e) { known = known && (!e.is_var() || hints.count(e.symbol())); });
    if (known && eval_size(from, hints) == 1 && eval_size(to, hints) != 1 &&
        decide(equal(from, Size(1))) == true)
      from = Size(1);
  }
  auto attrs = std::make_shared<ShapeAttrs>();
  attrs->shape = shape;
  return make_value("broadcast", {reshape(x, ones)}, std::move(attrs), location);
}

int64_t normalise_axis(int64_t axis, int rank, std::string_view fn) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  throw Error(
      {.op = std::string(fn),
       .message = "axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank),
       .expected = rank == 0 ? "no axis" : std::to_string(-rank) + " .. " + std::to_string(rank - 1),
       .got = std::to_string(axis),
       .label = std::to_string(axis),
       .loc = location});
}

std::vector<int64_t> normalise_axes(const std::vector<int64_t>& axes, int rank, std::string_view fn) {
  std::vector<int64_t> result;
  for (int64_t axis : axes) {
    const int64_t a = normalise_axis(axis, rank, fn);
    if (std::find(result.begin(), result.end(), a) != result.end())
      throw Error({.op = std::string(fn),
                   .message = "axis " + std::to_string(axis) + " is named twice",
                   .got = shape_text({axes.begin(), axes.end()}),
                   .label = std::to_string(axis),
                   .loc = location});
    result.push_back(a);
  }
  return result;
}

// --- elementwise --------------------------------------------------------------------------------

namespace {

// Scalars are weak: they matter by kind alone. bool < integer < float.
int kind(DType type) { return is_float(type) ? 2 : is_int(type) ? 1 : 0; }

class Elementwise {
 public:
  Elementwise(const OpRow& row, std::vector<Operand>& operands, std::string_view fn)
      : row_(row), operands_(operands), fn_(fn), first_(row.min_inputs == 3 ? 1 : 0) {}

  Value build() {
    const DType type = common_type();
    Values values;
    for (size_t i = 0; i < operands_.size(); i++)
      values.push_back(i < first_ ? to_value(operands_[i]) : to_value(operands_[i], type));
    std::vector<Shape> shapes;
    for (const auto& v : values) shapes.push_back(v.shape());
    const Shape shape = broadcast_shapes(shapes, fn_, values);
    for (auto& v : values) v = broadcast_to(v, shape);
    try {
      return {make_node(row_, std::move(values), row_.make_attrs(), location), 0};
    } catch (const Error& e) {
      if (e.info().op == fn_) throw;
      ErrorInfo info = e.info();
      info.op = fn_;
      throw Error(std::move(info));
    }
  }

 private:
  DType common_type() const {
    std::optional<DType> type;
    int weak = 0;
    for (size_t i = first_; i < operands_.size(); i++) {
      const auto* v = std::get_if<Value>(&operands_[i]);
      if (!v) {
        weak = std::max(weak, kind(own_type(operands_[i])));
        continue;
      }
      const auto both = type ? promote(*type, v->dtype()) : v->dtype();
      if (!both)
        fail({.message = "the operands' types do not promote to one",
              .expected = "types with a common one, or a cast",
              .got = std::string(info(*type).numpy) + " and " + std::string(info(v->dtype()).numpy)});
      type = both;
    }
    DType result = type.value_or(DType::Bool);
    if (weak > kind(result)) result = weak == 2 ? DType::F32 : DType::I64;
    const bool floats_alone = row_.test.dtypes.find_first_of("biu") == std::string::npos;
    if (floats_alone && !is_float(result)) result = DType::F32;
    return with_integers(result);
  }

  // A Python integer must fit the type that it takes; comparisons with others are made in int64.
  DType with_integers(DType type) const {
    if (!is_int(type)) return type;
    for (size_t i = first_; i < operands_.size(); i++) {
      const auto value = integer_of(operands_[i]);
      if (!value || fits(*value, type)) continue;
      const auto& n = row_.name;
      const bool compares = n == "equal" || n == "not_equal" || n == "less" || n == "less_equal";
      if (compares && type != DType::U64 && fits(*value, DType::I64)) return DType::I64;
      fail(misfit(*value, type));
    }
    return type;
  }

  [[noreturn]] void fail(ErrorInfo info) const {
    info.op = fn_;
    for (size_t i = 0; i < operands_.size(); i++)
      if (const auto* v = std::get_if<Value>(&operands_[i]))
        info.operands.push_back("x" + std::to_string(i) + ": " + v->type().str());
    info.loc = location;
    throw Error(std::move(info));
  }

  const OpRow& row_;
  std::vector<Operand>& operands_;
  const std::string fn_;
  const size_t first_;   // the condition of `where` has a type of its own
};

}  // namespace

Value elementwise(std::string_view name, std::vector<Operand> operands, std::string_view fn) {
  const OpRow& found = row(name);
  return Elementwise(found, operands, fn.empty() ? name : fn).build();
}

}  // namespace pto
