#include "calibration/validation/mlperf/evaluations.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace stepcast {

namespace {

/// Samples between two evaluations, samples of one, and how many of the first are skipped, as submissions' READMEs
/// state them ("Evaluation frequency", "Evaluation thoroughness"; NVIDIA's of training_results v4.0 to v5.1). GPT-3's
/// 24,567 documents of C4 are packed: 427 tokens each (156e9 tokens in 365e6 documents; Raffel et al. 2020, arXiv
/// 1910.10683) fill 5,122 sequences of 2,048. FLUX.1: mlcommons/training, text_to_image/README.md. The others by MLPerf
/// Training rules and reference implementations (recalled): ResNet-50 sees ImageNet's 50,000 validation images every
/// fourth epoch; SSD COCO's 5,000 every fifth from the 40th; 3D U-Net, from epoch 1,000 on every 20th, 42 volumes in
/// half-overlapping windows, about 70 each (estimated from their mean extent); recommenders the last day of the Criteo
/// log, 89 million samples, every twentieth of an epoch.
struct Rule {
  std::string_view benchmark;
  double interval, samples, skipped = 0;
};
constexpr std::array kRules{
    Rule{"gpt3", 24576, 5122},
    Rule{"llama31_405b", 46080, 5760},
    Rule{"llama31_8b", 12288, 1024},
    Rule{"llama2_70b_lora", 384, 173},
    Rule{"flux1", 262144, 29696},
    Rule{"resnet", 4 * 1281167.0, 50000},
    Rule{"bert", 0, 10000},
    Rule{"ssd", 5 * 117266.0, 5000, 7},
    Rule{"retinanet", 1170301, 24781},
    Rule{"maskrcnn", 117266, 5000},
    Rule{"unet3d", 20 * 168.0, 42 * 70.0, 49},
    Rule{"rnnt", 278528, 2703},
    Rule{"dlrm_dcnv2", 0.05 * 4195197692.0, 89137319},
};

/// BERT: a twentieth of 230.23 · batch + 3,000,000 samples, in whole 25,000 (MLPerf Training rules, recalled).
double bert_interval(double batch) {
  constexpr double kStep = 25000;
  return std::max(kStep, std::floor(0.05 * (230.23 * batch + 3e6) / kStep) * kStep);
}

/// Fine-tuning skips the more first evaluations the larger its batch (the same READMEs).
double skipped(const Rule& rule, double batch) {
  return rule.benchmark == "llama2_70b_lora" ? std::floor(0.125 * batch + 2) : rule.skipped;
}

}  // namespace

Evaluations mlperf_evaluations(std::string_view benchmark, double global_batch, double samples_to_target) {
  const auto rule = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& r) { return r.benchmark == benchmark; });
  if (rule == kRules.end()) return {};
  const double stated = benchmark == "bert" ? bert_interval(global_batch) : rule->interval;
  const double interval = std::ceil(stated / global_batch) * global_batch;
  const double times = std::floor(samples_to_target / interval) - skipped(*rule, global_batch);
  return {std::max(1.0, times), rule->samples};
}

}  // namespace stepcast
