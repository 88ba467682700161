#pragma once
// One node of each row on small inputs: ranks 0 to 4, sizes 0, 1, 3 and 17, every type that the row
// takes. Values are small whole numbers, so that sums are exact in any order.
#include <functional>
#include <string>
#include <vector>

#include "base/points.h"
#include "ops/fold_attrs.h"
#include "ops/index_attrs.h"
#include "ops/leaf_attrs.h"
#include "ops/movement_attrs.h"
#include "ops/opaque_attrs.h"
#include "ops/random_attrs.h"
#include "ops/row.h"

namespace pto {

struct RowCase {
  std::string name;
  Graph graph;
  std::vector<BufferPtr> inputs;
};

// Whole numbers from -5 to 5 (0 to 10 for unsigned types), in an order that depends on `seed`.
inline BufferPtr whole_numbers(DType type, std::vector<int64_t> shape, int seed) {
  const auto buffer = make_buffer(type, std::move(shape));
  for (int64_t i = 0; i < buffer->elements(); i++) {
    const int64_t n = (i * 7 + i / 11 + seed * 3) % 11;
    const Scalar value = type == DType::Bool ? Scalar::from_bool(n % 3 == 0)
                         : is_float(type) || is_signed(type)
                             ? convert(Scalar::from_int(DType::I64, n - 5), type)
                             : Scalar::from_int(type, n);
    Elements(buffer).set(i, value);
  }
  return buffer;
}

// Numbers from 0 to below `end` (from -end if `negative`).
inline BufferPtr positions_below(DType type, std::vector<int64_t> shape, int64_t end, bool negative = false) {
  const auto buffer = make_buffer(type, std::move(shape));
  for (int64_t i = 0; i < buffer->elements(); i++) {
    const int64_t n = (i * 5 + 2) % (negative ? 2 * end : end);
    Elements(buffer).set(i, Scalar::from_int(type, negative ? n - end : n));
  }
  return buffer;
}

class RowCases {
 public:
  std::vector<RowCase> all;

  // `shapes` may name sizes; those of the buffers then give their values.
  void add(const std::string& row, std::vector<BufferPtr> inputs,
           AttrsPtr attrs = std::make_shared<NoAttrs>(), std::vector<Shape> shapes = {}) {
    RowCase c;
    Values values;
    std::vector<std::string> types;
    for (size_t i = 0; i < inputs.size(); i++) {
      const Shape shape =
          i < shapes.size() ? shapes[i] : Shape{inputs[i]->shape.begin(), inputs[i]->shape.end()};
      const Value v = make_input("x" + std::to_string(i), {inputs[i]->dtype, shape});
      c.graph.inputs.push_back(v.node);
      values.push_back(v);
      types.push_back(v.type().str());
    }
    c.name = row + "(" + join(types, ", ") + ") " + attrs_text(*attrs);
    const NodePtr node = make_node(pto::row(row), values, attrs);
    for (size_t i = 0; i < node->outputs().size(); i++)
      c.graph.outputs.push_back({node, static_cast<int>(i)});
    c.inputs = std::move(inputs);
    all.push_back(std::move(c));
  }

