// Thousands of mutated scenarios: each is refused with a pointer, or forecast with figures that make sense.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "models/estimate.hpp"
#include "models/frameworks/framework.hpp"
#include "models/scenario/scenario.hpp"
#include "report/json.hpp"
#include "report/predict.hpp"
#include "sim/build.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::scenario_fuzz_test {
namespace {

using test::catalog;

/// What a number may be besides sensible.
const std::vector<double> kNumbers{0,
                                   1,
                                   2,
                                   3,
                                   4,
                                   7,
                                   8,
                                   16,
                                   64,
                                   1000,
                                   1024,
                                   4096,
                                   -1,
                                   -1e9,
                                   0.5,
                                   1e-9,
                                   1e5,
                                   1e6,
                                   1e7,
                                   1e8,
                                   1e9,
                                   1e12,
                                   1e18,
                                   1e300,
                                   1e-300,
                                   127,
                                   2147483647,
                                   2147483648.0,
                                   9223372036854775807.0};

/// Changes documents: values of every type, extremes, ids of other parts, keys removed, added and misspelt.
class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {
    for (const auto& entry : std::filesystem::directory_iterator(source("scenarios")))
      if (entry.path().extension() == ".json" && !entry.path().filename().string().starts_with("plan-"))
        files_.push_back(entry.path());
    std::sort(files_.begin(), files_.end());
    for (const auto& folder : {"nodes", "sites", "storage", "cooling"})
      for (const auto& entry : std::filesystem::directory_iterator(source("hardware-catalog") / folder))
        ids_.push_back(entry.path().stem().string());
    std::sort(ids_.begin(), ids_.end());
    for (const std::string& id : framework_ids()) ids_.push_back(id);
    for (const std::string& id : model_ids()) ids_.push_back(id);
  }

  std::string text() { return text_of(one_of(files_)); }

  Json document() {
    Diagnostics diagnostics("shipped");
    Json out = parse_json(text(), diagnostics);
    diagnostics.throw_if_faulty();
    for (int n = number(1, 4); n > 0; --n) mutate(out);
    return out;
  }

  std::string override_text() {
    static const std::vector<std::string> paths{"cluster.node",
                                                "cluster.nodes",
                                                "cluster.fabric.nic_bandwidth_Gbps",
                                                "cluster.fabric.oversubscription",
                                                "cluster.fabric.nics_per_node",
                                                "workload.model",
                                                "workload.global_batch",
                                                "workload.seq_len",
                                                "workload.tokens",
                                                "strategy.framework",
                                                "strategy.tensor_parallel",
                                                "strategy.pipeline_parallel",
                                                "strategy.virtual_pipeline",
                                                "strategy.context_parallel",
                                                "strategy.expert_parallel",
                                                "strategy.expert_tensor_parallel",
                                                "strategy.expert_dispatch",
                                                "strategy.overlap_expert_parallel",
                                                "strategy.micro_batch",
                                                "strategy.schedule",
                                                "strategy.recompute",
                                                "strategy.sharding",
                                                "strategy.hsdp_shard_size",
                                                "strategy.stage_layers",
                                                "strategy.stage_layers.0",
                                                "strategy.order",
                                                "strategy.collective_algorithm",
                                                "run.seed",
                                                "run.fidelity",
                                                "workload.model.transformer.layers",
                                                "",
                                                ".",
                                                "a..b",
                                                "cluster.nodes.deeper",
                                                "strategy.",
                                                "cluster/nodes",
                                                "名前",
                                                "~0~1"};
    return one_of(paths) + (number(0, 30) == 0 ? "" : "=") + value().dump();
  }

