#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/process.hpp"

namespace stepcast::scale_test {
namespace {

using testing::HasSubstr;

std::vector<std::string> study(std::initializer_list<std::string> more) {
  std::vector<std::string> out{"scale", scenario_file("resnet50-v100-8nodes"), "--nodes", "1,2,4..16"};
  out.insert(out.end(), more);
  return out;
}

TEST(Scale, SaysThroughputEfficiencyAndWhatLimitsAtEverySize) {
  const Finished run = stepcast_run(study({"--weak", "--json"}));
  ASSERT_EQ(run.code, 0) << run.err;
  const Json json = run.json();
  ASSERT_EQ(json["rows"].size(), 5u);
  double before = 0;
  for (const Json& row : json["rows"]) {
    EXPECT_TRUE(row["legal"]);
    EXPECT_GT(row["samples_per_s"].get<double>(), before);
    EXPECT_GT(row["efficiency"].get<double>(), 0);
    EXPECT_LE(row["efficiency"].get<double>(), 1.0001);
    for (const char* key : {"communication_share", "limited_by", "global_batch", "devices", "marginal_efficiency"})
      EXPECT_TRUE(row.contains(key)) << key;
    before = row["samples_per_s"];
  }
  EXPECT_EQ(json["rows"][4]["global_batch"].get<long>(), 16 * json["rows"][0]["global_batch"].get<long>());
}

TEST(Scale, KeepsTheBatchUnderStrongScaling) {
  const Json json = stepcast_run(study({"--strong", "--json"})).json();
  for (const Json& row : json["rows"]) {
    EXPECT_TRUE(row["legal"]);
    EXPECT_EQ(row["global_batch"], json["rows"][4]["global_batch"]);
  }
}

TEST(Scale, GivesTheSameBytesWhateverTheNumberOfWorkers) {
  const std::string one = stepcast_run(study({"--json", "--jobs", "1"})).out;
  EXPECT_EQ(one, stepcast_run(study({"--json", "--jobs", "4"})).out);
  EXPECT_EQ(one, stepcast_run(study({"--json"})).out);
}

TEST(Scale, KeepsIllegalSizesAsRowsWithTheirReason) {
  // 8 × 16 = 128 devices make one replica of this model: 24 nodes are 192 devices, which that does not divide.
  const Finished run = stepcast_run(
      {"scale", scenario_file("gpt3-175b-a100-1024"), "--nodes", "16,24,32", "--fidelity", "analytic", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const Json rows = run.json()["rows"];
  EXPECT_TRUE(rows[0]["legal"]);
  EXPECT_FALSE(rows[1]["legal"]);
  EXPECT_FALSE(rows[1]["faults"].empty());
  EXPECT_TRUE(rows[2]["legal"]);
}

TEST(Scale, StatedDataParallelismFollowsTheSize) {
  const auto rows_with = [](std::initializer_list<std::string> more) {
    std::vector<std::string> words{
        "scale", scenario_file("gpt3-175b-a100-1024"), "--nodes", "64,128", "--fidelity", "analytic", "--json"};
    words.insert(words.end(), more);
    const Finished run = stepcast_run(words);
    EXPECT_EQ(run.code, 0) << run.err;
    return run.json()["rows"];
  };
  EXPECT_EQ(rows_with({"--set", "strategy.data_parallel=8"}), rows_with({}));
}

TEST(Scale, WritesTableCsvAndDrawing) {
  const ScratchFolder folder;
  const std::string drawing = (folder / "scaling.svg").string();
  const Finished table = stepcast_run(study({"--svg", drawing}));
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("Adding nodes"));
  EXPECT_THAT(read_text(drawing), testing::StartsWith("<svg "));
  const Finished csv = stepcast_run(study({"--csv"}));
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 6);
}

}  // namespace
}  // namespace stepcast::scale_test
