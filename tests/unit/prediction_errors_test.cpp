#include "models/frameworks/prediction_errors.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "models/scenario/scenario.hpp"

namespace stepcast::prediction_errors_test {
namespace {

using testing::HasSubstr;

class Evidence : public testing::Test {
 protected:
  Evidence() {
    using enum WorkloadKind;
    FitErrors& fit = errors.fits["constants"];
    fit.runs = {{"megatron", transformer, "h100", 40, 10, 25}, {"megatron", transformer, "b200", 2, 3, 20},
                {"jax", transformer, "tpu", 12, 8, 30},        {"tensorflow", convolutional, "tpu", 8, 60, 140},
                {"mxnet", convolutional, "h100", 3, 9, 12},    {"torch", convolutional, "a100", 30, 11, 12}};
    fit.frameworks = {{"megatron", transformer, 42, 20, 30},
                      {"jax", transformer, 12, 0, 30},
                      {"tensorflow", convolutional, 8, 0, 40},
                      {"torch", convolutional, 30, 0, 20},
                      {"mxnet", convolutional, 3, 0, 1000}};
    errors.accelerator_families = {{"h100", "hopper"}, {"b200", "blackwell"}, {"tpu", "tpu"}, {"a100", "ampere"}};
  }

  ExpectedError of(const std::string& framework, const std::string& accelerator,
                   WorkloadKind kind = WorkloadKind::transformer, const std::string& family = "") {
    part.id = accelerator;
    part.family = family;
    FrameworkProfile profile;
    profile.id = framework;
    Model model;
    model.kind = kind;
    Scenario scenario;
    scenario.model = std::make_shared<const Model>(model);
    scenario.accelerator = &part;
    scenario.framework = std::make_shared<const FrameworkProfile>(profile);
    return expected_error(scenario, errors);
  }

