// Linked into every benchmark program that uses Google Benchmark: the computation that its times are counted in
// (`stepcast check --timings`), so that machines of different speed compare. It does what the model does, in kind:
// arithmetic in doubles, branches, look-ups in a tree of strings, allocation.
#include <benchmark/benchmark.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr int kKeys = 512;
constexpr int kRounds = 4096;

double work() {
  std::map<std::string, double> table;
  for (int i = 0; i < kKeys; ++i) table["key-" + std::to_string(i * 7919 % kKeys)] = i;
  std::vector<double> values;
  for (int i = 0; i < kRounds; ++i) {
    const double known = table.find("key-" + std::to_string(i * 31 % kKeys))->second;
    values.push_back(std::sqrt(known + 1) + (i % 3 == 0 ? std::log1p(known) : known / (i + 1)));
  }
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

void reference(benchmark::State& state) {
  for ([[maybe_unused]] const auto _ : state) benchmark::DoNotOptimize(work());
}
BENCHMARK(reference)->Unit(benchmark::kMicrosecond);

}  // namespace
