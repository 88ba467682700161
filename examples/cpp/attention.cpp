// Attention over any number of queries and keys, in C++.
#include <pto/pto.h>

#include <cmath>
#include <cstdio>

using pto::Array, pto::Tensor, pto::Type;

Array numbers(std::vector<int64_t> shape, int seed) {
  Array a(Type::F32, std::move(shape));
  for (int64_t i = 0; i < a.size(); i++)
    a.data<float>()[i] = static_cast<float>((i * 7 + seed) % 13) / 13.0f - 0.5f;
  return a;
}

int main() {
  try {
    const Tensor q = pto::input("q", Type::F32, {"S", 16});
    const Tensor k = pto::input("k", Type::F32, {"T", 16});
    const Tensor v = pto::input("v", Type::F32, {"T", 16});
    const Tensor weights = pto::op("softmax", {pto::einsum("sd,td->st", {q, k}) / 4.0}, {{"axis", -1}});
    const pto::Compiled attention({q, k, v}, {pto::matmul(weights, v), weights});

    for (const auto& [s, t] : {std::pair{3, 5}, {64, 200}}) {
      const auto results = attention({numbers({s, 16}, 1), numbers({t, 16}, 2), numbers({t, 16}, 3)});
      double worst = 0;   // every row of weights sums to 1
      for (int i = 0; i < s; i++) {
        double sum = 0;
        for (int j = 0; j < t; j++) sum += results[1].data<float>()[i * t + j];
        worst = std::max(worst, std::fabs(sum - 1));
      }
      std::printf("%d queries, %d keys: result (%lld, %lld), rows sum to 1 within %s\n", s, t,
                  static_cast<long long>(results[0].shape()[0]),
                  static_cast<long long>(results[0].shape()[1]), worst < 1e-5 ? "1e-5" : "more than 1e-5");
    }
    try {
      attention({numbers({3, 16}, 1), numbers({5, 16}, 2), numbers({6, 16}, 3)});
    } catch (const std::runtime_error& e) {
      std::printf("%s\n", e.what());
    }
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