  PredictionErrors errors;
  Accelerator part;
};

TEST_F(Evidence, RunsOfTheFrameworkOnTheAcceleratorAreTheBest) {
  const ExpectedError found = of("megatron", "h100");
  EXPECT_EQ(found.grade, EvidenceGrade::together);
  EXPECT_NEAR(found.share_80, std::log(1.10), 1e-12);
}

// Two runs say little about the next one: the error of a new accelerator holds.
TEST_F(Evidence, AFewRunsAreNotEnough) {
  const ExpectedError found = of("megatron", "b200");
  EXPECT_EQ(found.grade, EvidenceGrade::apart);
  EXPECT_NEAR(found.share_80, std::log(1.20), 1e-12);
}

TEST_F(Evidence, FrameworkAndAcceleratorMeasuredApart) {
  EXPECT_EQ(of("megatron", "tpu").grade, EvidenceGrade::apart);
  // Runs of one accelerator only say nothing of its error on others.
  EXPECT_NEAR(of("jax", "h100").share_80, std::log(1.30), 1e-12);
}

// An accelerator of the same family as one that was measured enough.
TEST_F(Evidence, ASiblingIsBetterThanAnyOther) {
  const ExpectedError found = of("megatron", "h100-pcie", WorkloadKind::transformer, "hopper");
  EXPECT_EQ(found.grade, EvidenceGrade::apart);
  EXPECT_NEAR(found.share_80, std::log(1.20), 1e-12);
  EXPECT_THAT(found.why, HasSubstr("h100, a sibling of h100-pcie"));
  EXPECT_EQ(of("megatron", "h100-pcie", WorkloadKind::transformer, "ampere").grade, EvidenceGrade::one);
}

TEST_F(Evidence, OneOfTheTwo) {
  EXPECT_EQ(of("megatron", "mi300x").grade, EvidenceGrade::one);
  EXPECT_EQ(of("mxnet", "h100").grade, EvidenceGrade::one);
  EXPECT_NEAR(of("mxnet", "h100").share_80, std::log(1.30), 1e-12);
}

TEST_F(Evidence, NeitherIsTheWidest) {
  const ExpectedError found = of("mxnet", "mi300x");
  EXPECT_EQ(found.grade, EvidenceGrade::none);
  EXPECT_GT(found.share_80, std::log(1.30));
}

// Language models on a TPU say nothing of its convolutions; other frameworks' convolutions there do.
TEST_F(Evidence, RunsOfOtherKindsOfWorkloadsAreNone) {
  const ExpectedError found = of("jax", "tpu", WorkloadKind::convolutional);
  EXPECT_EQ(found.grade, EvidenceGrade::one);
  EXPECT_NEAR(found.share_80, std::log(2.40), 1e-12);
  EXPECT_THAT(found.why, HasSubstr("jax on tpu was measured with transformers only"));
  const ExpectedError host_alone = of("megatron", "h100", WorkloadKind::detection);
  EXPECT_EQ(host_alone.grade, EvidenceGrade::one);
  EXPECT_THAT(host_alone.why, HasSubstr("no detectors measured"));
}

// The mean of frameworks with enough runs; a kind that nobody measured is as uncertain as the worst.
TEST_F(Evidence, AKindsErrorIsThatOfFrameworksLeftOut) {
  EXPECT_NEAR(errors.other_framework(WorkloadKind::convolutional), 30, 1e-12);
  errors.fits["constants"].frameworks[3].unfitted = 50;
  EXPECT_NEAR(errors.other_framework(WorkloadKind::recommender), 45, 1e-12);
}

// Nobody measured them, and their operators are transformers': errors of a new framework's transformers, twice.
TEST_F(Evidence, DiffusionTransformersAreTrustedAsTransformersOfANewFramework) {
  const ExpectedError found = of("megatron", "h100", WorkloadKind::diffusion_transformer);
  EXPECT_EQ(found.grade, EvidenceGrade::one);
  EXPECT_NEAR(found.share_80, 1.41 * std::log1p(errors.other_framework(WorkloadKind::transformer) / 100), 1e-12);
}

// Kinds measured one by one say less of a cluster of both, which nobody measured.
TEST_F(Evidence, OfAMixOfNodesTheWorstGradeAndTheWidestIntervalHold) {
  const auto mixed = [&](const std::string& own, const std::string& other) {
    Model model;
    model.kind = WorkloadKind::transformer;
    FrameworkProfile profile;
    profile.id = "megatron";
    Accelerator parts[2];
    Scenario scenario;
    scenario.model = std::make_shared<const Model>(model);
    scenario.framework = std::make_shared<const FrameworkProfile>(profile);
    Scenario kind = scenario;
    parts[0].id = own;
    parts[1].id = other;
    scenario.accelerator = &parts[0];
    kind.accelerator = &parts[1];
    scenario.spec.cluster.nodes = 4;
    scenario.spec.cluster.other_nodes = {{"another", {3}}};
    scenario.other_kinds = {std::make_shared<const Scenario>(kind)};
    return expected_error(scenario, errors);
  };
  // A wide interval of runs together is no better than a narrower one of runs apart.
  errors.fits["constants"].runs[0].own_model = 35;
  for (const ExpectedError& found : {mixed("h100", "tpu"), mixed("tpu", "h100")}) {
    EXPECT_EQ(found.grade, EvidenceGrade::apart);
    EXPECT_NEAR(found.share_80, std::log(1.35), 1e-12);
    EXPECT_THAT(found.why, HasSubstr("on tpu with other frameworks; the mix of nodes was not measured"));
  }
  EXPECT_EQ(mixed("h100", "h100").grade, EvidenceGrade::apart);
  EXPECT_EQ(mixed("h100", "mi300x").grade, EvidenceGrade::one);
}

// BERT belongs to one list of constants, GPT to another: the list with more runs of a kind speaks for it.
TEST_F(Evidence, OfTwoFitsTheOneWithMoreRunsCounts) {
  FitErrors& other = errors.fits["deep_learning_constants"];
  other.runs = {{"megatron", WorkloadKind::transformer, "h100", 90, 50, 60}};
  other.frameworks = {{"megatron", WorkloadKind::transformer, 90, 0, 60}};
  EXPECT_NEAR(of("megatron", "h100").share_80, std::log(1.50), 1e-12);
}

TEST(PredictionErrorsFile, IsSound) {
  const PredictionErrors& shipped = prediction_errors();
  EXPECT_EQ(shipped.fits.size(), 2U);
  EXPECT_GT(shipped.other_framework(WorkloadKind::transformer), 0);
  for (const auto& [list, fit] : shipped.fits) {
    // Errors of runs that the fit has seen are no measure of new ones.
    EXPECT_THAT(fit.source, testing::Not(HasSubstr("in sample"))) << "run stepcast-fit-training --errors";
    for (const RunErrors& one : fit.runs) {
      EXPECT_GT(one.runs, 0) << one.framework;
      EXPECT_TRUE(shipped.accelerator_families.contains(one.accelerator)) << one.accelerator;
      EXPECT_TRUE(std::any_of(fit.frameworks.begin(), fit.frameworks.end(),
                              [&](const FrameworkErrors& all) {
                                return all.framework == one.framework && all.kind == one.kind && all.runs >= one.runs;
                              }))
          << one.framework << " " << one.accelerator;
    }
  }
}

}  // namespace
}  // namespace stepcast::prediction_errors_test
