// How time and memory of a whole command grow: with ranks, layers, micro-batches, points of a sweep and events of a
// timeline. Prints docs/growth.md. The exponent is the slope of the least-squares line through the logarithms of size
// and time (or memory), those of `stepcast --version` taken off; 0 is no growth, 1 is in proportion. Each time is the
// minimum of several runs. Fails when something grows faster than n·log n that is not `--flows full`.
//   growth_bench [WORDS]    all rows, or those whose name contains the words
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "fields/json_text.hpp"
#include "report/humane.hpp"
#include "tests/bench/whole_command.hpp"
#include "tests/scratch_folder.hpp"

namespace {

using stepcast::Json;
using stepcast::ScratchFolder;

Json read(const std::string& file) {
  stepcast::Diagnostics diagnostics(file);
  Json out = stepcast::read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

constexpr int kRuns = 3;
constexpr double kLongRun = 10;      // s; not repeated: what disturbs it for a moment is lost in it
constexpr double kLogLinear = 1.25;  // n·log n from 8 to 131,072 has a slope of 1.14
constexpr double kQuadratic = 2.1;   // every message of every rank, which --flows full must
constexpr int kBatch = 1536;         ///< of the scenario: 192 micro-batches on each of 8 replicas
constexpr int kNodes = 128;          ///< of it, of eight GPUs

using Arguments = std::vector<std::string>;

struct Growth {
  std::string what;
  std::vector<int> sizes;
  std::function<Arguments(int size)> arguments;
  /// Of n·log n over the sizes measured here, with what fits of this many points scatter by.
  double limit = kLogLinear;
};

/// Files of these runs: GPT-3 175B on 1,024 GPUs with another number of layers, stores, timelines.
class Stacks {
 public:
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
  /// A file that does not exist yet.
  std::string new_store() const { return (folder_ / fmt::format("{}.out", ++files_)).string(); }

 private:
  ScratchFolder folder_;
  mutable int files_ = 0;
};

double slope(const std::vector<int>& sizes, const std::vector<double>& values) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto n = static_cast<double>(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double a = std::log(sizes[i]), b = std::log(values[i]);
    x += a;
    y += b;
    xx += a * a;
    xy += a * b;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

/// Less than this is noise: what a command takes beyond the start of the program.
constexpr double kLeastSeconds = 1e-3, kLeastMegabytes = 2;

/// Three digits.
std::string milliseconds(double seconds) {
  const double ms = seconds * 1e3;
  return ms < 1000 ? fmt::format("{:.3g}", ms) : stepcast::whole(std::lround(ms / 10) * 10);
}

/// A line of the table; false when a command fails or grows too fast.
bool print(const Growth& growth, const std::string& stepcast, const stepcast::Measured& start) {
  std::string times, memory;
  std::vector<double> seconds, megabytes;
  bool ok = true;
  for (const int size : growth.sizes) {
    // Arguments name new files each time, because a sweep does not write over a store that is there.
    stepcast::Measured best;
    for (int run = 0; run < kRuns && (run == 0 || best.seconds < kLongRun); ++run)
      best = stepcast::better_of(best, stepcast::measure(stepcast, growth.arguments(size)));
    ok = ok && best.ok;
    times += fmt::format("{}{}: {}", times.empty() ? "" : ", ", stepcast::whole(size), milliseconds(best.cpu_seconds));
    memory += fmt::format("{}{:.0f}", memory.empty() ? "" : ", ", best.megabytes);
    seconds.push_back(std::max(kLeastSeconds, best.cpu_seconds - start.cpu_seconds));
    megabytes.push_back(std::max(kLeastMegabytes, best.megabytes - start.megabytes));
  }
  const double of_time = slope(growth.sizes, seconds), of_memory = slope(growth.sizes, megabytes);
  fmt::print("| {} | {} | {:.2f} | {} | {:.2f} |\n", growth.what, times, of_time, memory, of_memory);
  std::fflush(stdout);
  if (of_time > growth.limit || of_memory > growth.limit)
    fmt::print(stderr, "{} grows faster than it should: {:.2f} in time, {:.2f} in memory\n", growth.what, of_time,
               of_memory);
  return ok && of_time <= growth.limit && of_memory <= growth.limit;
}

std::vector<int> doublings(int first, int last, int factor) {
  std::vector<int> out;
  for (int size = first; size <= last; size *= factor) out.push_back(size);
  return out;
}

std::string set(const std::string& key, int value) { return fmt::format("{}={}", key, value); }

std::function<Arguments(int)> with(const std::function<Arguments(int)>& arguments, Arguments more) {
  return [arguments, more](int size) {
    Arguments out = arguments(size);
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
}

std::vector<Growth> growths(const Stacks& stacks) {
  const std::string scenarios = std::string(STEPCAST_SOURCE_DIR) + "/scenarios/";
  const std::string gpt3 = scenarios + "gpt3-175b-a100-1024.json";
  const std::string bert = scenarios + "bert-large-16nodes.json";
  const auto replicas = [bert](int ranks) {
    return Arguments{
        "run", bert, "--set", set("cluster.nodes", ranks / 8), "--set", set("workload.global_batch", ranks * 512)};
  };
  const auto ranks = [gpt3](int size) {
    const int times = size / (8 * kNodes);
    return Arguments{"run",   gpt3,
                     "--set", set("cluster.nodes", kNodes * times),
                     "--set", set("workload.global_batch", kBatch * times)};
  };
  const auto layers = [&stacks](int size) { return Arguments{"run", stacks.file(size)}; };
  const auto micro_batches = [gpt3](int size) {
    return Arguments{"run", gpt3, "--set", set("workload.global_batch", 8 * size)};
  };
  const auto collective = [](int size) {
    return Arguments{"collective",         "--op",      "all_reduce", "--sizes", "64M", "--ranks",
                     std::to_string(size), "--cluster", "dgx-h100"};
  };
  const auto points = [gpt3, &stacks](int size) {
    return Arguments{"sweep",      gpt3,
                     "--set",      fmt::format("workload.global_batch={}..{}+{}", kBatch, kBatch * size, kBatch),
                     "--store",    stacks.new_store(),
                     "--fidelity", "analytic",
                     "--jobs",     "1"};
  };
  const auto events = [gpt3, &stacks](int size) {
    return Arguments{"run",           gpt3,
                     "--granularity", "operator",
                     "--set",         set("workload.global_batch", 8 * size),
                     "--trace",       stacks.new_store()};
  };
  const std::vector<int> stacked = doublings(48, 384, 2);
  return {
      {"ranks: BERT, data-parallel", doublings(8, 131072, 4), replicas},
      {"ranks: GPT-3 175B, 3D-parallel", doublings(1024, 131072, 2), ranks},
      {"ranks: all_reduce of 64 MiB, folded", doublings(8, 131072, 4), collective},
      {"ranks: all_reduce of 64 MiB by ring, `--flows full`", doublings(8, 1024, 2),
       with(collective, {"--flows", "full", "--algorithm", "ring"}), kQuadratic},
      {"layers", stacked, layers},
      {"layers, by operator", stacked, with(layers, {"--granularity", "operator"})},
      {"micro-batches of a replica", stacked, micro_batches},
      {"micro-batches, by operator", stacked, with(micro_batches, {"--granularity", "operator"})},
      {"micro-batches, by operator, timeline written", stacked, events},
      {"points of an analytic sweep", doublings(100, 100000, 10), points},
  };
}

}  // namespace

int main(int argc, char** argv) {
  const std::string words = argc > 1 ? argv[1] : "";
  const std::string stepcast = stepcast::built_stepcast(argv[0]);
  const Stacks stacks;
  const stepcast::Measured start = stepcast::best_of(kRuns, stepcast, {"--version"});
  fmt::print(
      "# Growth\n\nWhat whole commands take as they grow, made by `tests/bench/growth_bench.cpp`: processor time of "
      "all\n"
      "processes in ms at each size, their largest memory in MB, and the exponents n^x fitted to both after the start "
      "of\n"
      "the program ({:.1f} ms, {:.0f} MB) is taken off. Nothing grows faster than n·log n but `--flows full`, which "
      "follows\n"
      "every message of every rank.\n\n"
      "| what grows | ms at size | exponent | MB | exponent |\n|---|---|---:|---|---:|\n",
      start.cpu_seconds * 1e3, start.megabytes);
  bool ok = true;
  for (const Growth& growth : growths(stacks))
    if (growth.what.find(words) != std::string::npos) ok = print(growth, stepcast, start) && ok;
  return ok ? 0 : 1;
}
