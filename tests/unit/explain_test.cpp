#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "explain/bottleneck_words.hpp"
#include "explain/comparison.hpp"
#include "explain/explanation.hpp"
#include "explain/setting_changes.hpp"
#include "explain/trace_comparison.hpp"
#include "models/estimate.hpp"
#include "report/predict.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::explain_test {
namespace {

using test::catalog;
using testing::Contains;
using testing::HasSubstr;

Json document_of(const std::string& name, const std::vector<std::string>& changes = {}) {
  Diagnostics diagnostics(name);
  Json out = read_json(std::filesystem::path(STEPCAST_SOURCE_DIR "/scenarios") / (name + ".json"), diagnostics);
  for (const std::string& change : changes) apply_override(out, change, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

Explanation explained(const std::string& name) {
  const Json document = document_of(name);
  const Scenario scenario = resolve(document, name, {}, catalog());
  return explain(document, name, predict_analytic(scenario, catalog()), detail_of(estimate(lower(scenario))),
                 catalog());
}

double effect_of(const Explanation& explanation, std::string_view figure) {
  for (const FigureEffect& effect : explanation.figures)
    if (effect.name == figure) return effect.throughput;
  return 0;
}

// The node with one NIC holds all gradients up: NICs that are faster help, whichever kind is the cluster's own.
TEST(Explain, ChangesNodesOfEveryKind) {
  const char *many = "dgx-a100-80gb", *one = "template-2x-epyc-7763-8xh100-ib200-512gb";
  for (const auto& [own, other] : {std::pair{many, one}, std::pair{one, many}}) {
    const Json document{
        {"cluster", {{"node", own}, {"nodes", 2}, {"other_nodes", {{{"node", other}, {"nodes", {1}}}}}}},
        {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 4}}},
        {"strategy", {{"framework", "megatron-lm"}, {"tensor_parallel", 8}, {"micro_batch", 1}}}};
    const Scenario scenario = resolve(document, "test", {}, catalog());
    EXPECT_GT(effect_of(explain(document, "test", predict_analytic(scenario, catalog()),
                                detail_of(estimate(lower(scenario))), catalog()),
                        "nic_bandwidth"),
              0.01)
        << own;
  }
}

ComparedStep side(const std::string& name, const std::vector<std::string>& changes = {}) {
  const Scenario scenario = resolve(document_of(name, changes), name, {}, catalog());
  return {name, predict_analytic(scenario, catalog()), detail_of(estimate(lower(scenario))), to_json(scenario)};
}

Seconds sum_of(const std::vector<PartDifference>& parts) {
  Seconds sum;
  for (const PartDifference& part : parts) sum += part.change();
  return sum;
}

const std::vector<std::string> kScenarios{"gpt3-175b-a100-1024", "llama3-70b-h100-512", "resnet50-v100-8nodes",
                                          "rental-cpu-server"};

// More of a rate and less of a time never make a step longer, and 10 % never bring more than 10 %.
TEST(Explain, FiguresBringBetweenNothingAndTheirOwnShare) {
  for (const std::string& name : kScenarios)
    for (const FigureEffect& figure : explained(name).figures) {
      EXPECT_GE(figure.throughput, -0.002) << name << " " << figure.name;
      EXPECT_LE(figure.throughput, kFigureStep + 1e-9) << name << " " << figure.name;
    }
}

const FigureEffect& figure_of(const Explanation& explanation, const char* name) {
  for (const FigureEffect& figure : explanation.figures)
    if (figure.name == std::string(name)) return figure;
  throw std::out_of_range(name);
}

// Servers on nodes of their own are paid for whatever is faster, and their NICs are NICs.
TEST(Explain, ServersOfTheirOwnAreCountedInEveryFigure) {
  const Explanation servers = explained("systems/tensorflow-ps-sync");
  for (const FigureEffect& figure : servers.figures) {
    ASSERT_TRUE(figure.cost);
    EXPECT_NEAR((1 + *figure.cost) * (1 + figure.throughput), 1, 0.01) << figure.name;
  }
  EXPECT_GT(figure_of(servers, "nic_bandwidth").throughput, 0.05);
}

// DeepSpeed's users call FlashAttention-2, which is measured apart on Hopper and not on Ampere; Megatron-LM the newest.
TEST(SettingChanges, NewerKernelsOfAttention) {
  const std::string change = "attention_kernel flash-2 → native";
  const std::string deepspeed = "strategy={\"framework\": \"deepspeed\", \"micro_batch\": 1}";
  const auto names = [](const std::vector<std::string>& changes) {
    std::vector<std::string> out;
    for (const SettingChange& one : setting_changes(test::shipped("llama3-70b-h100-512.json", changes)))
      out.push_back(one.name);
    return out;
  };
  EXPECT_THAT(names({deepspeed}), Contains(change));
  EXPECT_THAT(names({}), testing::Not(Contains(HasSubstr("attention_kernel"))));
  EXPECT_THAT(names({deepspeed, "cluster.node=dgx-a100-80gb"}), testing::Not(Contains(HasSubstr("attention_kernel"))));
}

/// Replicas of one node, of which one is slow and one of another kind.
Explanation of_uneven_nodes(double speed, const char* other) {
  const Json document{{"cluster",
                       {{"node", "dgx-h100"},
                        {"nodes", 8},
                        {"conditions", {{{"nodes", {3}}, {"compute_speed", speed}}}},
                        {"other_nodes", {{{"node", other}, {"nodes", {6, 7}}}}}}},
                      {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 64}}},
                      {"strategy", {{"framework", "megatron-lm"}, {"tensor_parallel", 8}, {"micro_batch", 1}}}};
  const Scenario scenario = resolve(document, "test", {}, catalog());
  return explain(document, "test", predict_analytic(scenario, catalog()), detail_of(estimate(lower(scenario))),
                 catalog());
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, "\n")); }

