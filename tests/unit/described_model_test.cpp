#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/scenario/scenario.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::described_model_test {
namespace {

using test::catalog;
using testing::HasSubstr;

// A described model's usual length is asked for only where the workload states none.
TEST(DescribedModel, TheWorkloadMayStateItsLength) {
  Json scenario = Json::parse(R"({"format_version": 1, "cluster": {"node": "dgx-h100", "nodes": 1},
    "workload": {"model": {"id": "mine", "family": "decoder", "transformer": {"layers": 12, "hidden": 1024,
      "ffn_hidden": 4096, "heads": 16, "vocab": 32000}}, "global_batch": 64, "seq_len": 2048},
    "strategy": {"framework": "megatron-lm", "micro_batch": 1}})");
  EXPECT_EQ(resolve(scenario, "s.json", {}, catalog()).seq_len, 2048);
  scenario["workload"].erase("seq_len");
  try {
    (void)resolve(scenario, "s.json", {}, catalog());
    ADD_FAILURE() << "a length was made up";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("or workload.seq_len beside the model"));
  }
}

}  // namespace
}  // namespace stepcast::described_model_test