  /// A few bytes of a text changed, removed or doubled.
  std::string scrambled() {
    std::string out = text();
    for (int n = number(1, 6); n > 0 && !out.empty(); --n) {
      const auto at = static_cast<std::size_t>(number(0, static_cast<int>(out.size()) - 1));
      switch (number(0, 3)) {
        case 0:
          out[at] = static_cast<char>(number(0, 255));
          break;
        case 1:
          out.erase(at, static_cast<std::size_t>(number(1, 20)));
          break;
        case 2:
          out.insert(at, out.substr(at, static_cast<std::size_t>(number(1, 40))));
          break;
        default:
          out.insert(at, 1, one_of(std::string("{}[],:\"0eE+-.\\/*\n")));
      }
    }
    return out;
  }

  int number(int low, int high) { return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1)); }

 private:
  static std::filesystem::path source(const std::string& path) {
    return std::filesystem::path(STEPCAST_SOURCE_DIR) / path;
  }
  static std::string text_of(const std::filesystem::path& file) {
    std::ostringstream out;
    out << std::ifstream(file).rdbuf();
    return out.str();
  }
  template <class List>
  auto one_of(const List& list) -> typename List::value_type {
    return list[random_() % list.size()];
  }

  Json value() {
    static const std::vector<std::string> words{"",
                                                "none",
                                                "full",
                                                "zero-1",
                                                "zero-3",
                                                "fsdp",
                                                "hsdp",
                                                "1f1b",
                                                "gpipe",
                                                "tree",
                                                "ring",
                                                "zero-bubble",
                                                "ulysses",
                                                "selective",
                                                "interleaved-1f1b",
                                                "fp16",
                                                "bf16",
                                                "fp32",
                                                "fp8",
                                                "analytic",
                                                "dp-pp-tp-ep-cp",
                                                "operator",
                                                "rail-optimized",
                                                "modules",
                                                "\xC3\xA9\xE6\xBC\xA2",
                                                "../../etc",
                                                "nul\0l"};
    switch (number(0, 11)) {
      case 0:
        return nullptr;
      case 1:
        return number(0, 1) == 1;
      case 2:
        return Json::array({1, 2, "x"});
      case 3:
        return Json::object({{"layers", 3}});
      case 4:
        return std::string(static_cast<std::size_t>(number(0, 5000)), 'x');
      case 5:
        return one_of(words);
      case 6:
      case 7:
        return one_of(ids_);
      case 8:
        return 1L << number(0, 20);
      default: {
        const double v = one_of(kNumbers);
        if (std::abs(v) < 1e15 && std::floor(v) == v) return static_cast<long>(v);
        return v;
      }
    }
  }

  /// A number nearby: what people type when they vary a scenario.
  Json nearby(const Json& old) {
    if (old.is_number_integer()) {
      const long v = old.get<long>();
      const std::vector<long> near{v * 2, v / 2, v + 1, v - 1, v * 1000, v * 3};
      return one_of(near);
    }
    if (old.is_boolean()) return !old.get<bool>();
    if (old.is_string()) return one_of(ids_);
    return value();
  }

  void mutate(Json& document) {
    std::vector<Json*> objects;
    collect(document, objects);
    Json& object = *one_of(objects);
    static const std::vector<std::string> keys{"nodes",
                                               "node",
                                               "fabric",
                                               "site",
                                               "seq_len",
                                               "precision",
                                               "tokens",
                                               "samples",
                                               "epochs",
                                               "tensor_parallel",
                                               "sharding",
                                               "micro_batch",
                                               "schedule",
                                               "recompute",
                                               "stage_layers",
                                               "virtual_pipeline",
                                               "context_parallel",
                                               "expert_parallel",
                                               "expert_tensor_parallel",
                                               "overlap_expert_parallel",
                                               "order",
                                               "fidelity",
                                               "preset",
                                               "oversubscription",
                                               "nics_per_node",
                                               "nic_bandwidth_Gbps",
                                               "network",
                                               "unknown",
                                               "Nodes",
                                               ""};
    if (object.empty() || number(0, 5) == 0) {
      object[one_of(keys)] = value();
      return;
    }
    auto at = object.begin();
    std::advance(at, number(0, static_cast<int>(object.size()) - 1));
    switch (number(0, 5)) {
      case 0:
        object.erase(at);
        break;
      case 1:
        at.value() = value();
        break;
      default:
        if (at.value().is_structured()) break;
        at.value() = nearby(at.value());
    }
  }

  static void collect(Json& at, std::vector<Json*>& objects) {
    if (at.is_object()) objects.push_back(&at);
    if (at.is_structured())
      for (Json& part : at) collect(part, objects);
  }

  std::mt19937 random_;
  std::vector<std::filesystem::path> files_;
  std::vector<std::string> ids_;
};