// A straggler and a slower kind are what a step waits for, and are named before all figures; what is alike is not.
TEST(Explain, NamesNodesThatHoldTheOthersUp) {
  const Explanation slower_kind = of_uneven_nodes(0.9, "dgx-a100-80gb");
  EXPECT_THAT(slower_kind.words[1], testing::StartsWith("Some nodes keep the others waiting: "));
  EXPECT_THAT(slower_kind.words[1], HasSubstr("nodes 6–7 dgx-a100-80gb → dgx-h100"));
  EXPECT_THAT(slower_kind.words[1], HasSubstr("all nodes → dgx-h100, without conditions"));
  EXPECT_THAT(joined(slower_kind.words), testing::Not(HasSubstr("Beyond the strategy, all nodes")));
  const Explanation straggler = of_uneven_nodes(0.1, "dgx-a100-80gb");
  EXPECT_THAT(straggler.words[1], HasSubstr("conditions of node 3 → none brings +"));
  // A node that is slower by less than a tenth is less to gain than a tenth more of the FLOP rate.
  const Explanation nearly = of_uneven_nodes(0.95, "dgx-h100");
  EXPECT_THAT(nearly.words[1], HasSubstr("The step is bound most by"));
  EXPECT_THAT(nearly.words[2], HasSubstr("conditions of node 3 → none brings +"));
  EXPECT_THAT(joined(explained("llama3-70b-h100-512").words), testing::Not(HasSubstr("Some nodes")));
}

// One figure of two kinds of nodes is two figures, where they differ.
TEST(Explain, StatesFiguresOfEachKindOfNodes) {
  const Explanation out = of_uneven_nodes(0.9, "dgx-a100-80gb");
  EXPECT_EQ(figure_of(out, "flop_rate").value, "dgx-h100: 989 TFLOP/s in bf16; dgx-a100-80gb: 312 TFLOP/s in bf16");
  EXPECT_THAT(figure_of(out, "host_time").value, testing::Not(HasSubstr("dgx")));
}

