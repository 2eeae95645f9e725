#include "calibration/validation/mlperf/evaluations.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace stepcast {

namespace {

/// Samples between two evaluations and samples of one, as submissions' READMEs state them ("Evaluation frequency",
/// "Evaluation thoroughness"; NVIDIA's of training_results v4.0 to v5.1). GPT-3's 24,567 documents of C4 are packed:
/// 427 tokens each (156e9 tokens in 365e6 documents; Raffel et al. 2020, arXiv 1910.10683) fill 5,122 sequences of
/// 2,048. ResNet-50 sees ImageNet's 50,000 validation images every fourth epoch (MLPerf Training rules, recalled).
struct Rule {
  std::string_view benchmark;
  double interval, samples;
};
constexpr std::array kRules{
    Rule{"gpt3", 24576, 5122},         Rule{"llama31_405b", 46080, 5760},    Rule{"llama31_8b", 12288, 1024},
    Rule{"llama2_70b_lora", 384, 173}, Rule{"resnet", 4 * 1281167.0, 50000}, Rule{"bert", 0, 10000},
};

/// BERT: a twentieth of 230.23 · batch + 3,000,000 samples, in whole 25,000 (MLPerf Training rules, recalled).
double bert_interval(double batch) {
  constexpr double kStep = 25000;
  return std::max(kStep, std::floor(0.05 * (230.23 * batch + 3e6) / kStep) * kStep);
}

/// Fine-tuning skips the first evaluations of a run (the same READMEs).
double skipped(std::string_view benchmark, double batch) {
  return benchmark == "llama2_70b_lora" ? std::floor(0.125 * batch + 2) : 0;
}

}  // namespace

Evaluations mlperf_evaluations(std::string_view benchmark, double global_batch, double samples_to_target) {
  const auto rule = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& r) { return r.benchmark == benchmark; });
  if (rule == kRules.end()) return {};
  const double stated = benchmark == "bert" ? bert_interval(global_batch) : rule->interval;
  const double interval = std::ceil(stated / global_batch) * global_batch;
  const double times = std::floor(samples_to_target / interval) - skipped(benchmark, global_batch);
  return {std::max(1.0, times), rule->samples};
}

}  // namespace stepcast
