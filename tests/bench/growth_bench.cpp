// How the time of a whole command grows: with ranks, layers and micro-batches, in segments and by operator. The
// exponent is the slope of the least-squares line through the logarithms of size and time, the time of `stepcast
// --version` taken off; 0 is no growth, 1 is in proportion. Each time is the minimum of several runs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "fields/json_text.hpp"
#include "tests/bench/whole_command.hpp"

namespace {

using stepcast::Json;

Json read(const std::string& file) {
  stepcast::Diagnostics diagnostics(file);
  Json out = stepcast::read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

constexpr int kRuns = 3;
constexpr int kBatch = 1536;  ///< of the scenario: 192 micro-batches on each of 8 replicas
constexpr int kNodes = 128;   ///< of it, of eight GPUs

struct Growth {
  std::string what;
  std::vector<int> sizes;
  std::function<std::vector<std::string>(int size)> arguments;
};

/// GPT-3 175B on 1,024 GPUs with another number of layers, in a file of its own.
class Stacks {
 public:
  Stacks() {
    std::string name = (std::filesystem::temp_directory_path() / "stepcast-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::exit(1);
    folder_ = name;
  }
  ~Stacks() { std::filesystem::remove_all(folder_); }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  std::string file(int layers) const {
    const std::string sources = STEPCAST_SOURCE_DIR;
    Json scenario = read(sources + "/scenarios/gpt3-175b-a100-1024.json");
    Json model = read(sources + "/models/workload/presets/gpt3-175b.json");
    model["id"] = fmt::format("gpt3-of-{}-layers", layers);
    model["transformer"]["layers"] = layers;
    model.erase("published_parameters");
    scenario["workload"]["model"] = model;
    scenario["workload"]["global_batch"] = kBatch / 4;  // by operator, 384 layers of the whole batch take seconds
    const std::string out = (folder_ / fmt::format("{}.json", layers)).string();
    stepcast::write_file(out, scenario.dump());
    return out;
  }

 private:
  std::filesystem::path folder_;
};

double slope(const std::vector<int>& sizes, const std::vector<double>& seconds) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto n = static_cast<double>(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double a = std::log(sizes[i]), b = std::log(seconds[i]);
    x += a;
    y += b;
    xx += a * a;
    xy += a * b;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

bool print(const Growth& growth, const std::string& stepcast, double start) {
  std::string sizes, times;
  std::vector<double> beyond_start;
  bool ok = true;
  for (const int size : growth.sizes) {
    const stepcast::Measured best = stepcast::best_of(kRuns, stepcast, growth.arguments(size));
    ok = ok && best.ok;
    sizes += fmt::format("{:>12}", size);
    times += fmt::format("{:>9.1f} ms", best.cpu_seconds * 1e3);
    beyond_start.push_back(std::max(1e-4, best.cpu_seconds - start));
  }
  fmt::print("{:<36}{}{:>10}\n{:<36}{}{:>10.2f}\n", growth.what, sizes, "exponent", "", times,
             slope(growth.sizes, beyond_start));
  std::fflush(stdout);
  return ok;
}

}  // namespace

int main(int, char** argv) {
  const std::string stepcast = stepcast::built_stepcast(argv[0]);
  const Stacks stacks;
  const std::string gpt3 = std::string(STEPCAST_SOURCE_DIR) + "/scenarios/gpt3-175b-a100-1024.json";
  const auto set = [](const std::string& key, int value) { return fmt::format("{}={}", key, value); };
  const auto ranks = [&](int size) {
    const int times = size / (8 * kNodes);
    return std::vector<std::string>{"run",   gpt3,
                                    "--set", set("cluster.nodes", kNodes * times),
                                    "--set", set("workload.global_batch", kBatch * times)};
  };
  const auto layers = [&](int size) { return std::vector<std::string>{"run", stacks.file(size)}; };
  const auto micro_batches = [&](int size) {
    return std::vector<std::string>{"run", gpt3, "--set", set("workload.global_batch", 8 * size)};
  };
  const auto by_operator = [](auto arguments) {
    return [arguments](int size) {
      std::vector<std::string> out = arguments(size);
      out.insert(out.end(), {"--granularity", "operator"});
      return out;
    };
  };
  const std::vector<int> stacked{48, 96, 192, 384}, filled{48, 96, 192, 384};
  const std::vector<Growth> all{
      {"ranks", {1024, 4096, 16384, 65536, 131072}, ranks},
      {"layers", stacked, layers},
      {"layers, by operator", stacked, by_operator(layers)},
      {"micro-batches of a replica", filled, micro_batches},
      {"micro-batches, by operator", filled, by_operator(micro_batches)},
  };
  const double start = stepcast::best_of(kRuns, stepcast, {"--version"}).cpu_seconds;
  fmt::print("GPT-3 175B; stepcast --version: {:.1f} ms\n", start * 1e3);
  bool ok = true;
  for (const Growth& growth : all) ok = print(growth, stepcast, start) && ok;
  return ok ? 0 : 1;
}
