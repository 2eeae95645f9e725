#include "models/phases/run_phases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "report/predict.hpp"
#include "report/run_outlook.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::run_phases_test {
namespace {

using test::catalog;
using test::shipped;

std::vector<PhaseOutlook> phases_of(const std::string& scenario, const std::string& phases,
                                    std::vector<std::string> terms = {}) {
  terms.push_back("run.phases=" + phases);
  return predict_analytic(shipped(scenario, terms), catalog()).outlook->phases;
}

std::vector<std::string> systems() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(STEPCAST_SOURCE_DIR "/scenarios/systems"))
    out.push_back("systems/" + entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

// However workers meet, a phase is costed as a scenario of its own would be.
class EverySystem : public testing::TestWithParam<std::string> {};
TEST_P(EverySystem, StepsOfAPhaseAreThoseOfAScenarioThatSaysTheSame) {
  const std::string twice = fmt::format("workload.global_batch={}", 2 * shipped(GetParam()).spec.workload.global_batch);
  const auto step_of = [](const PhaseOutlook& phase) { return phase.time / phase.steps; };
  const Prediction whole = predict_analytic(shipped(GetParam()), catalog()),
                   doubled = predict_analytic(shipped(GetParam(), {twice}), catalog());
  const std::vector<PhaseOutlook> phases = phases_of(
      GetParam(),
      fmt::format(R"([{{"steps":100}},{{"steps":100,"set":["cluster.nodes={}"]}},{{"steps":100,"set":["{}"]}}])",
                  whole.nodes, twice));
  EXPECT_NEAR(step_of(phases[0]) / whole.step_time, 1, 1e-9);
  EXPECT_NEAR(step_of(phases[1]) / whole.step_time, 1, 1e-9);
  EXPECT_NEAR(step_of(phases[2]) / doubled.step_time, 1, 1e-9);
}
INSTANTIATE_TEST_SUITE_P(Phases, EverySystem, testing::ValuesIn(systems()),
                         [](const auto& of) { return std::to_string(of.index); });

// Without its scenario a phase that differs would be costed as the run's own step.
TEST(PhasesThatDiffer, AreNotCostedWithoutTheirScenarios) {
  Scenario scenario =
      shipped("llama3-70b-h100-512.json", {R"(run.phases=[{"steps":9},{"steps":9,"global_batch":256}])"});
  const PredictedStep step{Seconds(1), Watts(500)};
  EXPECT_NO_THROW(run_phases(lower(scenario), step));
  scenario.phases.clear();
  EXPECT_THROW(run_phases(lower(scenario), step), std::logic_error);
}

// Rounds of one step send a model as often as they compute one.
TEST(PhasesOfLocalSteps, PayForTheExchangesThatTheyHave) {
  const char* diloco = "systems/local-sgd-diloco.json";
  const std::vector<PhaseOutlook> phases =
      phases_of(diloco, R"([{"tokens":1e9,"set":["strategy.local_steps=1"]},{"tokens":1e9}])");
  const Seconds direct = predict_analytic(shipped(diloco, {"strategy.local_steps=1"}), catalog()).step_time;
  EXPECT_NEAR(phases[0].time / phases[0].steps / direct, 1, 1e-9);
  EXPECT_GT(phases[0].time, 2 * phases[1].time);
}

const char* const kActors = "systems/rl-actors-learners.json";

// Nodes that help draw as long as a phase lasts; what is lost to failures comes on top.
TEST(PhasesOfActors, DrawWhatTheRunDraws) {
  const Prediction p = predict_analytic(
      shipped(kActors, {"run.reliability.rate_factor=0", "run.checkpoint.kind=none",
                        R"(run.phases=[{"steps":100},{"steps":100,"set":["strategy.actors.nodes=60"]}])"}),
      catalog());
  Joules sum;
  for (const PhaseOutlook& phase : p.outlook->phases) sum += phase.energy;
  EXPECT_NEAR(sum / p.outlook->run->energy, 1, 1e-9);
}

// Ten times the actors wait for their learners: what they idle is theirs, not that of the run's own step.
TEST(PhasesOfActors, IdleAsAScenarioOfTheirOwnWould) {
  const std::vector<std::string> calm{"run.reliability.rate_factor=0", "run.checkpoint.kind=none"};
  const auto energy = [&](std::vector<std::string> terms) {
    terms.insert(terms.end(), calm.begin(), calm.end());
    return predict_analytic(shipped(kActors, terms), catalog()).outlook->run->energy;
  };
  const Joules phased = energy({R"(run.phases=[{"steps":200,"set":["strategy.actors.nodes=60"]}])"});
  const Joules whole = energy({"strategy.actors.nodes=60", R"(run.phases=[{"steps":200}])"});
  EXPECT_NEAR(phased / whole, 1, 1e-6);
}

TEST(PhasesOfActors, CountTheHoursOfTheirDevices) {
  const auto hours = [](const char* terms) {
    return predict_analytic(shipped(kActors, {"run.reliability.rate_factor=0", "run.checkpoint.kind=none", terms}),
                            catalog())
        .outlook->run.value();
  };
  const RunTotals six = hours("strategy.actors.nodes=6");
  EXPECT_NEAR(six.device_hours / six.time.in(1_h), (2 + 6) * 8, 1e-6);
}

const char* const kGpt3 = "gpt3-175b-a100-1024.json";

// A hundred steps are a hundred steps, whatever their batches.
TEST(PhaseRamps, StatedInStepsTakeThatMany) {
  const auto ramp = [](const char* amount) {
    return phases_of(kGpt3, fmt::format(R"([{{{},"global_batch":768,"global_batch_end":3072}}])", amount)).front();
  };
  const PhaseOutlook stated = ramp(R"("steps":100)");
  EXPECT_NEAR(stated.steps, 100, 1e-9);
  EXPECT_NEAR(stated.samples, 100 * (3072 - 768) / std::log(3072.0 / 768), 1e-6);
  EXPECT_NEAR(ramp(fmt::format(R"("samples":{})", stated.samples).c_str()).steps, 100, 1e-6);
}

// A phase that says how long it lasts trains as many steps as it has time for.
TEST(PhasesOfStatedTime, TrainForSoLong) {
  const Seconds step = predict_analytic(shipped(kGpt3), catalog()).step_time;
  const std::vector<PhaseOutlook> phases =
      phases_of(kGpt3, fmt::format(R"([{{"time_s":{}}},{{"time_s":1e6,"global_batch":768,"global_batch_end":1536}}])",
                                   (40.5 * step).value()));
  EXPECT_EQ(phases[0].steps, 40);
  EXPECT_GT(phases[0].tokens, 0);
  EXPECT_NEAR(phases[0].time / step, 40.5, 1e-9);
  EXPECT_GT(phases[1].steps, 0);
  EXPECT_NEAR(phases[1].time.value(), 1e6, 1e-3);
}

// Samples of small batches are worth more, where the workload says at which batch they were counted.
TEST(PhasesOfOtherBatches, AreWorthWhatTheCriticalBatchSays) {
  const std::vector<std::string> stated{"workload.tokens=300e9", "workload.critical_batch=1536",
                                        "workload.stated_at_batch=1536"};
  const auto tokens = [&](const char* first) {
    return phases_of(kGpt3, fmt::format(R"([{{"tokens":100e9,{}}},{{"name":"rest"}}])", first), stated)[1].tokens;
  };
  // (1 + 768 / 1536) / 2 of the samples do as much: 100e9 are worth 133e9.
  EXPECT_NEAR(tokens(R"("global_batch":768)") / 1e9, 300 - 100 / 0.75, 0.01);
  EXPECT_NEAR(tokens(R"("global_batch":1536)") / 1e9, 200, 0.01);
  const double ramped = std::log(1 / 0.75) / 0.25;
  EXPECT_NEAR(tokens(R"("global_batch":768,"global_batch_end":1536)") / 1e9, 300 - 100 * ramped, 0.01);
}

std::string faults(const char* scenario, const std::string& phases) {
  try {
    shipped(scenario, {"run.phases=" + phases});
  } catch (const InputError& error) {
    EXPECT_EQ(error.faults().size(), 1U) << error.what();
    return error.what();
  }
  return "none";
}

TEST(PhaseFaults, PointToWhatThePhaseSays) {
  using testing::HasSubstr;
  const char* resnet = "resnet50-v100-8nodes.json";
  for (const char* kind : {"train", "evaluation"})
    EXPECT_THAT(faults(resnet, fmt::format(R"([{{"steps":9}},{{"kind":"{}","tokens":1e6}}])", kind)),
                HasSubstr("/run/phases/1/tokens: "));
  EXPECT_THAT(faults(kGpt3, R"([{"steps":9,"global_batch":7}])"), HasSubstr("/run/phases/0/global_batch: "));
  EXPECT_THAT(faults(kGpt3, R"([{"steps":9,"global_batch_end":7}])"), HasSubstr("/run/phases/0/global_batch_end: "));
  EXPECT_THAT(faults(kGpt3, R"([{"steps":9,"set":["strategy.micro_batch=1","cluster.nodes=0"]}])"),
              HasSubstr("/run/phases/0/set/1: "));
}

}  // namespace
}  // namespace stepcast::run_phases_test
