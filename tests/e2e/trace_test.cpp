#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/e2e/process.hpp"

namespace stepcast::trace_test {
namespace {

using Thread = std::pair<int, int>;

class Trace : public testing::TestWithParam<std::string> {
 protected:
  /// The trace of a scenario made small enough to hold in memory as JSON.
  static Json events() {
    const ScratchFolder folder;
    const std::string file = (folder / "trace.json").string();
    std::vector<std::string> arguments{"run", scenario_file(GetParam()), "--trace", file};
    if (GetParam() == "gpt3-175b-a100-1024") arguments.insert(arguments.end(), {"--set", "workload.global_batch=128"});
    const Finished run = stepcast_run(arguments);
    if (run.code != 0) throw std::runtime_error(run.err);
    return Json::parse(read_text(file))["traceEvents"];
  }
};

TEST_P(Trace, OpensInPerfetto) {
  const Json all = events();
  std::map<Thread, double> free_from;
  std::map<long, int> arrows;
  std::map<long, double> left_at;
  std::set<Thread> named;
  std::set<int> processes;
  std::set<std::string> counters;
  for (const Json& event : all) {
    const std::string kind = event["ph"];
    const int process = event["pid"];
    if (kind == "M") {
      if (event["name"] == "process_name") processes.insert(process);
      if (event["name"] == "thread_name") named.insert({process, event["tid"].get<int>()});
      continue;
    }
    EXPECT_TRUE(processes.count(process));
    const double time = event["ts"];
    EXPECT_GE(time, 0);
    if (kind == "C") {
      counters.insert(event["name"]);
      continue;
    }
    const Thread thread{process, event["tid"].get<int>()};
    EXPECT_TRUE(named.count(thread));
    if (kind == "X") {
      EXPECT_GE(event["dur"].get<double>(), 0);
      // Stamps are whole nanoseconds, written in microseconds.
      EXPECT_GE(time, free_from[thread] - 1e-4) << event.dump();
      free_from[thread] = std::max(free_from[thread], time + event["dur"].get<double>());
    } else if (kind == "s") {
      ++arrows[event["id"]];
      left_at[event["id"]] = time;
    } else {
      ASSERT_EQ(kind, "f");
      arrows[event["id"]] += 100;
      EXPECT_GE(time, left_at[event["id"]]);
    }
  }
  for (const auto& [id, ends] : arrows) EXPECT_EQ(ends, 101) << "arrow " << id;
  EXPECT_TRUE(counters.count("power"));
  EXPECT_FALSE(free_from.empty());
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Trace,
                         testing::Values("gpt3-175b-a100-1024", "resnet50-v100-8nodes", "bert-large-16nodes",
                                         "workstation-single-gpu"),
                         [](const auto& test) { return test_name_of(test.param); });

}  // namespace
}  // namespace stepcast::trace_test
