// Products of matrices, tensors and windows.
#include <algorithm>
#include <numeric>

#include "ops/compose.h"
#include "ops/einsum.h"
#include "ops/fold_attrs.h"
#include "ops/function_families.h"
#include "ops/size_context.h"

namespace pto {
namespace {

using Labels = std::vector<std::string>;

// prefix0, prefix1, ...
Labels numbered(const std::string& prefix, int n) {
  Labels labels;
  for (int d = 0; d < n; d++) labels.push_back(prefix + std::to_string(d));
  return labels;
}

Labels joined(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// --- products -----------------------------------------------------------------------------------

// Sums over axes x_axes[i] of x and y_axes[i] of y together; the other axes of x stand first.
Value product_over(const Args& args, const Value& x, const Value& y, const std::vector<int64_t>& x_axes,
                   const std::vector<int64_t>& y_axes) {
  Labels lhs = numbered("i", x.rank()), rhs = numbered("j", y.rank()), out;
  for (size_t i = 0; i < x_axes.size(); i++) {
    const Size &a = x.shape()[x_axes[i]], &b = y.shape()[y_axes[i]];
    if (!sizes_agree(a, b))
      fail(args,
           "axis " + std::to_string(x_axes[i]) + " of x and axis " + std::to_string(y_axes[i]) +
               " of y must have one size",
           to_text(a), to_text(b), std::to_string(y_axes[i]), {x, y});
    lhs[x_axes[i]] = rhs[y_axes[i]] = "k" + std::to_string(i);
  }
  for (const auto* labels : {&lhs, &rhs})
    for (const auto& label : *labels)
      if (label[0] != 'k') out.push_back(label);
  return sum_of_products(args.function(), {{x, lhs}, {y, rhs}}, out);
}

Value flat(const Value& x) { return x.rank() == 1 ? x : reshape(x, {Size(-1)}); }

// The last axis of x with the axis before the last of y (its only one if it is a vector).
Values build_dot(const Args& args) {
  const Value x = args.tensor("x"), y = args.tensor("y");
  if (x.rank() == 0 || y.rank() == 0) return {mul(x, y)};
  return {product_over(args, x, y, {x.rank() - 1}, {std::max(y.rank() - 2, 0)})};
}

Values build_inner(const Args& args) {
  const Value x = args.tensor("x"), y = args.tensor("y");
  if (x.rank() == 0 || y.rank() == 0) return {mul(x, y)};
  return {product_over(args, x, y, {x.rank() - 1}, {y.rank() - 1})};
}

Values build_vdot(const Args& args) {
  return {product_over(args, flat(args.tensor("x")), flat(args.tensor("y")), {0}, {0})};
}

Values build_outer(const Args& args) {
  return {product_over(args, flat(args.tensor("x")), flat(args.tensor("y")), {}, {})};
}

// The other axes broadcast.
Values build_vecdot(const Args& args) {
  const Value x = args.tensor("x"), y = args.tensor("y");
  if (x.rank() == 0 || y.rank() == 0)
    fail(args, "a product of vectors needs an axis", "rank >= 1", "", "", {x, y});
  auto labels = [&](const Value& v) {
    const int64_t axis = axis_argument(args, "axis", v.rank());
    Labels all;
    for (int64_t d = 0; d < v.rank(); d++)
      if (d != axis) all.push_back("_" + std::to_string(v.rank() - 1 - static_cast<int>(all.size())));
    all.insert(all.begin() + axis, "k");
    return all;
  };
  const Size &a = x.shape()[axis_argument(args, "axis", x.rank())],
             &b = y.shape()[axis_argument(args, "axis", y.rank())];
  if (!sizes_agree(a, b))
    fail(args, "the vectors must have one size", to_text(a), to_text(b), "axis", {x, y});
  const Labels lhs = labels(x), rhs = labels(y);
  Labels out = lhs.size() >= rhs.size() ? lhs : rhs;
  out.erase(std::find(out.begin(), out.end(), "k"));
  return {sum_of_products(args.function(), {{x, lhs}, {y, rhs}}, out)};
}

// A number of axes (the last of x with the first of y), or axes of x and then as many of y.
Values build_tensordot(const Args& args) {
  const Value x = args.tensor("x"), y = args.tensor("y");
  auto axes = args.integers("axes");
  if (args.whole("axes")) {
    const int64_t n = axes[0];
    if (n < 0 || n > std::min(x.rank(), y.rank()))
      fail(args, "there are not so many axes", "0 .. " + std::to_string(std::min(x.rank(), y.rank())),
           std::to_string(n), "", {x, y});
    std::vector<int64_t> last(n), first(n);
    std::iota(last.begin(), last.end(), x.rank() - n);
    std::iota(first.begin(), first.end(), 0);
    return {product_over(args, x, y, last, first)};
  }
  if (axes.size() % 2)
    fail(args, "axes holds those of x and then as many of y", "an even number of axes",
         std::to_string(axes.size()));
  const auto middle = axes.begin() + static_cast<int64_t>(axes.size() / 2);
  return {product_over(args, x, y, normalise_axes({axes.begin(), middle}, x.rank(), args.function()),
                       normalise_axes({middle, axes.end()}, y.rank(), args.function()))};
}

Values build_linear(const Args& args) {
  const Value x = args.tensor("x"), weight = args.tensor("weight");
  if (x.rank() == 0 || weight.rank() != 2)
    fail(args, "x needs an axis of features and the weight must be a matrix",
         "[..., features], [outputs, features]", "", "", {x, weight});
  const Value y = product_over(args, x, weight, {x.rank() - 1}, {1});
  return {args.given("bias") ? add(y, args.tensor("bias")) : y};
}

Values build_matrix_transpose(const Args& args) {
  const Value x = args.tensor("x");
  if (x.rank() < 2) fail(args, "a matrix has two axes", "rank >= 2", x.type().str());
  std::vector<int64_t> perm(x.rank());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[x.rank() - 2], perm[x.rank() - 1]);
  return {permute(x, perm)};
}

// --- windows ------------------------------------------------------------------------------------

// One number for each of n axes; a single one is for all.
std::vector<int64_t> for_axes(const Args& args, const char* name, int n, int64_t least) {
  auto values = args.integers(name);
  if (values.size() == 1) values.resize(n, values[0]);
  if (static_cast<int>(values.size()) != n)
    fail(args, std::string(name) + " needs one number for each axis", std::to_string(n),
         std::to_string(values.size()));
  for (int64_t v : values)
    if (v < least)
      fail(args, std::string(name) + " is too small", "at least " + std::to_string(least), std::to_string(v));
  return values;
}

struct Margins {
  Exprs before, after;
};

// Numbers, "valid" (none) or "same" (as many positions as x has, for stride 1; the larger half behind).
Margins margins(const Args& args, const Exprs& widths, const std::vector<int64_t>& stride) {
  const int n = static_cast<int>(widths.size());
  Margins m;
  if (!args.text("padding")) {
    for (int64_t p : for_axes(args, "padding", n, 0)) {
      m.before.push_back(p);
      m.after.push_back(p);
    }
    return m;
  }
  const std::string kind = args.string("padding");
  if (kind != "valid" && kind != "same") fail(args, "unknown padding", "numbers, valid or same", kind);
  if (kind == "same" && std::any_of(stride.begin(), stride.end(), [](int64_t s) { return s != 1; }))
    fail(args, "padding \"same\" is for stride 1", "stride=1", shape_text({stride.begin(), stride.end()}));
  for (const Size& width : widths) {
    const Size before = kind == "same" ? simplify(floordiv(width, 2)) : Size(0);
    m.before.push_back(before);
    m.after.push_back(kind == "same" ? simplify(width - before) : Size(0));
  }
  return m;
}

// x [batch, channels, ...] with weight [outputs, channels / groups, ...]: one contraction, the groups
// being an axis of their own.
Values build_conv(const Args& args, int n) {
  Value x = args.tensor("x"), weight = args.tensor("weight");
  if (x.rank() != n + 2 || weight.rank() != n + 2)
    fail(args, "x and weight must have rank " + std::to_string(n + 2),
         "[batch, channels, ...], [outputs, channels / groups, ...]", "", "", {x, weight});
  const int64_t groups = args.integer("groups");
  const Size channels = x.shape()[1], outputs = weight.shape()[0];
  if (groups < 1) fail(args, "groups must be positive", "at least 1", std::to_string(groups));
  if (!sizes_agree(channels, simplify(weight.shape()[1] * Size(groups))))
    fail(args, "x must have the channels of the weight, for each group",
         to_text(simplify(weight.shape()[1] * Size(groups))) + " channels", to_text(channels), "1",
         {x, weight});
  if (!assume(equal(mod(outputs, groups), Size(0))))
    fail(args, "the outputs must divide into the groups", "a multiple of " + std::to_string(groups),
         to_text(outputs), "0", {x, weight});
  const auto type = promote(x.dtype(), weight.dtype());
  if (!type) fail(args, "the types do not promote to one", "", "", "", {x, weight});
  const auto stride = for_axes(args, "stride", n, 1), dilation = for_axes(args, "dilation", n, 1);
  Exprs widths;   // of a window, less one
  for (int d = 0; d < n; d++) widths.push_back(simplify((weight.shape()[d + 2] - 1) * Size(dilation[d])));
  const Margins around = margins(args, widths, stride);

  auto attrs = std::make_shared<ContractAttrs>();
  attrs->window = numbered("h", n);
  attrs->at = numbered("p", n);
  attrs->tap = numbered("r", n);
  attrs->stride = stride;
  attrs->dilation = dilation;
  attrs->before = around.before;
  attrs->dtype = *type;
  Shape result{x.shape()[0], outputs};
  for (int d = 0; d < n; d++) {
    const Size room = simplify(x.shape()[d + 2] + around.before[d] + around.after[d] - widths[d]);
    if (!assume(Expr(0) < room))
      fail(args, "the window is larger than axis " + std::to_string(d + 2) + " with its margins",
           "at least " + to_text(simplify(widths[d] + 1)), to_text(simplify(room + widths[d])),
           std::to_string(d + 2), {x, weight});
    attrs->count.push_back(simplify(floordiv(room - 1, stride[d]) + 1));
    result.push_back(attrs->count.back());
  }
  const Labels group = groups == 1 ? Labels{} : Labels{"g"};
  attrs->lhs = joined(joined({"n"}, group), joined({"c"}, attrs->window));
  attrs->rhs = joined(joined(group, {"o", "c"}), attrs->tap);
  attrs->out = joined(joined({"n"}, group), joined({"o"}, attrs->at));
  if (groups != 1) {
    Shape grouped = x.shape(), filters = weight.shape();
    grouped[1] = weight.shape()[1];
    grouped.insert(grouped.begin() + 1, Size(groups));
    filters[0] = simplify(floordiv(outputs, groups));
    filters.insert(filters.begin(), Size(groups));
    x = reshape(x, grouped);
    weight = reshape(weight, filters);
  }
  Value y = make_value("contract", {cast(x, *type), cast(weight, *type)}, attrs, current_loc());
  if (groups != 1) y = reshape(y, result);
  if (!args.given("bias")) return {y};
  const Value bias = args.tensor("bias");
  if (bias.rank() != 1 || !sizes_agree(bias.shape()[0], outputs))
    fail(args, "the bias must be a vector with one number for each output", shape_text({outputs}),
         bias.type().str());
  Shape along(n + 2, Size(1));
  along[1] = outputs;
  return {add(y, reshape(bias, along))};
}

// --- the table ----------------------------------------------------------------------------------

Function product(std::string name, std::string doc, std::function<Values(const Args&)> build,
                 std::vector<std::string> cases, std::string numpy = "") {
  Function f;
  f.signature = "x: Tensor, y: Tensor";
  f.doc = std::move(doc);
  f.build = std::move(build);
  f.test = {.numpy = numpy.empty() ? "np." + name + "(x, y)" : std::move(numpy),
            .domains = {"unit"},
            .dtypes = "iuf",
            .ulp = 64,
            .atol = 1e-5};
  f.name = std::move(name);
  f.cases = std::move(cases);
  return f;
}

Function conv(int n, std::vector<std::string> cases) {
  Function f;
  f.name = "conv" + std::to_string(n) + "d";
  f.signature =
      "x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1, "
      "padding: int | tuple[int, ...] | str = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1";
  f.doc =
      "Cross-correlation over the last " + std::string(n == 1 ? "axis" : std::to_string(n) + " axes") +
      ": x [batch, channels, ...], weight [outputs, channels / groups, ...]. Outside x are zeros: "
      "`padding` before and after each axis, or \"valid\" (none), or \"same\" (the result has the sizes of x).";
  f.build = [n](const Args& args) { return build_conv(args, n); };
  f.test = {.numpy = "ref.conv(x, weight, bias, stride, padding, dilation, groups)",
            .domains = {"unit"},
            .ulp = 64,
            .atol = 1e-5};
  f.cases = std::move(cases);
  return f;
}

}  // namespace

const std::vector<Function>& linear_functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> v;
    v.push_back(product(
        "matmul",
        "Product of matrices over the last axis of x and the axis before the last of y. Vectors are rows "
        "on the left and columns on the right; axes before the last two broadcast.",
        [](const Args& a) -> Values { return {matmul(a.tensor("x"), a.tensor("y"))}; },
        {"x=(3,5), y=(5,4)", "x=(17,33), y=(33,19)", "x=(5,), y=(5,)", "x=(5,), y=(2,5,3)",
         "x=(2,3,5), y=(5,)", "x=(2,1,3,5), y=(4,5,2)", "x=(4,0), y=(0,4)", "x=(0,3), y=(3,2)",
         "x=(1,1), y=(1,1)"}));
    v.back().method = true;
    v.back().aliases = {"mm", "bmm"};
    v.push_back(
        {.name = "einsum",
         .signature = "spec: str, *operands: Tensor",
         .doc =
             "Sum of products by subscripts, as NumPy's einsum: \"...\" stands for axes that broadcast, a label "
             "twice in one operand is a diagonal, and without \"->\" the labels that stand once remain, in "
             "alphabetical order. Products are taken two at a time, in a cheap order.",
         .build = [](const Args& a) -> Values { return {einsum(a.string("spec"), a.tensors("operands"))}; },
         .test = {.numpy = "np.einsum(spec, *operands)",
                  .domains = {"unit"},
                  .dtypes = "iuf",
                  .ulp = 64,
                  .atol = 1e-5},
         .cases = {"spec='ij,jk->ik', operands=[(3,4),(4,5)]", "spec='ij,jk', operands=[(3,4),(4,5)]",
                   "spec='ba', operands=[(3,4)]", "spec='ii', operands=[(4,4)]",
                   "spec='iij->ij', operands=[(3,3,4)]", "spec='iij,j->ij', operands=[(2,2,4),(4,)]",
                   "spec='tiijj->ij', operands=[(2,3,3,4,4)]", "spec='i,j->ji', operands=[(3,),(4,)]",
                   "spec='ij->', operands=[(3,4)]", "spec=',ij->j', operands=[(),(3,4)]",
                   "spec='...ij, ...jk -> ...ik', operands=[(2,1,3,4),(5,4,2)]",
                   "spec='...i->...', operands=[(2,3)]", "spec='i...,i...', operands=[(3,2),(3,2)]",
                   "spec='bshd,bthd->bhst', operands=[(2,3,4,5),(2,7,4,5)]",
                   "spec='ab,bc,cd,de->ae', operands=[(2,9),(9,3),(3,8),(8,4)]",
                   "spec='ij,ij->ij', operands=[(1,3),(2,3)]", "spec='ij,jk->ik', operands=[(3,0),(0,5)]"}});
    v.push_back(product(
        "dot",
        "The last axis of x with the axis before the last of y (the only one of a vector); with a scalar, "
        "the product.",
        build_dot, {"x=(5,), y=(5,)", "x=(3,5), y=(5,4)", "x=(2,3,5), y=(4,5,2)", "x=(), y=(3,)"}));
    v.back().method = true;
    v.push_back(product("vdot", "The sum of products of all elements of both.", build_vdot,
                        {"x=(5,), y=(5,)", "x=(2,3), y=(3,2)"}));
    v.push_back(product("inner", "The last axis of x with the last axis of y; with a scalar, the product.",
                        build_inner, {"x=(5,), y=(5,)", "x=(2,3,5), y=(4,5)", "x=(), y=(3,)"}));
    v.push_back(product("outer", "Every element of x with every element of y.", build_outer,
                        {"x=(3,), y=(4,)", "x=(2,2), y=(3,)"}));
    v.push_back(product("vecdot", "The sum of products along an axis; the others broadcast.", build_vecdot,
                        {"x=(3,5), y=(3,5)", "x=(3,5), y=(5,)", "x=(2,1,5), y=(4,5), axis=-1"},
                        "np.sum(x * y, axis)"));
    v.back().signature += ", axis: int = -1";
    v.push_back(product(
        "tensordot",
        "Sums over the last `axes` axes of x and the first of y; or over the axes of x that the first half "
        "of `axes` names, with those of y that the second half names.",
        build_tensordot,
        {"x=(2,3,4), y=(3,4,5)", "x=(2,3), y=(4,), axes=0", "x=(2,3,4), y=(4,5,2), axes=(0,2,2,0)"},
        "ref.tensordot(x, y, axes)"));
    v.back().signature += ", axes: int | tuple[int, ...] = 2";
    v.push_back({.name = "linear",
                 .signature = "x: Tensor, weight: Tensor, bias: Tensor | None = None",
                 .doc = "x @ weight.T + bias: x [..., features], weight [outputs, features].",
                 .build = build_linear,
                 .test = {.numpy = "x @ weight.T + (0 if bias is None else bias)",
                          .domains = {"unit"},
                          .ulp = 64,
                          .atol = 1e-5},
                 .cases = {"x=(3,5), weight=(4,5), bias=(4,)", "x=(2,3,5), weight=(4,5)",
                           "x=(5,), weight=(4,5), bias=(4,)"}});
    v.push_back({.name = "matrix_transpose",
                 .signature = "x: Tensor",
                 .doc = "The last two axes exchanged.",
                 .build = build_matrix_transpose,
                 .test = {.numpy = "np.swapaxes(x, -1, -2)", .dtypes = "biuf", .exact = true},
                 .cases = {"x=(3,5)", "x=(2,3,5)"}});
    v.push_back(conv(1, {"x=(2,3,17), weight=(4,3,5), bias=(4,)",
                         "x=(1,4,9), weight=(6,2,3), stride=2, padding=1, groups=2",
                         "x=(2,3,8), weight=(2,3,4), padding='same'"}));
    v.push_back(conv(
        2, {"x=(2,3,8,9), weight=(4,3,3,3), bias=(4,), padding=1", "x=(1,4,7,7), weight=(4,1,3,3), groups=4",
            "x=(2,3,9,8), weight=(5,3,3,2), stride=(2,1), padding=(1,0), dilation=(1,2)",
            "x=(1,3,16,16), weight=(8,3,4,4), stride=4", "x=(0,2,5,5), weight=(3,2,3,3), padding='valid'"}));
    v.push_back(conv(3, {"x=(1,2,4,5,6), weight=(3,2,2,3,2), bias=(3,), stride=2, padding=1"}));
    return v;
  }();
  return all;
}

}  // namespace pto