TEST(Explain, TriesWhatAnUpdateCanChange) {
  const auto tried = [](const char* name) {
    std::vector<std::string> out;
    for (const SettingEffect& setting : explained(name).settings) out.push_back(setting.change);
    return out;
  };
  EXPECT_THAT(tried("systems/tensorflow-ps-sync"),
              testing::AllOf(Contains(HasSubstr("parameter servers")), Contains("compression none → 1-bit")));
  EXPECT_THAT(tried("systems/local-sgd-diloco"), Contains(HasSubstr("local_steps")));
  EXPECT_THAT(tried("systems/parameter-server-ssp"), Contains(HasSubstr("staleness_bound")));
  EXPECT_THAT(tried("systems/parameter-server-backup"), Contains(HasSubstr("backup_workers")));
  EXPECT_THAT(tried("systems/gossip-ring"),
              testing::AllOf(Contains("compression none → fp16"), testing::Not(Contains(HasSubstr("top-k")))));
  EXPECT_THAT(tried("systems/rl-actors-learners"),
              testing::AllOf(Contains("actors' nodes 6 → 3"), Contains("actors' concurrent 48 → 96"),
                             Contains("actors' staleness_bound 2 → 1"), Contains("actors' interruptible off → on")));
  EXPECT_THAT(tried("resnet50-v100-8nodes"),
              testing::Not(testing::AnyOf(Contains(HasSubstr("compression")), Contains(HasSubstr("actors")))));
}

// Of one NIC, twice as many are one more.
TEST(Explain, TriesEachSettingOnce) {
  std::set<std::string> seen;
  for (const SettingEffect& setting : explained("systems/tensorflow-ps-sync").settings)
    EXPECT_TRUE(seen.insert(setting.change).second) << setting.change;
}

// A step is homogeneous: all rates 10 % higher and all times 10 % shorter make it 10 % faster. The sum of the
// elasticities is below one by what no figure stands for.
TEST(Explain, ElasticitiesAddUpToAboutOne) {
  for (const std::string& name : kScenarios) {
    double sum = 0;
    for (const FigureEffect& figure : explained(name).figures) sum += figure.elasticity;
    EXPECT_GT(sum, 0.8) << name;
    EXPECT_LT(sum, 1.05) << name;
  }
}

Explanation explained_over(const Json& fabric) {
  const Json document{{"cluster", {{"node", "dgx-h100"}, {"nodes", 16}, {"fabric", fabric}}},
                      {"workload", {{"model", "llama3-8b"}, {"global_batch", 512}, {"seq_len", 4096}}},
                      {"strategy", {{"framework", "megatron-lm"}, {"micro_batch", 1}, {"recompute", "selective"}}}};
  const Scenario scenario = resolve(document, "test", {}, catalog());
  return explain(document, "test", predict_analytic(scenario, catalog()), detail_of(estimate(lower(scenario))),
                 catalog());
}

// Reductions over two sites wait for the link between them, and over crowded cores for these, whatever the NICs.
TEST(Explain, NamesLinksBetweenSitesAndCores) {
  const Explanation apart = explained_over({{"wan", {{"sites", 2}, {"bandwidth_Gbps", 100}, {"latency_ms", 10}}}});
  EXPECT_NEAR(effect_of(apart, "site_bandwidth"), 0.057, 0.005);
  EXPECT_GT(effect_of(apart, "site_latency"), 0);
  const Json cores{
      {"preset", "fat-tree-3"}, {"nodes_per_leaf", 2}, {"nodes_per_pod", 4}, {"core_oversubscription", 32}};
  EXPECT_GT(effect_of(explained_over(cores), "fabric_bandwidth"), 0.02);
}

// A tenth more of the drives that states stream through brings what their part of the step says.
TEST(Explain, NamesDrivesThatHoldTheOptimizer) {
  const Json document{{"cluster", {{"node", "dgx-a100-80gb"}, {"nodes", 2}}},
                      {"workload", {{"model", "llama3-70b"}, {"global_batch", 64}}},
                      {"strategy",
                       {{"framework", "deepspeed"},
                        {"sharding", "zero-3"},
                        {"micro_batch", 2},
                        {"recompute", "full"},
                        {"offload_optimizer", true},
                        {"offload_optimizer_device", "nvme"}}}};
  const auto step = [&](const std::vector<std::string>& changes) {
    const Scenario changed = resolve(document, "test", changes, catalog());
    return estimate(lower(changed)).step_time;
  };
  const Seconds streamed = step({}) - step({"strategy.offload_optimizer_device=host"});
  const Scenario scenario = resolve(document, "test", {}, catalog());
  const Explanation out =
      explain(document, "test", predict_analytic(scenario, catalog()), detail_of(estimate(lower(scenario))), catalog());
  const double shorter = streamed / step({}) * (1 - 1 / 1.1);
  EXPECT_NEAR(effect_of(out, "drive_rate"), 1 / (1 - shorter) - 1, 1e-4);
}