void expect_helpful(const InputError& error) {
  EXPECT_FALSE(error.faults().empty());
  for (const Fault& fault : error.faults()) {
    EXPECT_TRUE(fault.pointer.empty() || fault.pointer.front() == '/') << fault.text();
    EXPECT_FALSE(fault.message.empty());
    EXPECT_LT(fault.text().size(), 20000U);
  }
}

void expect_finite(const Json& at, const std::string& where) {
  if (at.is_number()) {
    EXPECT_TRUE(std::isfinite(at.get<double>()) && at.get<double>() >= 0) << where << " is " << at.dump();
  }
  if (at.is_structured())
    for (const auto& [key, part] : at.items()) expect_finite(part, where + "/" + key);
}

/// The step is what it is made of, and no part is larger than the whole.
void expect_consistent(const Prediction& p) {
  const Seconds sum =
      p.compute + p.communication.exposed + p.bubble + p.synchronization_wait + p.optimizer + p.overhead;
  EXPECT_NEAR(sum / p.step_time, 1, 1e-3);
  EXPECT_GT(p.step_time, Seconds(0));
  EXPECT_LE(p.gpu_utilization, 1 + 1e-9);
  EXPECT_LE(p.average_power, p.peak_power * (1 + 1e-9));
  EXPECT_EQ(p.memory.fits,
            p.memory.stages[static_cast<std::size_t>(p.memory.worst_stage)].total() <= p.memory.capacity);
  EXPECT_EQ(p.memory.stages.size(), static_cast<std::size_t>(p.degrees.pp));
}

/// Passes of a step; above this building the graph only costs time here.
constexpr long kMostPassesBuilt = 20'000;

void expect_forecast(const Scenario& scenario) {
  const Prediction prediction = predict_analytic(scenario, catalog());
  expect_consistent(prediction);
  expect_finite(to_json(prediction), "");
  const Degrees& d = scenario.degrees;
  if (d.micro_batches * d.pp * d.vpp > kMostPassesBuilt) return;
  const Job job = lower(scenario);
  EXPECT_GT(build_step_graph(job).operations().size(), 0U);
}

/// Whether it was legal.
template <class Resolve>
bool answered(Resolve resolve_it, const std::string& what) {
  constexpr std::chrono::seconds kBound{10};  // on a busy machine with sanitizers; a case takes milliseconds
  SCOPED_TRACE(what);
  const auto start = std::chrono::steady_clock::now();
  bool legal = false;
  try {
    const Scenario scenario = resolve_it();
    legal = true;
    expect_forecast(scenario);
  } catch (const InputError& error) {
    expect_helpful(error);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "neither refused nor forecast: " << error.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, kBound);
  return legal;
}

/// Cases of each test; STEPCAST_FUZZ_CASES for long runs.
int cases() {
  const char* wanted = std::getenv("STEPCAST_FUZZ_CASES");
  return wanted != nullptr ? std::atoi(wanted) : 2000;
}

TEST(ScenarioFuzz, MutatedDocumentsAreRefusedOrForecast) {
  Mutator mutator(20261121);
  int legal = 0;
  for (int i = 0; i < cases() && !HasFailure(); ++i) {
    const Json document = mutator.document();
    legal += answered([&] { return resolve(document, "mutated.json", {}, catalog()); }, document.dump());
  }
  EXPECT_GT(legal, cases() / 20);
}

