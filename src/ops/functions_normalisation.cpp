// Normalisations, attention, positions and losses.
#include <cmath>

#include "ops/compose.h"
#include "ops/function_families.h"
#include "ops/size_context.h"

namespace pto {
namespace {

// --- softmax, norms -----------------------------------------------------------------------------

Values build_softmax(const Args& args) {
  const Value x = args.tensor("x");
  return {softmax(x, axes_argument(args, "axis", x.rank()))};
}

Values build_log_softmax(const Args& args) {
  const Value x = args.tensor("x");
  return {log_softmax(x, axes_argument(args, "axis", x.rank()))};
}

// The last axes, whose sizes `normalized_shape` names.
std::vector<int64_t> normalised_axes(const Args& args, const Value& x) {
  const Shape shape = args.shape("normalized_shape");
  const int64_t first = x.rank() - static_cast<int64_t>(shape.size());
  bool same = first >= 0 && !shape.empty();
  std::vector<int64_t> axes;
  for (size_t d = 0; same && d < shape.size(); d++) {
    axes.push_back(first + static_cast<int64_t>(d));
    same = sizes_agree(x.shape()[first + d], shape[d]);
  }
  if (!same)
    fail(args, "the last axes of x must have normalized_shape", shape_text(shape), shape_text(x.shape()), "",
         {x});
  return axes;
}

// y * weight + bias, for what of them is given; of the type of x.
Value affine(const Args& args, Value y, const Value& x) {
  if (args.given("weight")) y = mul(y, widened(args.tensor("weight")));
  if (args.given("bias")) y = add(y, widened(args.tensor("bias")));
  return cast(y, floating_type(x));
}

// (x - mean) / sqrt(variance + eps) over the axes, in the widened type.
Value standardised(const Value& x, const std::vector<int64_t>& axes, double eps) {
  const Value wide = widened(x), deviation = sub(wide, mean(wide, axes, true));
  const Value spread = mean(mul(deviation, deviation), axes, true);
  return mul(deviation, div(1.0, sqrt(add(spread, eps))));
}

Values build_layer_norm(const Args& args) {
  const Value x = args.tensor("x");
  return {affine(args, standardised(x, normalised_axes(args, x), args.number("eps")), x)};
}

Values build_rms_norm(const Args& args) {
  const Value x = args.tensor("x"), wide = widened(x);
  const Value power = mean(mul(wide, wide), normalised_axes(args, x), true);
  const Value y = mul(wide, div(1.0, sqrt(add(power, args.number("eps")))));
  if (!args.given("weight")) return {cast(y, floating_type(x))};
  return {cast(mul(y, widened(args.tensor("weight"))), floating_type(x))};
}

// A vector along axis 1 of x.
Value per_channel(const Args& args, const char* name, const Value& x) {
  const Value v = args.tensor(name);
  if (v.rank() != 1) fail(args, std::string(name) + " must be a vector", "rank 1", v.type().str());
  Shape shape(x.rank(), Size(1));
  shape[1] = v.shape()[0];
  return reshape(widened(v), shape);
}

Value channel_affine(const Args& args, Value y, const Value& x) {
  if (args.given("weight")) y = mul(y, per_channel(args, "weight", x));
  if (args.given("bias")) y = add(y, per_channel(args, "bias", x));
  return cast(y, floating_type(x));
}

Values build_group_norm(const Args& args) {
  const Value x = args.tensor("x");
  const int64_t groups = args.integer("num_groups");
  if (x.rank() < 2 || groups < 1 || !assume(equal(mod(x.shape()[1], groups), Size(0))))
    fail(args, "axis 1 must divide into the groups", "a multiple of " + std::to_string(groups),
         x.type().str(), "1", {x});
  Shape grouped = x.shape();
  grouped[1] = simplify(floordiv(grouped[1], groups));
  grouped.insert(grouped.begin() + 1, Size(groups));
  std::vector<int64_t> axes;
  for (int64_t d = 2; d <= x.rank(); d++) axes.push_back(d);
  const Value y = standardised(reshape(x, grouped), axes, args.number("eps"));
  return {channel_affine(args, reshape(y, x.shape()), x)};
}

Values build_batch_norm(const Args& args) {
  const Value x = args.tensor("x");
  if (x.rank() < 2) fail(args, "x needs a channel axis 1", "rank >= 2", x.type().str(), "1", {x});
  const Value centred = sub(widened(x), per_channel(args, "running_mean", x));
  const Value spread = add(per_channel(args, "running_var", x), args.number("eps"));
  return {channel_affine(args, mul(centred, div(1.0, sqrt(spread))), x)};
}

Values build_normalize(const Args& args) {
  const Value x = args.tensor("x");
  const Value n =
      call("norm", {widened(x), args.number("p"), axes_argument(args, "axis", x.rank()), true})[0];
  return {cast(div(widened(x), maximum(n, args.number("eps"))), floating_type(x))};
}

// --- attention, positions -----------------------------------------------------------------------

// Masks scores [..., S, T]: bools keep where they hold, numbers are added.
Value masked(const Args& args, Value scores, bool causal) {
  const int rank = scores.rank();
  if (args.given("mask")) {
    const Value mask = args.tensor("mask");
    scores = mask.dtype() == DType::Bool ? where(mask, scores, -INFINITY) : add(scores, widened(mask));
  }
  if (causal) {
    const Value i = positions(scores.shape()[rank - 2], rank - 2, rank);
    const Value j = positions(scores.shape()[rank - 1], rank - 1, rank);
    scores = where(less_equal(j, i), scores, -INFINITY);
  }
  return scores;
}

Value scaled_scores(const Args& args, const Value& scores, const Size& features) {
  if (args.given("scale")) return mul(scores, args.number("scale"));
  if (features.is_const()) return mul(scores, 1 / std::sqrt(static_cast<double>(features.as_int())));
  return div(scores, sqrt(size_value(features, scores.dtype())));
}

// softmax(q k^T scale + mask) v. With grouped queries the H / Hk heads of q that share a head of k
// and v are an axis of their own.
Values build_attention(const Args& args) {
  Value q = args.tensor("query");
  const Value k = args.tensor("key"), v = args.tensor("value");
  const int rank = q.rank();
  if (rank < 2 || k.rank() != rank || v.rank() != rank)
    fail(args, "query, key and value must have one rank of at least 2", "[..., heads, length, features]", "",
         "", {q, k, v});
  const bool grouped = args.boolean("enable_gqa") && rank >= 3;
  const bool causal = args.boolean("is_causal");
  const Shape shape = q.shape();
  const std::string shared = grouped ? "...h" : "...", own = grouped ? "...hg" : "...";
  if (grouped) {
    const Size heads = shape[rank - 3], groups = k.shape()[rank - 3];
    if (!assume(equal(mod(heads, groups), Size(0))))
      fail(args, "the query's heads must be a multiple of the key's", to_text(groups), to_text(heads),
           "heads", {q, k, v});
    Shape split = shape;
    split[rank - 3] = groups;
    split.insert(split.begin() + rank - 2, simplify(floordiv(heads, groups)));
    q = reshape(q, split);
  }
  Value scores = einsum(own + "sd," + shared + "td->" + own + "st", {widened(q), widened(k)});
  const Shape split = scores.shape();
  if (grouped) {   // masks are for [..., heads, S, T]
    Shape whole(shape.begin(), shape.end() - 1);
    whole.push_back(split.back());
    scores = reshape(scores, whole);
  }
  scores = masked(args, scaled_scores(args, scores, shape.back()), causal);
  const Value weights = cast(softmax(scores, {scores.rank() - 1}), floating_type(v));
  const Value y =
      einsum(own + "st," + shared + "te->" + own + "se", {grouped ? reshape(weights, split) : weights, v});
  Shape whole(shape.begin(), shape.end() - 1);
  whole.push_back(v.shape().back());
  return {grouped ? reshape(y, whole) : y};
}

// cos and sin of position * base^(-2i / dim), i = 0 .. dim / 2 - 1.
Values build_rope_tables(const Args& args) {
  const Value at = widened(args.tensor("positions"));
  const int64_t dim = args.integer("dim");
  if (dim < 2 || dim % 2) fail(args, "dim must be even and positive", "", std::to_string(dim));
  const DType type = args.dtype("dtype");
  const Value exponent = mul(iota({Size(dim / 2)}, 0, DType::F64), -2.0 / static_cast<double>(dim));
  const Value frequency = cast(exp(mul(exponent, std::log(args.number("base")))), at.dtype());
  const Value angle = mul(expand(at, at.rank()), frequency);
  return {cast(unary("cos", angle), type), cast(unary("sin", angle), type)};
}

Values build_rope(const Args& args) {
  const Value x = args.tensor("x"), wide = widened(x);
  Value c = widened(args.tensor("cos")), s = widened(args.tensor("sin"));
  const std::string layout = args.string("layout");
  if (layout != "half" && layout != "interleaved")
    fail(args, "unknown layout", "half or interleaved", layout);
  const int64_t last = x.rank() - 1;
  const Size pairs = c.rank() ? c.shape()[c.rank() - 1] : Size(1), dim = simplify(pairs * Size(2));
  if (last < 0 || prove_less(x.shape()[last], dim) == true)
    fail(args, "the tables must have half as many columns as x has features", "", shape_text(c.shape()), "",
         {x, c, s});
  const bool partial = !sizes_agree(x.shape()[last], dim);
  const Value turned = partial ? slice_axis(wide, last, 0, dim) : wide;
  Value y;
  if (layout == "half") {
    const Value a = slice_axis(turned, last, 0, pairs), b = slice_axis(turned, last, pairs, dim);
    y = concat({sub(mul(a, c), mul(b, s)), add(mul(b, c), mul(a, s))}, last);
  } else {
    const Value a = slice_axis(turned, last, 0, dim, 2), b = slice_axis(turned, last, 1, dim, 2);
    const Value even = sub(mul(a, c), mul(b, s)), odd = add(mul(b, c), mul(a, s));
    y = reshape(concat({expand(even, last + 1), expand(odd, last + 1)}, last + 1), turned.shape());
  }
  if (partial) y = concat({y, slice_axis(wide, last, dim, x.shape()[last])}, last);
  return {cast(y, floating_type(x))};
}

// --- losses -------------------------------------------------------------------------------------

Value reduced(const Args& args, const Value& loss, DType type) {
  const std::string reduction = args.string("reduction");
  std::vector<int64_t> all;
  for (int d = 0; d < loss.rank(); d++) all.push_back(d);
  if (reduction == "none") return cast(loss, type);
  if (reduction == "sum") return cast(sum(loss, all, false), type);
  if (reduction == "mean") return cast(mean(loss, all, false), type);
  fail(args, "unknown reduction", "mean, sum or none", reduction);
}

// The mean counts what is not ignored.
Value reduced_where(const Args& args, const Value& loss, const Value& counted, DType type) {
  if (args.string("reduction") != "mean") return reduced(args, where(counted, loss, 0.0), type);
  std::vector<int64_t> all;
  for (int d = 0; d < loss.rank(); d++) all.push_back(d);
  const Value n = sum(cast(counted, loss.dtype()), all, false);
  return cast(div(sum(where(counted, loss, 0.0), all, false), n), type);
}

// log probabilities along axis 1 (0 of a vector) and class numbers; other negative numbers than
// ignore_index are out of range.
Values negative_log_likelihood(const Args& args, const Value& x, const Value& log_p, double smoothing) {
  const Value target = args.tensor("target");
  const int64_t axis = x.rank() > 1 ? 1 : 0;
  if (is_float(target.dtype())) {
    if (target.rank() != x.rank())
      fail(args, "target probabilities must have the shape of x", shape_text(x.shape()), target.type().str());
    Value p = widened(target);
    if (smoothing != 0)
      p = add(mul(p, 1 - smoothing), div(smoothing, size_value(x.shape()[axis], p.dtype())));
    const Value loss = negative(sum(mul(p, log_p), {axis}, false));
    // Per position, not per element.
    return {reduced(args, loss, floating_type(x))};
  }
  if (target.rank() + 1 != x.rank() || !is_int(target.dtype()))
    fail(args, "the target must be class numbers, one per position",
         "an integer tensor of rank " + std::to_string(x.rank() - 1), target.type().str(), "", {x, target});
  const Value classes = cast(target, DType::I64),
              counted = binary("not_equal", classes, args.integer("ignore_index"));
  const Value valid = where(less(classes, int64_t{0}), Operand(x.shape()[axis]), classes);
  const Value safe = where(counted, valid, int64_t{0});
  const Value picked = take_along_axis(log_p, expand(safe, axis), axis);
  Value loss = negative(reshape(picked, target.shape()));
  if (smoothing != 0)
    loss = add(mul(loss, 1 - smoothing), mul(negative(mean(log_p, {axis}, false)), smoothing));
  return {reduced_where(args, loss, counted, floating_type(x))};
}

Values build_cross_entropy(const Args& args) {
  const Value x = args.tensor("x");
  if (x.rank() < 1) fail(args, "x needs an axis of classes", "rank >= 1", x.type().str());
  const Value log_p = log_softmax(widened(x), {x.rank() > 1 ? 1 : 0});
  return negative_log_likelihood(args, x, log_p, args.number("label_smoothing"));
}

Values build_nll_loss(const Args& args) {
  const Value x = args.tensor("x");
  if (x.rank() < 1) fail(args, "x needs an axis of classes", "rank >= 1", x.type().str());
  return negative_log_likelihood(args, x, widened(x), 0);
}

// A loss of the difference of two tensors.
template <class F>
Values difference_loss(const Args& args, F f) {
  const Value d = sub(args.tensor("x"), args.tensor("target"));
  return {reduced(args, f(widened(d)), floating_type(d))};
}

Values build_bce(const Args& args) {
  const Value p = args.tensor("x"), t = widened(args.tensor("target")), wide = widened(p);
  // As in PyTorch, logarithms are not below -100, so that the loss stays finite.
  const Value yes = maximum(log(wide), -100.0), no = maximum(log1p(negative(wide)), -100.0);
  return {reduced(args, negative(add(mul(t, yes), mul(sub(1.0, t), no))), floating_type(p))};
}

Values build_bce_with_logits(const Args& args) {
  const Value x = args.tensor("x"), t = widened(args.tensor("target")), wide = widened(x);
  return {reduced(args, sub(softplus(wide), mul(wide, t)), floating_type(x))};
}

const char* const kLoss = "x: Tensor, target: Tensor, reduction: str = \"mean\"";
const std::vector<std::string> kLossCases = {"x=(37,), target=(37,)",
                                             "x=(3,5), target=(3,5), reduction='sum'",
                                             "x=(3,5), target=(3,5), reduction='none'"};

std::vector<Function> norm_functions() {
  return {
      {.name = "softmax",
       .signature = "x: Tensor, axis: int | tuple[int, ...] = -1",
       .doc = "exp(x) / sum(exp(x)) along axes, without overflow; zeros where all of a row is -inf.",
       .build = build_softmax,
       .test = {.numpy = "ref.softmax(x, axis)", .ulp = 16, .atol = 1e-7},
       .cases = {"x=(37,)", "x=(3,5), axis=0", "x=(2,3,17)", "x=(2,3,4), axis=(0,2)", "x=(0,5)", "x=(3,1)"},
       .method = true},
      {.name = "log_softmax",
       .signature = "x: Tensor, axis: int | tuple[int, ...] = -1",
       .doc = "log(softmax(x)), without overflow.",
       .build = build_log_softmax,
       .test = {.numpy = "ref.log_softmax(x, axis)", .ulp = 16, .atol = 1e-6},
       .cases = {"x=(37,)", "x=(3,5), axis=0", "x=(2,3,17)"}},
      {.name = "layer_norm",
       .signature =
           "x: Tensor, normalized_shape: Shape, weight: Tensor | None = None, bias: Tensor | None = None, "
           "eps: float = 1e-5",
       .doc = "(x - mean) / sqrt(variance + eps) * weight + bias over the last axes, whose sizes "
              "normalized_shape names.",
       .build = build_layer_norm,
       .test = {.numpy = "ref.layer_norm(x, normalized_shape, weight, bias, eps)", .ulp = 64, .atol = 1e-5},
       .cases = {"x=(3,37), normalized_shape=37",
                 "x=(2,3,16), normalized_shape=(16,), weight=(16,), bias=(16,)",
                 "x=(2,3,4), normalized_shape=(3,4), weight=(3,4)", "x=(0,16), normalized_shape=16"}},
      {.name = "rms_norm",
       .signature = "x: Tensor, normalized_shape: Shape, weight: Tensor | None = None, eps: float = 1e-6",
       .doc = "x / sqrt(mean(x*x) + eps) * weight over the last axes, whose sizes normalized_shape names.",
       .build = build_rms_norm,
       .test = {.numpy = "ref.rms_norm(x, normalized_shape, weight, eps)", .ulp = 64, .atol = 1e-6},
       .cases = {"x=(3,37), normalized_shape=37", "x=(2,3,16), normalized_shape=(16,), weight=(16,)"}},
      {.name = "group_norm",
       .signature = "x: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, "
                    "eps: float = 1e-5",
       .doc = "layer_norm over groups of channels (axis 1) and all axes after them.",
       .build = build_group_norm,
       .test = {.numpy = "ref.group_norm(x, num_groups, weight, bias, eps)", .ulp = 64, .atol = 1e-5},
       .cases = {"x=(2,6,5), num_groups=3, weight=(6,), bias=(6,)", "x=(2,4,3,3), num_groups=2"}},
      {.name = "batch_norm",
       .signature = "x: Tensor, running_mean: Tensor, running_var: Tensor, weight: Tensor | None = None, "
                    "bias: Tensor | None = None, eps: float = 1e-5",
       .doc = "(x - running_mean) / sqrt(running_var + eps) * weight + bias, per channel (axis 1).",
       .build = build_batch_norm,
       .test = {.numpy = "ref.batch_norm(x, running_mean, running_var, weight, bias, eps)",
                .domains = {"real", "real", "positive", "real", "real"},
                .ulp = 64,
                .atol = 1e-5},
       .cases = {"x=(2,6,5), running_mean=(6,), running_var=(6,), weight=(6,), bias=(6,)"}},
      {.name = "normalize",
       .signature = "x: Tensor, p: float = 2.0, axis: int | tuple[int, ...] = 1, eps: float = 1e-12",
       .doc = "x / max(norm(x, p), eps) along axes.",
       .build = build_normalize,
       .test = {.numpy = "ref.normalize(x, p, axis, eps)", .ulp = 16},
       .cases = {"x=(3,37)", "x=(3,5), p=1.0, axis=0"}},
      {.name = "scaled_dot_product_attention",
       .signature =
           "query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, is_causal: bool = False, "
           "scale: float | None = None, enable_gqa: bool = False",
       .doc =
           "softmax(query @ key.mT * scale + mask) @ value for [..., heads, length, features]; scale is "
           "1 / sqrt(features) by default. A bool mask keeps where it holds, a number is added; causal keeps "
           "key positions up to the query's. Rows that are masked whole give zeros. With enable_gqa the "
           "query may have a multiple of the key's heads.",
       .build = build_attention,
       .test = {.numpy = "ref.attention(query, key, value, mask, is_causal, scale, enable_gqa)",
                .domains = {"real", "real", "real", "bool"},
                .ulp = 64,
                .atol = 1e-5},
       .cases = {"query=(2,3,5,8), key=(2,3,7,8), value=(2,3,7,4)",
                 "query=(2,3,17,8), key=(2,3,17,8), value=(2,3,17,8), is_causal=True",
                 "query=(2,3,5,8), key=(2,3,7,8), value=(2,3,7,8), mask=(5,7)",
                 "query=(2,4,5,8), key=(2,2,7,8), value=(2,2,7,8), mask=(2,1,5,7), enable_gqa=True",
                 "query=(5,8), key=(7,8), value=(7,8), scale=0.5"}},
      {.name = "rope_tables",
       .signature = "positions: Tensor, dim: int, base: float = 10000.0, dtype: DType = float32",
       .returns = "tuple[Tensor, Tensor]",
       .doc = "cos and sin of position * base^(-2i / dim) for i = 0 .. dim/2 - 1: [..., dim / 2] each.",
       .build = build_rope_tables,
       .test = {.numpy = "ref.rope_tables(positions, dim, base)",
                .domains = {"positive"},
                .ulp = 64,
                .atol = 1e-5},
       .cases = {"positions=(7,), dim=8", "positions=(2,3), dim=4, base=500.0"}},
      {.name = "rope",
       .signature = "x: Tensor, cos: Tensor, sin: Tensor, layout: str = \"half\"",
       .doc =
           "Rotary positions: each pair (a, b) of features becomes (a cos - b sin, b cos + a sin). The pairs are "
           "i and i + dim/2 (\"half\": GPT-NeoX, Llama in Hugging Face's order) or 2i and 2i + 1 "
           "(\"interleaved\"). Features beyond twice the tables' columns pass through.",
       .build = build_rope,
       .test = {.numpy = "ref.rope(x, cos, sin, layout)",
                .domains = {"real", "unit", "unit"},
                .ulp = 4,
                .atol = 1e-6},
       .cases = {"x=(2,3,7,8), cos=(7,4), sin=(7,4)",
                 "x=(2,3,7,8), cos=(7,4), sin=(7,4), layout='interleaved'",
                 "x=(2,7,12), cos=(7,4), sin=(7,4)"}},
  };
}

std::vector<Function> loss_functions() {
  return {
      {.name = "cross_entropy",
       .signature = "x: Tensor, target: Tensor, ignore_index: int = -100, reduction: str = \"mean\", "
                    "label_smoothing: float = 0.0",
       .doc =
           "-log(softmax(x))[target] along axis 1 (0 of a vector), without overflow. Targets are class numbers "
           "or probabilities of the shape of x; positions with ignore_index count nothing.",
       .build = build_cross_entropy,
       .test = {.numpy = "ref.cross_entropy(x, target, ignore_index, reduction, label_smoothing)",
                .domains = {"real", "index:1"},
                .ulp = 16,
                .atol = 1e-5},
       .cases = {"x=(6,5), target=(6,)", "x=(6,5), target=(6,), reduction='none'",
                 "x=(2,5,3), target=(2,3), reduction='sum'", "x=(6,5), target=(6,), label_smoothing=0.1",
                 "x=(6,5), target=(6,), ignore_index=1"}},
      {.name = "nll_loss",
       .signature = "x: Tensor, target: Tensor, ignore_index: int = -100, reduction: str = \"mean\"",
       .doc = "-x[target] along axis 1, x being log probabilities.",
       .build = build_nll_loss,
       .test = {.numpy = "ref.nll_loss(x, target, ignore_index, reduction)",
                .domains = {"real", "index:1"},
                .ulp = 16,
                .atol = 1e-6},
       .cases = {"x=(6,5), target=(6,)"}},
      {.name = "mse_loss",
       .signature = kLoss,
       .doc = "(x - target)^2.",
       .build = [](const Args& a) { return difference_loss(a, [](const Value& d) { return mul(d, d); }); },
       .test = {.numpy = "ref.reduced((x - target) ** 2, reduction)", .ulp = 16, .atol = 1e-6},
       .cases = kLossCases},
      {.name = "l1_loss",
       .signature = kLoss,
       .doc = "|x - target|.",
       .build = [](const Args& a) { return difference_loss(a, [](const Value& d) { return absolute(d); }); },
       .test = {.numpy = "ref.reduced(np.abs(x - target), reduction)", .ulp = 16, .atol = 1e-6},
       .cases = kLossCases},
      {.name = "huber_loss",
       .signature = "x: Tensor, target: Tensor, delta: float = 1.0, reduction: str = \"mean\"",
       .doc = "(x - target)^2 / 2 where |x - target| <= delta, else delta (|x - target| - delta / 2).",
       .build =
           [](const Args& a) {
             const double delta = a.number("delta");
             return difference_loss(a, [&](const Value& d) {
               const Value size = absolute(d);
               return where(less_equal(size, delta), mul(mul(d, d), 0.5), mul(sub(size, delta / 2), delta));
             });
           },
       .test = {.numpy = "ref.huber_loss(x, target, delta, reduction)", .ulp = 16, .atol = 1e-6},
       .cases = {"x=(37,), target=(37,)", "x=(37,), target=(37,), delta=0.5, reduction='none'"}},
      {.name = "binary_cross_entropy",
       .signature = kLoss,
       .doc = "-(t log(x) + (1 - t) log(1 - x)), logarithms not below -100.",
       .build = build_bce,
       .test = {.numpy = "ref.binary_cross_entropy(x, target, reduction)",
                .domains = {"probability", "probability"},
                .ulp = 32,
                .atol = 1e-5},
       .cases = kLossCases},
      {.name = "binary_cross_entropy_with_logits",
       .signature = kLoss,
       .doc = "binary_cross_entropy(sigmoid(x), t), without overflow.",
       .build = build_bce_with_logits,
       .test = {.numpy = "ref.reduced(np.logaddexp(0, x) - x * target, reduction)",
                .domains = {"real", "probability"},
                .ulp = 32,
                .atol = 1e-5},
       .cases = kLossCases},
  };
}

}  // namespace

const std::vector<Function>& normalisation_functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> v = norm_functions();
    const auto losses = loss_functions();
    v.insert(v.end(), losses.begin(), losses.end());
    return v;
  }();
  return all;
}

}  // namespace pto