// One stage has no bubble, but what is left of a difference of times.
TEST(Explain, PathsHaveNoPartsOfRounding) {
  const Explanation out = explained_over({{"wan", {{"sites", 2}, {"bandwidth_Gbps", 100}, {"latency_ms", 10}}}});
  for (const PathPart& part : out.critical_path) EXPECT_GT(part.time / out.prediction.step_time, 1e-12) << part.what;
}

// Linear attention takes 6 % of this step and goes by the multiprocessors' clock, as products do.
TEST(Explain, AFasterClockHelpsKernelsOfSmallProducts) {
  double sum = 0;
  for (const FigureEffect& figure : explained("qwen3-next-h100-128").figures) sum += figure.elasticity;
  EXPECT_GT(sum, 0.95);
  EXPECT_LT(sum, 1.02);
}

TEST(Explain, FlopRateBoundsALargeModel) {
  const Explanation out = explained("gpt3-175b-a100-1024");
  ASSERT_FALSE(out.figures.empty());
  EXPECT_EQ(out.figures.front().name, "flop_rate");
  EXPECT_THAT(text_report(out), HasSubstr("FLOP rate of the devices"));
  EXPECT_FALSE(out.words.empty());
}

/// A legal change that fits memory.
SettingEffect effect(const std::string& change, const std::string& word, double throughput) {
  SettingEffect out;
  out.change = change;
  out.words = {word};
  out.legal = true;
  out.throughput = throughput;
  return out;
}

// The headline says which kinds of change it is about, and names the best of the others: the table below has them all.
TEST(Explain, TheHeadlineAgreesWithTheTable) {
  Explanation out;
  out.settings = {effect("nodes 2 → 4", "cluster.nodes=4", 0.97),
                  effect("precision bf16 → fp8", "workload.precision=fp8", 0.36),
                  effect("micro_batch 1 → 2", "strategy.micro_batch=2", 0.001)};
  std::vector<std::string> words = bottleneck_words(out);
  EXPECT_THAT(words, Contains("No single change of the strategy that fits memory brings 0.5 % or more."));
  EXPECT_THAT(words, Contains("Beyond the strategy, nodes 2 → 4 brings +97.0 % throughput, and precision bf16 → fp8 "
                              "+36.0 %."));
  out.settings.push_back(effect("recompute full → none", "strategy.recompute=none", 0.2));
  out.settings[0].fits = false;
  out.settings.push_back(effect("actors' nodes 6 → 12", "strategy.actors.nodes=12", 0.3));
  words = bottleneck_words(out);
  EXPECT_THAT(words, Contains(HasSubstr("Of changes of the strategy, recompute full → none helps most: +20.0 %")));
  EXPECT_THAT(words, Contains("Beyond the strategy, actors' nodes 6 → 12 brings +30.0 % throughput, and precision bf16 "
                              "→ fp8 +36.0 %."));
  out.settings.pop_back();
  words = bottleneck_words(out);
  EXPECT_THAT(words, Contains(HasSubstr("Of changes of the strategy, recompute full → none helps most: +20.0 %")));
  EXPECT_THAT(words, Contains("Beyond the strategy, precision bf16 → fp8 brings +36.0 % throughput."));
  out.settings = {};
  EXPECT_THAT(bottleneck_words(out), Contains(HasSubstr("no other machines, batch or precision that fit memory")));
}

TEST(Explain, CriticalPathAddsUpToTheStep) {
  for (const std::string& name : {std::string("gpt3-175b-a100-1024"), std::string("resnet50-v100-8nodes")}) {
    const Explanation out = explained(name);
    Seconds sum;
    for (const PathPart& part : out.critical_path) sum += part.time;
    EXPECT_NEAR(sum / out.prediction.step_time, 1, 0.02) << name;
  }
}

