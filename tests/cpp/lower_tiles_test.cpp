// Schedules whose tiles, chunks and lanes fit one another badly.
#include "lower_check.h"

namespace pto::testing {
namespace {

struct TileCase {
  const char* name;
  const char* kernel;
  const char* schedule;   // the loops
};

const TileCase kCases[] = {
    // A chunk of the inner loop ends where the tile of 3 does, and the next tile begins there.
    {"ChunksCutByTheTileAround",
     "kernel f[N](x: f32[N]) -> (y: f32[N]) { axis i: N axis j: 9 s[i]: f32 = reduce(add, j) x[i] store y[i] = s[i] }",
     "for i/4 { for j/2 { for i/3 { for i/3 { unroll i/4 { for i/2 { unroll i { unroll j { s } } } } } } } } "
     "for i { store y }"},
    {"VectorsOfOneLane",
     "kernel f[N](x: f32[N]) -> (y: f32[N]) { axis i: N s[i]: f32 = map x[i] * x[i] store y[i] = s[i] + f32(1) }",
     "for i/2 { vector i { s } } for i/4 { vector i x3 { store y } }"},
    {"FoldsOverVectorsOfOneLane",
     "kernel f[N](x: f32[N]) -> (y: f32[]) { axis i: N s[]: f32 = reduce(add, i) x[i] store y[] = s[] }",
     "for i/5 { vector i x2 { s } } store y"},
    // The product is the same in all lanes, and fused with the sum in each.
    {"ProductsOutsideOfTheLanes",
     "kernel f[N](x: f32[], y: f32[], v: f32[N]) -> (z: f32[N]) { axis i: N "
     "s[i]: f32 = map x[] * y[] + v[i] store z[i] = s[i] - y[] * x[] }",
     "vector i/8 { s } vector i/4 { store z }"},
};

class LowerTiles : public ::testing::TestWithParam<TileCase> {};

TEST_P(LowerTiles, GivesTheBitsOfTheSchedule) {
  const TileCase& c = GetParam();
  const Kernel k = parse(c.kernel);
  const Schedule s = parse_schedule_text(std::string("schedule f on x86.avx512 { ") + c.schedule + " }");
  for (int64_t n = 0; n <= 26; n++)
    expect_lowered(k, k, s, make_target("avx512"), sizes_of({{"N", n}}), 1e-4,
                   std::string(c.name) + " N=" + std::to_string(n));
}

INSTANTIATE_TEST_SUITE_P(Schedules, LowerTiles, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace pto::testing