TEST(ScenarioFuzz, OddOverridesAreRefusedOrForecast) {
  Mutator mutator(7);
  int legal = 0;
  for (int i = 0; i < cases() && !HasFailure(); ++i) {
    const std::string text = mutator.text();
    std::vector<std::string> overrides;
    for (int n = mutator.number(1, 3); n > 0; --n) overrides.push_back(mutator.override_text());
    Diagnostics diagnostics("shipped");
    const Json document = parse_json(text, diagnostics);
    legal += answered([&] { return resolve(document, "shipped.json", overrides, catalog()); },
                      fmt::format("{}\n--set {}", text, fmt::join(overrides, " --set ")));
  }
  EXPECT_GT(legal, 0);
}

TEST(ScenarioFuzz, ScrambledTextsAreRefusedOrForecast) {
  Mutator mutator(99);
  for (int i = 0; i < cases() && !HasFailure(); ++i) {
    const std::string text = mutator.scrambled();
    answered(
        [&] {
          Diagnostics diagnostics("scrambled.json");
          Json document = parse_json(text, diagnostics);
          diagnostics.throw_if_faulty();
          return resolve(std::move(document), "scrambled.json", {}, catalog());
        },
        text);
  }
}

// The number of passes is checked with the scenario; how many operations a pass has is known when it is built.
TEST(ScenarioFuzz, GraphsBeyondTheLimitAreRefused) {
  const Scenario scenario =
      load_scenario(std::filesystem::path(STEPCAST_SOURCE_DIR) / "scenarios/gpt3-175b-a100-1024.json", {}, catalog());
  const Job job = lower(scenario);
  try {
    build_step_graph(job, {.granularity = Granularity::operation, .most_operations = 10'000});
    ADD_FAILURE() << "built";
  } catch (const InputError& error) {
    EXPECT_EQ(error.faults().at(0).pointer, "/workload/global_batch");
  }
}

// KiB of memory; sanitizers keep a multiple beside it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr long kMostMemory = 1'000'000;
#else
constexpr long kMostMemory = 200'000;
#endif

// One that would be far too large is refused before it fills the memory: of 2 GB of operations below 200 MB are built.
TEST(ScenarioFuzz, GraphsFarBeyondTheLimitAreRefusedSoon) {
  const Scenario scenario =
      load_scenario(std::filesystem::path(STEPCAST_SOURCE_DIR) / "scenarios/llama-65b-a100-2048.json",
                    {"strategy.context_parallel=128"}, catalog());
  const Job job = lower(scenario);
  const auto most_kB = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const long before = most_kB();
  EXPECT_THROW(build_step_graph(job), InputError);
  EXPECT_LT(most_kB() - before, kMostMemory);
}

// Whatever a legal scenario is, written out with its defaults it is the same one.
TEST(ScenarioFuzz, SpeltOutScenariosForecastTheSame) {
  Mutator mutator(4);
  int legal = 0;
  for (int i = 0; i < cases() && legal < cases() / 20 && !HasFailure(); ++i) {
    const Json document = mutator.document();
    std::optional<Scenario> first;
    try {
      first = resolve(document, "mutated.json", {}, catalog());
    } catch (const InputError&) {
      continue;
    }
    ++legal;
    SCOPED_TRACE(document.dump());
    const Json spelt = to_json(*first);
    const Scenario again = resolve(spelt, "spelt.json", {}, catalog());
    EXPECT_EQ(to_json(again), spelt);
    EXPECT_EQ(estimate(lower(again)).step_time.value(), estimate(lower(*first)).step_time.value());
  }
  EXPECT_GT(legal, 0) << "no mutated scenario was legal, so that nothing was compared";
}

}  // namespace
}  // namespace stepcast::scenario_fuzz_test
