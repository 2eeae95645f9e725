#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

// Rounds of one step send a model as often as they compute one.
TEST(PhasesOfLocalSteps, PayForTheExchangesThatTheyHave) {
  const char* diloco = "systems/local-sgd-diloco.json";
  const std::vector<PhaseOutlook> phases =
      phases_of(diloco, R"([{"tokens":1e9,"set":["strategy.local_steps=1"]},{"tokens":1e9}])");
  const Seconds direct = predict_analytic(shipped(diloco, {"strategy.local_steps=1"}), catalog()).step_time;
  EXPECT_NEAR(phases[0].time / phases[0].steps / direct, 1, 1e-9);
  EXPECT_GT(phases[0].time, 2 * phases[1].time);
}

}  // namespace
}  // namespace stepcast::run_phases_test
