#include "calibration/validation/never_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "calibration/validation/column_sets.hpp"
#include "calibration/validation/data_sets.hpp"

namespace stepcast::never_fit_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(NeverFit, RulesNameSourcesModelsAndSizes) {
  const NeverFit rules = NeverFit::parse("# why\n\nsource Llama 3 report\nmodel bloom\r\ngpus >= 100\n", "rules.txt");
  EXPECT_TRUE(rules.holds("the llama 3 REPORT (arXiv)", "", 8));
  EXPECT_TRUE(rules.holds("", "BLOOM-176b", 8));
  EXPECT_TRUE(rules.holds("", "", 100));
  EXPECT_FALSE(rules.holds("Llama 2 report", "gpt3-175b", 99));
}

TEST(NeverFit, LinesThatAreNoRuleAreFaults) {
  try {
    NeverFit::parse("gpus > 12\nsource\n model a\nwhat\n", "rules.txt");
    FAIL() << "no fault";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("rules.txt:1: found \"gpus > 12\""));
    EXPECT_THAT(error.what(), HasSubstr("rules.txt:2:"));
    EXPECT_THAT(error.what(), Not(HasSubstr("rules.txt:3:")));
    EXPECT_THAT(error.what(), HasSubstr("rules.txt:4:"));
  }
}

TEST(NeverFit, ShippedRulesHoldForWhatIsPromised) {
  const NeverFit& rules = NeverFit::shipped();
  EXPECT_TRUE(rules.holds("Llama 3 report (arXiv 2407.21783) Table 4", "llama3.1-405b", 8192));
  EXPECT_TRUE(rules.holds("MegaScale (arXiv 2402.15627) Table 2", "gpt3-175b", 256));
  EXPECT_TRUE(rules.holds("BigScience chronicles", "bloom-176b", 384));
  EXPECT_TRUE(rules.holds("NVIDIA Megatron-Bridge verification card qwen3-8b, NeMo 26.06", "qwen3-8b", 16));
  EXPECT_FALSE(rules.holds("NVIDIA Megatron-Bridge performance summary, NeMo 26.06", "qwen3-30b-a3b", 16));
  EXPECT_TRUE(rules.holds("anyone", "anything", 12288));
  for (const char* network : {"vnet", "unet-industrial", "fastpitch", "hifi-gan", "waveglow", "tft"})
    EXPECT_TRUE(rules.holds("NVIDIA/DeepLearningExamples", network, 1)) << network;
  EXPECT_FALSE(rules.holds("MLPerf Training v4.0 logs (gpt3)", "gpt3-175b", 11616));
}

TEST(NeverFit, RowsForFitsLackExactlyThoseRows) {
  std::size_t left_out = 0;
  for (const std::string& name : run_set_names()) {
    const RunSet fit = runs_to_fit(run_set_file(name), name);
    for (const MeasuredRun& run : fit.runs) EXPECT_FALSE(NeverFit::shipped().holds(run)) << name << " " << run.id;
    const RunSet all = read_runs(read_csv(run_set_file(name)), name);
    std::size_t named = 0;
    for (const MeasuredRun& run : all.runs) named += NeverFit::shipped().holds(run) ? 1 : 0;
    EXPECT_EQ(fit.runs.size() + named, all.runs.size()) << name;
    EXPECT_EQ(runs_never_fit(run_set_file(name), name).runs.size(), named) << name;
    left_out += named;
  }
  EXPECT_GE(left_out, 3u);  // the Llama 3 report's, at least
}

TEST(NeverFit, NoFitReadsARowOfSetsThatOnlyCheck) {
  for (const char* set : {"bridge-cards", "public-runs"}) {
    EXPECT_TRUE(runs_to_fit(run_set_file(set), set).runs.empty()) << set;
    EXPECT_FALSE(read_runs(read_csv(run_set_file(set)), set).runs.empty()) << set;
  }
}

/// Programs that fit constants get training runs from runs_to_fit alone.
TEST(NeverFit, FitsReadTrainingRunsInNoOtherWay) {
  bool fits_runs = false;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(STEPCAST_SOURCE_DIR "/calibration/fit")) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    EXPECT_THAT(text.str(), Not(HasSubstr("read_runs("))) << entry.path();
    fits_runs = fits_runs || text.str().find("runs_to_fit(") != std::string::npos;
  }
  EXPECT_TRUE(fits_runs);
}

}  // namespace
}  // namespace stepcast::never_fit_test