  template <class T>
  void with(const std::string& row, std::vector<BufferPtr> inputs, const std::function<void(T&)>& set,
            std::vector<Shape> shapes = {}) {
    auto attrs = std::make_shared<T>();
    set(*attrs);
    add(row, std::move(inputs), attrs, std::move(shapes));
  }
};

inline bool takes(const OpRow& row, DType type) {
  const char letter = type == DType::Bool ? 'b' : is_float(type) ? 'f' : is_signed(type) ? 'i' : 'u';
  return row.test.dtypes.find(letter) != std::string::npos;
}

inline void add_elementwise_cases(RowCases& cases) {
  const std::vector<std::vector<int64_t>> shapes = {{}, {0}, {17}, {3, 1}, {0, 3}, {1, 3, 2}, {2, 1, 3, 2}};
  for (const OpRow* row : all_rows()) {
    if (!row->is_elementwise() || row->name == "cast" || row->name == "bitcast") continue;
    size_t next = 0;
    for (const DType type : all_dtypes()) {
      if (!takes(*row, type)) continue;
      const auto& shape = shapes[next++ % shapes.size()];
      std::vector<BufferPtr> inputs;
      for (int i = 0; i < row->min_inputs; i++)
        inputs.push_back(whole_numbers(row->name == "where" && i == 0 ? DType::Bool : type, shape, i));
      cases.add(row->name, inputs);
    }
  }
  for (const DType from : all_dtypes())
    for (const DType to : all_dtypes()) {
      auto set = [&](DTypeAttrs& a) { a.dtype = to; };
      cases.with<DTypeAttrs>("cast", {whole_numbers(from, {17}, 1)}, set);
      if (from != DType::Bool && to != DType::Bool && size_of(from) == size_of(to))
        cases.with<DTypeAttrs>("bitcast", {whole_numbers(from, {17}, 1)}, set);
    }
}

inline void add_movement_cases(RowCases& cases) {
  using I = std::vector<int64_t>;
  const Size n = var("N"), m = var("M");
  auto x = [](I shape, DType type = DType::F32) { return whole_numbers(type, std::move(shape), 1); };
  auto reshape = [&](I from, Shape to, std::vector<Shape> shapes = {}) {
    cases.with<ShapeAttrs>("reshape", {x(from)}, [&](ShapeAttrs& a) { a.shape = to; }, shapes);
  };
  reshape({}, {1, 1});
  reshape({1}, {});
  reshape({17}, {17, 1});
  reshape({6, 4}, {3, 8});
  reshape({2, 3, 4}, {6, 4});
  reshape({6, 4}, {2, 3, 2, 2});
  reshape({2, 1, 3}, {6});
  reshape({0, 3}, {3, 0});
  reshape({3, 2, 4}, {simplify(n * 2), 4}, {{n, 2, 4}});
  reshape({6, 5}, {n, 3, m}, {{simplify(n * 3), m}});
  reshape({2, 3, 4}, {simplify(n * m * 4)}, {{n, m, 4}});
  auto permute = [&](I from, I perm) {
    cases.with<PermuteAttrs>("permute", {x(from, DType::I16)}, [&](PermuteAttrs& a) { a.perm = perm; });
  };
  permute({}, {});
  permute({3, 17}, {1, 0});
  permute({2, 0, 3}, {2, 0, 1});
  permute({2, 3, 1, 4}, {3, 0, 2, 1});
  auto diagonal = [&](I from, I axes) {
    cases.with<DiagonalAttrs>("diagonal", {x(from)}, [&](DiagonalAttrs& a) { a.axes = axes; });
  };
  diagonal({3, 3}, {0, 0});
  diagonal({3, 2, 3}, {1, 0, 1});
  diagonal({0, 0}, {0, 0});
  auto broadcast = [&](I from, Shape to, std::vector<Shape> shapes = {}) {
    cases.with<ShapeAttrs>("broadcast", {x(from)}, [&](ShapeAttrs& a) { a.shape = to; }, shapes);
  };
  broadcast({}, {3, 2});
  broadcast({3, 1}, {2, 3, 17});
  broadcast({1}, {0});
  broadcast({3}, {2, n}, {{n}});
  auto slice = [&](I from, Exprs start, Exprs size, I step, std::vector<Shape> shapes = {}) {
    cases.with<SliceAttrs>(
        "slice", {x(from)},
        [&](SliceAttrs& a) {
          a.start = start;
          a.size = size;
          a.step = step;
        },
        shapes);
  };
  slice({}, {}, {}, {});
  slice({17}, {3}, {5}, {2});
  slice({17}, {16}, {17}, {-1});
  slice({3, 4}, {0, 3}, {0, 2}, {1, -2});
  slice({0}, {-1}, {0}, {-1});
  slice({5}, {n - 1}, {n}, {-1}, {{n}});
  auto pad = [&](I from, Exprs before, Exprs after, std::vector<Shape> shapes = {}) {
    cases.with<PadAttrs>(
        "pad", {x(from), x({})},
        [&](PadAttrs& a) {
          a.before = before;
          a.after = after;
        },
        shapes);
  };
  pad({}, {}, {});
  pad({3}, {2}, {1});
  pad({0}, {1}, {2});
  pad({2, 3}, {0, 1}, {0, 0});
  pad({2, 3}, {n, 0}, {0, n}, {{n, 3}});
  auto concat = [&](std::vector<I> shapes, int64_t axis) {
    std::vector<BufferPtr> inputs;
    for (size_t i = 0; i < shapes.size(); i++)
      inputs.push_back(whole_numbers(DType::F32, shapes[i], static_cast<int>(i)));
    cases.with<AxisAttrs>("concat", inputs, [&](AxisAttrs& a) { a.axis = axis; });
  };
  concat({{3}}, 0);
  concat({{3}, {0}, {4}}, 0);
  concat({{2, 3}, {2, 1}}, 1);
  concat({{1, 2}, {3, 2}, {17, 2}}, 0);
}

inline void add_fold_cases(RowCases& cases) {
  using I = std::vector<int64_t>;
  const OpRow& reduce = row("reduce");
  const std::pair<I, I> folds[] = {{{17}, {0}},   {{3, 5}, {1}}, {{3, 5}, {0, 1}}, {{2, 3, 2, 4}, {0, 2}},
                                   {{3, 0}, {1}}, {{0, 3}, {1}}, {{}, {}},         {{2, 3}, {}}};
  for (const std::string monoid : {"add", "mul", "max", "min", "and", "or", "argmax", "argmin", "welford"})
    for (const DType type : all_dtypes()) {
      const bool logical = monoid == "and" || monoid == "or";
      if (!takes(reduce, type) || (logical && is_float(type)) || (monoid == "welford" && !is_float(type)))
        continue;
      if (monoid.starts_with("arg") && type == DType::Bool) continue;
      for (const auto& [shape, axes] : folds)
        cases.with<ReduceAttrs>("reduce", {whole_numbers(type, shape, 2)}, [&](ReduceAttrs& a) {
          a.monoid = monoid;
          a.axes = axes;
        });
    }
  for (const std::string monoid : {"add", "mul", "max", "min"})
    for (const bool reverse : {false, true})
      for (const I& shape : {I{17}, I{0}, I{3, 5}, I{2, 3, 4}})
        cases.with<CumulativeAttrs>("cumulative",
                                    {whole_numbers(monoid == "mul" ? DType::I32 : DType::F32, shape, 1)},
                                    [&](CumulativeAttrs& a) {
                                      a.monoid = monoid;
                                      a.axis = shape.size() == 1 ? 0 : 1;
                                      a.reverse = reverse;
                                    });
  auto contract = [&](DType type, I x, I y, std::vector<std::string> lhs, std::vector<std::string> rhs,
                      std::vector<std::string> out) {
    cases.with<ContractAttrs>("contract", {whole_numbers(type, x, 1), whole_numbers(type, y, 2)},
                              [&](ContractAttrs& a) {
                                a.lhs = lhs;
                                a.rhs = rhs;
                                a.out = out;
                                a.dtype = type;
                              });
  };
  for (const DType type : all_dtypes()) contract(type, {3, 4}, {4, 2}, {"i", "k"}, {"k", "j"}, {"i", "j"});
  contract(DType::F32, {17, 3}, {5, 3}, {"i", "k"}, {"j", "k"}, {"j", "i"});
  contract(DType::F32, {2, 3, 4}, {2, 4, 1}, {"b", "i", "k"}, {"b", "k", "j"}, {"b", "i", "j"});
  contract(DType::F32, {3, 0}, {0, 2}, {"i", "k"}, {"k", "j"}, {"i", "j"});
  contract(DType::F32, {0, 3}, {3, 2}, {"i", "k"}, {"k", "j"}, {"i", "j"});
  contract(DType::F32, {3}, {4}, {"i"}, {"j"}, {"j", "i"});
  contract(DType::F32, {3, 3, 2}, {2}, {"i", "i", "k"}, {"k"}, {"i"});
  contract(DType::F32, {2, 3}, {3, 2}, {"i", "j"}, {"j", "i"}, {});
  contract(DType::F32, {3}, {}, {"i"}, {}, {});
  contract(DType::F16, {2, 3, 4}, {4, 3}, {"a", "b", "c"}, {"c", "b"}, {"a"});
  auto window = [&](I x, I y, int64_t stride, int64_t dilation, int64_t before, int64_t count) {
    cases.with<ContractAttrs>("contract", {whole_numbers(DType::F32, x, 1), whole_numbers(DType::F32, y, 2)},
                              [&](ContractAttrs& a) {
                                a.lhs = {"n", "c", "h"};
                                a.rhs = {"o", "c", "r"};
                                a.out = {"n", "o", "p"};
                                a.window = {"h"};
                                a.at = {"p"};
                                a.tap = {"r"};
                                a.stride = {stride};
                                a.dilation = {dilation};
                                a.before = {before};
                                a.count = {count};
                              });
  };
  window({2, 3, 7}, {2, 3, 3}, 1, 1, 0, 5);
  window({1, 2, 7}, {3, 2, 3}, 2, 1, 1, 4);
  window({1, 1, 9}, {1, 1, 3}, 1, 3, 2, 8);
  window({0, 1, 9}, {1, 1, 3}, 1, 1, 0, 7);
}

inline void add_indexing_cases(RowCases& cases) {
  using I = std::vector<int64_t>;
  auto gather = [&](I x, std::vector<BufferPtr> index, I axes, int64_t at) {
    index.insert(index.begin(), whole_numbers(DType::F32, x, 1));
    cases.with<GatherAttrs>("gather", index, [&](GatherAttrs& a) {
      a.axes = axes;
      a.at = at;
    });
  };
  gather({5}, {positions_below(DType::I64, {3}, 5)}, {0}, 0);
  gather({5, 3}, {positions_below(DType::I32, {2, 3}, 3, true)}, {1}, 1);
  gather({4, 3, 2}, {positions_below(DType::I64, {5}, 4), positions_below(DType::I64, {5}, 2)}, {0, 2}, 0);
  gather({4, 3}, {positions_below(DType::U8, {0}, 4)}, {0}, 0);
  gather({4, 3}, {positions_below(DType::I64, {}, 4)}, {0}, 0);
  auto along = [&](I x, I index, int64_t axis) {
    cases.with<AxisAttrs>(
        "take_along_axis",
        {whole_numbers(DType::F32, x, 1), positions_below(DType::I64, index, x[axis], true)},
        [&](AxisAttrs& a) { a.axis = axis; });
  };
  along({3, 5}, {3, 2}, 1);
  along({4}, {17}, 0);
  for (const I& shape : {I{17}, I{3, 5}, I{2, 0}})
    for (const bool flag : {false, true}) {
      cases.with<SortAttrs>("sort", {whole_numbers(DType::F32, shape, 1)}, [&](SortAttrs& a) {
        a.axis = static_cast<int64_t>(shape.size()) - 1;
        a.descending = flag;
        a.by_index = flag;
      });
      if (shape.back() == 0) continue;
      cases.with<TopKAttrs>("topk", {whole_numbers(DType::I32, shape, 1)}, [&](TopKAttrs& a) {
        a.k = 3;
        a.axis = static_cast<int64_t>(shape.size()) - 1;
        a.largest = flag;
      });
    }
  for (const std::string combine : {"set", "add", "mul", "min", "max"})
    cases.with<ScatterAttrs>("scatter",
                             {whole_numbers(DType::F32, {4, 3}, 1), positions_below(DType::I64, {6}, 4),
                              whole_numbers(DType::F32, {6, 3}, 2)},
                             [&](ScatterAttrs& a) { a.combine = combine; });
  const auto key = make_buffer(DType::U64, {}), offset = make_buffer(DType::U64, {});
  Elements(key).set(0, Scalar::from_int(DType::U64, 7));
  Elements(offset).set(0, Scalar::from_int(DType::U64, 1));
  for (const DType type : {DType::U32, DType::U64})
    cases.with<RandomBitsAttrs>("random_bits", {key, offset}, [&](RandomBitsAttrs& a) {
      a.shape = {3, 5};
      a.dtype = type;
      a.pair = type == DType::U32;
    });
}

inline std::vector<RowCase> row_cases() {
  RowCases cases;
  add_elementwise_cases(cases);
  add_movement_cases(cases);
  add_fold_cases(cases);
  add_indexing_cases(cases);
  return std::move(cases.all);
}

}  // namespace pto