// What is said of a setting is what a run with it predicts.
TEST(Explain, SettingsAreWhatRunsPredict) {
  const Explanation out = explained("gpt3-175b-a100-1024");
  const double base = side("gpt3-175b-a100-1024").prediction.samples_per_s;
  int checked = 0;
  for (const SettingEffect& setting : out.settings) {
    if (!setting.legal || !setting.change.starts_with("micro_batch")) continue;
    const Prediction changed = side("gpt3-175b-a100-1024", setting.words).prediction;
    EXPECT_NEAR(changed.samples_per_s / base - 1, setting.throughput, 1e-9);
    EXPECT_EQ(changed.memory.fits, setting.fits);
    ++checked;
  }
  EXPECT_GE(checked, 1);
}

// The workers' own NICs are faster than what the servers have, and a buyer would change the wrong ones.
TEST(Explain, NicsOfParameterServersAreNamedBesideTheWorkers) {
  const Explanation explanation = explained("systems/tensorflow-ps-sync");
  EXPECT_THAT(figure_of(explanation, "nic_bandwidth").value, HasSubstr("25.0 Gb/s a node, 1 × 10.0 Gb/s a parameter"));
}

// Samples a second do not show what more local steps, compression or a larger batch cost in samples.
TEST(Explain, SaysWhereSamplesToTheTargetMayGrow) {
  const Explanation explanation = explained("systems/local-sgd-diloco");
  int marked = 0;
  for (const SettingEffect& effect : explanation.settings) {
    if (!effect.legal) continue;
    const std::string words = effect.words.front();
    if (words.starts_with("strategy.compression") && words.find("fp16") == std::string::npos) {
      EXPECT_TRUE(effect.more_samples) << words;
    }
    if (effect.change == "local_steps 500 → 1000") {
      EXPECT_TRUE(effect.more_samples);
    }
    if (effect.change == "local_steps 500 → 250") {
      EXPECT_FALSE(effect.more_samples);
    }
    marked += effect.more_samples ? 1 : 0;
  }
  EXPECT_GT(marked, 1);
  EXPECT_THAT(text_report(explanation), HasSubstr("* not counted: samples to the target may grow"));
}

TEST(Explain, RefusedSettingsSayWhy) {
  for (const SettingEffect& setting : explained("gpt3-175b-a100-1024").settings)
    EXPECT_EQ(setting.legal, setting.refusal.empty()) << setting.change;
}

TEST(Compare, PartsAndPathsAddUpToTheWholeDifference) {
  const std::vector<std::pair<ComparedStep, ComparedStep>> pairs{
      {side("gpt3-175b-a100-1024"), side("gpt3-175b-a100-1024", {"strategy.recompute=full"})},
      {side("gpt3-175b-a100-1024"), side("llama3-70b-h100-512")},
      {side("resnet50-v100-8nodes"), side("resnet50-v100-8gpus")},
      {side("rental-cpu-server"), side("rental-cpu-server")}};
  for (const auto& [a, b] : pairs) {
    const Comparison out = compare(a, b);
    const Seconds change = b.prediction.step_time - a.prediction.step_time;
    EXPECT_NEAR(sum_of(out.parts).value(), change.value(), 1e-9 * a.prediction.step_time.value());
  }
}

TEST(Compare, SaysWhichKeyChangedAndWhatItDoesAlone) {
  const ComparedStep a = side("llama3-70b-h100-512");
  const ComparedStep b = side("llama3-70b-h100-512", {"strategy.recompute=full"});
  Comparison out = compare(a, b);
  find_effects_alone(out.keys, a.settings, b.settings, catalog());
  finish(out);
  ASSERT_EQ(out.keys.size(), 1U);
  EXPECT_EQ(out.keys[0].key, "strategy.recompute");
  EXPECT_EQ(out.keys[0].after, "\"full\"");
  ASSERT_TRUE(out.keys[0].alone);
  EXPECT_NEAR(out.keys[0].alone->value(), (b.prediction.step_time - a.prediction.step_time).value(), 1e-9);
  EXPECT_THAT(text_report(out), HasSubstr("strategy.recompute"));
  EXPECT_THAT(html_report(out, "stepcast compare a b"), HasSubstr("strategy.recompute"));
}

TEST(Compare, EqualSidesDifferInNothing) {
  const Comparison out = compare(side("rental-cpu-server"), side("rental-cpu-server"));
  EXPECT_TRUE(out.keys.empty());
  EXPECT_THAT(out.words.front(), HasSubstr("equally long"));
}

}  // namespace
}  // namespace stepcast::explain_test
