// Options that take a number say what was found and what they expect, whatever else they are given.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fields/streamed_file.hpp"
#include "tests/e2e/process.hpp"

namespace stepcast::number_options_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Command {
  std::vector<std::string> words;  ///< all but the option and its value
  std::string option;
};

const std::vector<std::string> kCollective{"collective", "--op", "all_reduce", "--sizes", "1K",
                                           "--ranks",    "8",    "--cluster",  "dgx-h100"};

std::vector<Command> whole_numbers() {
  const std::string scenario = scenario_file("bert-large-16nodes");
  return {
      {{"run", "--model", "gpt2", "--node", "dgx-h100"}, "--nodes"},
      {{"fabric", "show", "--node", "dgx-h100"}, "--nodes"},
      {kCollective, "--nodes"},
      {kCollective, "--seed"},
      {{"scale", scenario, "--nodes", "1,2"}, "--jobs"},
      {{"plan", scenario_file("plan-llama3-8b-deadline")}, "--top"},
      {{"goodput", scenario}, "--jobs"},
      {{"sweep", scenario, "--set", "workload.global_batch=16,32", "--random", "1"}, "--seed"},
      {{"sweep", scenario, "--set", "workload.global_batch=16,32"}, "--random"},
      {{"check", scenario, "--measured", scenario}, "--warmup"},
      {{"compare", scenario, scenario}, "--step"},
  };
}

void expect_refused(const Command& command, const std::string& value, const char* expected) {
  std::vector<std::string> words = command.words;
  words.push_back(command.option);
  words.push_back(value);
  const Finished run = stepcast_run(words);
  SCOPED_TRACE(fmt::format("{}: {}", fmt::join(words, " "), run.err));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err,
              StartsWith(fmt::format("stepcast: {}: found \"{}\", expected {}", command.option, value, expected)));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1);
}

TEST(NumberOptions, WholeOnesTakeNothingElse) {
  for (const Command& command : whole_numbers())
    for (const char* value : {"2.5", "-1", "", "many", "1e400", "8 nodes"})
      expect_refused(command, value, "a whole number from ");
}

TEST(NumberOptions, OthersTakeNumbersWithinTheirBounds) {
  const std::vector<Command> commands{{kCollective, "--oversubscription"},
                                      {{"fabric", "show", "--node", "dgx-h100"}, "--oversubscription"},
                                      {kCollective, "--jitter"}};
  for (const Command& command : commands)
    for (const char* value : {"-1", "", "many", "1e400", "nan", "inf", "2:1"})
      expect_refused(command, value, "a number from ");
}

TEST(NumberOptions, ListsOfNodesSayWhatTheyExpect) {
  for (const char* value : {"2.5", "-1", "", "many", "1e400"}) {
    const Finished run = stepcast_run({"scale", scenario_file("bert-large-16nodes"), "--nodes", value});
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, HasSubstr(fmt::format("--nodes: found \"{}\", expected a whole number", value)));
  }
}

// What is written takes no place of what is read.
TEST(Run, OverwritesNothingThatItReads) {
  const ScratchFolder folder;
  const std::string file = (folder / "my.json").string(), text = read_text(scenario_file("bert-large-16nodes"));
  write_file(file, text);
  for (const char* option : {"--write-scenario", "--trace", "--html", "--prometheus", "--export-graph"}) {
    const Finished run = stepcast_run({"run", file, option, file});
    EXPECT_EQ(run.code, 2) << option;
    EXPECT_THAT(run.err, HasSubstr(fmt::format("{}: would overwrite {}, which is read", option, file)));
    EXPECT_EQ(read_text(file), text) << option;
  }
}

}  // namespace
}  // namespace stepcast::number_options_test
