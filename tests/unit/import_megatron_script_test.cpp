#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "calibration/importers/models/imported_scenario.hpp"
#include "calibration/importers/models/shell_arithmetic.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/operators.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::import_megatron_script_test {
namespace {

using test::catalog;
using testing::HasSubstr;

constexpr const char* kSmall =
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 "
    "--micro-batch-size 1 --global-batch-size 64 --bf16 ";

ImportedScenario of(const std::string& script, const ImportTarget& target = {}) {
  static const ScratchFolder folder;
  const std::filesystem::path file = folder / "train.sh";
  std::ofstream(file) << script;
  return import_megatron(file, target, catalog());
}

std::string faults_of(const std::string& script) {
  try {
    of(script);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(MegatronScript, DefaultsOfVariablesLoseTheirQuotes) {
  const Json batch = of("B=${BATCH:-\"128\"}\nNNODES=${SLURM_NNODES:-'2'}\n" + std::string(kSmall) +
                        "--vocab-size 32000 --global-batch-size $B")
                         .scenario;
  EXPECT_EQ(batch["workload"]["global_batch"], 128);
  EXPECT_EQ(batch["cluster"]["nodes"], 2);
}

TEST(MegatronScript, ArithmeticIsDone) {
  const Json scenario =
      of("TP=2\nPP=\"4\"\nREPLICAS=$(( 8 / (TP * ${PP}) ))\nGBS=$((REPLICAS*32))\n" + std::string(kSmall) +
         "--vocab-size 32000 --tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP} "
         "--global-batch-size $GBS")
          .scenario;
  EXPECT_EQ(scenario["workload"]["global_batch"], 32);
  EXPECT_THAT(faults_of("A=$((A+1))\n" + std::string(kSmall) + "--vocab-size $A"), HasSubstr("--vocab-size"));
}

// Megatron-FSDP cuts what it says that it cuts, and without a flag nothing is cut.
TEST(MegatronScript, ShardingIsThatOfItsFlags) {
  const auto sharding = [](const std::string& flags) {
    return of(std::string(kSmall) + "--vocab-size 32000 " + flags).scenario["strategy"].value("sharding", "");
  };
  EXPECT_EQ(sharding(""), "none");
  EXPECT_EQ(sharding("--use-distributed-optimizer"), "zero-1");
  const std::string fsdp = "--use-distributed-optimizer --use-megatron-fsdp --data-parallel-sharding-strategy ";
  EXPECT_EQ(sharding(fsdp + "optim"), "zero-1");
  EXPECT_EQ(sharding(fsdp + "optim_grads"), "zero-2");
  EXPECT_EQ(sharding(fsdp + "optim_grads_params"), "fsdp");
  EXPECT_EQ(sharding(fsdp + "optim_grads_params --num-distributed-optimizer-instances 2"), "hsdp");
  EXPECT_THAT(faults_of(std::string(kSmall) + "--vocab-size 32000 " + fsdp + "gradients"),
              HasSubstr("optim_grads_params"));
}

TEST(ShellArithmetic, FollowsTheShell) {
  const auto value = [](const char* text) {
    return shell_arithmetic(text, [](const std::string& name) { return name == "N" ? "8" : ""; });
  };
  EXPECT_EQ(value("1 + 2 * N"), 17);
  EXPECT_EQ(value("(1+2)*N % 5"), 4);
  EXPECT_EQ(value("20 / 3 - 1"), 5);
  for (const char* none : {"", "1 +", "N / 0", "M", "(1", "2000000000*2000000000*4", "1 2", "a=b"})
    EXPECT_EQ(value(none), std::nullopt) << none;
}

TEST(MegatronScript, ProgramsBringTheirTokenizer) {
  const ImportedScenario gpt = of("torchrun pretrain_gpt.py " + std::string(kSmall));
  EXPECT_EQ(gpt.scenario["workload"]["model"]["transformer"]["vocab"], 50304);  // 50257 up to a multiple of 128
  EXPECT_THAT(gpt.notes, testing::Contains(HasSubstr("GPT2BPETokenizer, which pretrain_gpt.py uses")));
  const Json bert = of("torchrun pretrain_bert.py " + std::string(kSmall)).scenario["workload"]["model"];
  EXPECT_EQ(bert["transformer"]["vocab"], 30592);
  EXPECT_EQ(bert["family"], "encoder");
  EXPECT_EQ(bert["transformer"]["token_types"], 2);
  EXPECT_THAT(faults_of("torchrun pretrain_gpt.py --tokenizer-type HuggingFaceTokenizer " + std::string(kSmall)),
              HasSubstr("missing: --vocab-size"));
}

// examples/gpt3/train_gpt3_175b_distributed.sh: NUM_NODES=1 beside 8 × 16.
TEST(MegatronScript, NodesTooFewForTheDegreesAreNoted) {
  const std::string script =
      "NUM_NODES=1\n--num-layers 16 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 "
      "--vocab-size 32000 " +
      std::string(kSmall) + "--num-layers 16 --nnodes $NUM_NODES";
  const ImportedScenario out = of(script);
  EXPECT_EQ(out.scenario["cluster"]["nodes"], 16);
  EXPECT_THAT(out.notes, testing::Contains(HasSubstr("which need 128 devices")));
}

TEST(MegatronScript, EndsOfAPipelineMayHaveOtherLayers) {
  const auto stages = [](const std::string& options) {
    return of("--vocab-size 32000 --pipeline-model-parallel-size 4 " + std::string(kSmall) + options)
        .scenario["strategy"];
  };
  EXPECT_EQ(stages("--decoder-first-pipeline-num-layers 1 --decoder-last-pipeline-num-layers 3")["stage_layers"],
            Json({1, 2, 2, 3}));
  EXPECT_EQ(stages("--num-layers 7 --decoder-first-pipeline-num-layers 1")["stage_layers"], Json({1, 2, 2, 2}));
  EXPECT_EQ(stages("--num-layers 14 --num-virtual-stages-per-pipeline-rank 2 --account-for-embedding-in-pipeline-split "
                   "--account-for-loss-in-pipeline-split")["stage_layers"],
            Json({1, 2, 2, 2, 2, 2, 2, 1}));
  EXPECT_THAT(faults_of("--vocab-size 32000 --pipeline-model-parallel-size 4 " + std::string(kSmall) +
                        "--decoder-first-pipeline-num-layers 1"),
              HasSubstr("7 layers left for 3 stages"));
}

TEST(MegatronScript, ALayoutNamesTheLayersOfEachChunk) {
  const Json strategy = of("--vocab-size 32000 --pipeline-model-parallel-size 4 " + std::string(kSmall) +
                           "--num-layers 11 --pipeline-model-parallel-layout \"Et*2|(tt|)*4,(t|)*1|L\"")
                            .scenario["strategy"];
  EXPECT_EQ(strategy["stage_layers"], Json({2, 2, 2, 2, 2, 1, 0, 0}));
  EXPECT_EQ(strategy["virtual_pipeline"], 2);
  EXPECT_THAT(faults_of("--vocab-size 32000 --pipeline-model-parallel-size 4 " + std::string(kSmall) +
                        "--pipeline-model-parallel-layout \"Etx|L\""),
              HasSubstr("\"Etx|L\""));
}

}  // namespace
}  // namespace stepcast::import_megatron_script_test
