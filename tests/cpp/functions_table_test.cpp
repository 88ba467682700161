// The table of functions: signatures, binding of arguments, and rows against functions.
#include <gtest/gtest.h>

#include <set>

#include "functions_run.h"

namespace pto {
namespace {

TEST(FunctionsTable, SignaturesParse) {
  const auto all = parse_signature(
      "x: Tensor | float, axis: int | tuple[int, ...] | None = None, mode: str = \"a, b\", n: float = -1e-5, "
      "axes: tuple[int, ...] = (0, 1), dtype: DType = float32, keep: bool = False, *rest: Tensor");
  ASSERT_EQ(all.size(), 8u);
  EXPECT_TRUE(all[0].takes("Tensor"));
  EXPECT_TRUE(all[0].takes("float"));
  EXPECT_FALSE(all[0].fallback);
  EXPECT_TRUE(all[1].takes("tuple[int, ...]"));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*all[1].fallback));
  EXPECT_EQ(std::get<std::string>(*all[2].fallback), "a, b");
  EXPECT_EQ(std::get<double>(*all[3].fallback), -1e-5);
  EXPECT_EQ(std::get<std::vector<int64_t>>(*all[4].fallback), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(std::get<DType>(*all[5].fallback), DType::F32);
  EXPECT_EQ(std::get<bool>(*all[6].fallback), false);
  EXPECT_TRUE(all[7].variadic);
}

TEST(FunctionsTable, EveryFunctionIsDescribedAndTested) {
  std::set<std::string> names;
  for (const auto* f : all_functions()) {
    EXPECT_TRUE(names.insert(f->name).second) << f->name;
    EXPECT_FALSE(f->doc.empty()) << f->name;
    EXPECT_FALSE(f->test.numpy.empty()) << f->name;
    EXPECT_FALSE(f->cases.empty()) << f->name;
    EXPECT_FALSE(parameters(*f).empty()) << f->name;
    for (const auto& alias : f->aliases) EXPECT_EQ(find_function(alias), f);
  }
  EXPECT_EQ(find_function("no_such_function"), nullptr);
}

TEST(FunctionsTable, Binding) {
  FunctionRun run;
  const Value x = run.f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run("sum", {x, int64_t{1}}), (std::vector<double>{6, 15}));
  EXPECT_EQ(call("sum", {x}, {{"dim", int64_t{0}}, {"keepdim", true}})[0].type().str(), "f32[1, 3]");
  EXPECT_NE(error_of([&] { call("sum", {}); }).find("argument x is missing"), std::string::npos);
  EXPECT_NE(error_of([&] { call("sum", {x}, {{"axes", int64_t{0}}}); }).find("there is no parameter axes"),
            std::string::npos);
  EXPECT_NE(error_of([&] { call("sum", {x}, {{"x", x}}); }).find("argument x is given twice"),
            std::string::npos);
  EXPECT_NE(error_of([&] { call("relu", {x, x}); }).find("too many arguments"), std::string::npos);
  EXPECT_NE(error_of([&] { call("sum", {x, std::string("0")}); }).find("argument axis has the wrong type"),
            std::string::npos);
}

}  // namespace
}  // namespace pto
