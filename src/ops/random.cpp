// Random bits: Philox 4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers:
// as easy as 1, 2, 3", 2011), a function of key, offset and index alone, so that every device, thread
// and shard draws the same.
#include <array>

#include "base/points.h"
#include "ops/batching.h"
#include "ops/families.h"
#include "ops/random_attrs.h"
#include "ops/size_context.h"

namespace pto {
namespace {

constexpr int kRounds = 10;
constexpr uint32_t kMultiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
constexpr uint32_t kWeyl[2] = {0x9E3779B9u, 0xBB67AE85u};   // added to the key words at each round

std::vector<TensorType> infer_bits(const InferArgs& in) {
  const auto& attrs = static_cast<const RandomBitsAttrs&>(in.attrs);
  if (attrs.keys < 0 || attrs.keys > static_cast<int64_t>(attrs.shape.size()))
    in.fail("the keys' axes are none of the result", "0 .. " + std::to_string(attrs.shape.size()),
            std::to_string(attrs.keys));
  const TensorType key{DType::U64, {attrs.shape.begin(), attrs.shape.begin() + attrs.keys}};
  for (const auto& input : in.inputs) {
    bool same = input.dtype == key.dtype && input.rank() == key.rank();
    for (int d = 0; same && d < key.rank(); d++) same = sizes_agree(input.shape[d], key.shape[d]);
    if (!same)
      in.fail(attrs.keys == 0 ? "key and offset must be scalars of type uint64"
                              : "key and offset must be of type uint64, with the first axes of the result",
              key.str(), input.str());
  }
  if (attrs.dtype != DType::U32 && attrs.dtype != DType::U64)
    in.fail("random bits are uint32 or uint64", "u32 or u64", std::string(name(attrs.dtype)));
  if (attrs.pair != 0 && attrs.pair != 1)
    in.fail("unknown pair of words", "0 or 1", std::to_string(attrs.pair));
  return {{attrs.dtype, attrs.shape}};
}

Expr u32(uint32_t value) { return Expr(Scalar::from_int(DType::U32, value)); }
Expr u64(uint64_t value) { return Expr(Scalar::from_int(DType::U64, static_cast<int64_t>(value))); }
Expr low(const Expr& e) { return cast(DType::U32, e); }
Expr high(const Expr& e) { return cast(DType::U32, make(Op::Shr, {e, u64(32)})); }

std::array<Expr, 4> philox(std::array<Expr, 4> words, std::array<Expr, 2> key) {
  for (int round = 0; round < kRounds; round++) {
    const Expr p0 = cast(DType::U64, words[0]) * u64(kMultiplier[0]);
    const Expr p1 = cast(DType::U64, words[2]) * u64(kMultiplier[1]);
    words = {make(Op::Xor, {make(Op::Xor, {high(p1), words[1]}), key[0]}), low(p1),
             make(Op::Xor, {make(Op::Xor, {high(p0), words[3]}), key[1]}), low(p0)};
    key = {key[0] + u32(kWeyl[0]), key[1] + u32(kWeyl[1])};
  }
  return words;
}

Expr element_bits(Emit& emit, const Node& node, int, const Exprs& index) {
  const auto& attrs = attrs_of<RandomBitsAttrs>(node);
  const Exprs of_key(index.begin(), index.begin() + attrs.keys);
  const Exprs rest(index.begin() + attrs.keys, index.end());
  const Expr key = emit.element(node.inputs()[0], of_key), offset = emit.element(node.inputs()[1], of_key);
  const Expr i = cast(DType::U64, linear_index(rest, {attrs.shape.begin() + attrs.keys, attrs.shape.end()}));
  const auto words = philox({low(i), high(i), low(offset), high(offset)}, {low(key), high(key)});
  const Expr first = words[2 * attrs.pair], second = words[2 * attrs.pair + 1];
  if (attrs.dtype == DType::U32) return first;
  return cast(DType::U64, first) | make(Op::Shl, {cast(DType::U64, second), u64(32)});
}

std::array<uint32_t, 4> philox_words(std::array<uint32_t, 4> words, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; round++) {
    const uint64_t p0 = static_cast<uint64_t>(words[0]) * kMultiplier[0];
    const uint64_t p1 = static_cast<uint64_t>(words[2]) * kMultiplier[1];
    words = {static_cast<uint32_t>(p1 >> 32) ^ words[1] ^ key[0], static_cast<uint32_t>(p1),
             static_cast<uint32_t>(p0 >> 32) ^ words[3] ^ key[1], static_cast<uint32_t>(p0)};
    key = {key[0] + kWeyl[0], key[1] + kWeyl[1]};
  }
  return words;
}

std::vector<BufferPtr> interpret_bits(const Node& node, const std::vector<BufferPtr>& inputs,
                                      const Sizes& sizes) {
  const auto& attrs = attrs_of<RandomBitsAttrs>(node);
  const auto result = make_buffer(attrs.dtype, eval_shape(attrs.shape, sizes));
  int64_t draws = 1;   // for each key
  for (size_t d = static_cast<size_t>(attrs.keys); d < result->shape.size(); d++) draws *= result->shape[d];
  auto half = [](uint64_t value, int shift) { return static_cast<uint32_t>(value >> shift); };
  for (int64_t at = 0; at < result->elements(); at++) {
    const uint64_t key = Elements(inputs[0]).get(at / draws).bits;
    const uint64_t offset = Elements(inputs[1]).get(at / draws).bits;
    const int64_t i = at % draws;
    const auto words = philox_words({half(i, 0), half(i, 32), half(offset, 0), half(offset, 32)},
                                    {half(key, 0), half(key, 32)});
    const uint64_t first = words[2 * attrs.pair], second = words[2 * attrs.pair + 1];
    const uint64_t bits = attrs.dtype == DType::U32 ? first : first | second << 32;
    Elements(result).set(at, Scalar{attrs.dtype, bits});
  }
  return {result};
}

}  // namespace

const std::vector<OpRow>& random_rows() {
  static const std::vector<OpRow> rows = {
      {.name = "random_bits",
       .family = Family::Random,
       .min_inputs = 2,
       .max_inputs = 2,
       .doc = "Uniform random bits from a key and an offset, by a counter (Philox 4x32-10).",
       .make_attrs = new_attrs<RandomBitsAttrs>,
       .infer = infer_bits,
       .element = element_bits,
       .interpret = interpret_bits,
       .batch = batch_random_bits,
       .test = {.numpy = "ref.random_bits(x0, x1, dtype, shape, pair)",
                .domains = {"uint64", "uint64"},
                .dtypes = "u",
                .exact = true}},
  };
  return rows;
}

}  // namespace pto
