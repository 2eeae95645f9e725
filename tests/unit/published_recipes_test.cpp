#include <gtest/gtest.h>

#include "calibration/validation/column_sets.hpp"
#include "calibration/validation/csv_table.hpp"

// Published runs of models of which tables state neither the shape nor the recipe: DeepSeek-V4, Nemotron 3 Ultra.
namespace stepcast::published_recipes_test {
namespace {

constexpr const char* kColumns =
    "source,model,layers,hidden,ffn_hidden,heads,kv_heads,vocab,experts,top_k,params_B,seq_len,accelerator_id,gpus,"
    "gpus_per_node,network,framework,precision,tp,pp,vpp,cp,ep,dp,zero_or_fsdp,micro_batch,global_batch,recompute,"
    "tokens_per_s_per_gpu,tflops_per_gpu,flop_convention,mfu,step_time_s,peak_memory_GiB,notes\n";

MeasuredRun run_of(const std::string& row) {
  return read_runs(parse_csv(kColumns + row + "\n", "rows.csv"), "rows").runs.front();
}

const char* kFlash =
    "\"NVIDIA Megatron-Bridge performance summary, NeMo 26.08\",deepseek-v4-flash,,,,,,,,,,4096,gb300,128,4,"
    "\"NVL72, 4 GPUs per host\",Megatron-Bridge (Megatron-Core),mxfp8,1,1,,1,64,128,,1,2048,,8224,748,,,,,";

// One block of prediction, tokens dispatched once, whole iterations captured; exchanges wait, and attention is in 16
// bit.
TEST(PublishedRecipes, TheRecipeFillsIn) {
  const MeasuredRun run = run_of(kFlash);
  ASSERT_EQ(run.refusal, "");
  const Json& shape = run.scenario.at("workload").at("model").at("transformer");
  EXPECT_EQ(shape.at("layers"), 43);
  EXPECT_EQ(shape.at("mtp_layers"), 1);
  const Json& strategy = run.scenario.at("strategy");
  EXPECT_EQ(strategy.at("framework"), "megatron-bridge-26.06-graphs");
  EXPECT_EQ(strategy.at("expert_dispatch"), "deepep");
  EXPECT_FALSE(strategy.contains("overlap_expert_parallel"));
  EXPECT_FALSE(run.open.narrow_attention);
}

// What rows say of their kernels counts: a column of attention's, fused ones and the dispatch in the notes.
TEST(PublishedRecipes, RowsNameTheirKernels) {
  const auto with = [](const std::string& attention, const std::string& notes) {
    const std::string row =
        "a page,llama2-7b,32,4096,11008,32,32,32000,,,6.74,4096,a100-sxm-40gb,8,8,,Megatron-DeepSpeed,bf16,4,1,,1,,2,"
        "ZeRO-1,1,64,none,2868,,,,,," +
        notes + "," + attention + "\n";
    std::string columns = kColumns;
    columns.insert(columns.size() - 1, ",attention");
    return read_runs(parse_csv(columns + row, "rows.csv"), "rows").runs.front();
  };
  const Json named = with("Flash Attention 2", "fused norm; fused loss").scenario.at("strategy");
  EXPECT_EQ(named.at("attention_kernel"), "flash-2");
  EXPECT_EQ(named.at("fused_norm"), true);
  EXPECT_EQ(named.at("fused_loss"), true);
  EXPECT_FALSE(named.contains("fused_rotary"));
  EXPECT_FALSE(with("", "").scenario.at("strategy").contains("attention_kernel"));
  EXPECT_EQ(with("flush-2", "").refusal,
            "attention: found \"flush-2\", expected one of torch, flash, flash-2, triton, flash-3: did you mean "
            "\"flash-2\"?");
}

// Two predictions by one block's weights twice, tokens dispatched once, whole experts, sharded within a rack's 64.
TEST(PublishedRecipes, OfNemotron3Ultra) {
  const MeasuredRun run = run_of(
      "\"NVIDIA Megatron-Bridge performance summary, NeMo 26.08\",nemotron-3-ultra,,,,,,,,,,8192,gb200,256,4,\"NVL72, "
      "4 "
      "GPUs per host\",Megatron-Bridge (Megatron-Core),mxfp8,2,1,,1,64,128,HSDP 64,1,256,,2549,918,,,,,");
  ASSERT_EQ(run.refusal, "");
  const Json& shape = run.scenario.at("workload").at("model").at("transformer");
  EXPECT_EQ(shape.at("layers"), 108);
  EXPECT_EQ(shape.at("mtp_layers"), 2);
  const Json& strategy = run.scenario.at("strategy");
  EXPECT_EQ(strategy.at("expert_dispatch"), "deepep");
  EXPECT_EQ(strategy.at("expert_tensor_parallel"), 1);
  EXPECT_EQ(strategy.at("sharding"), "hsdp");
}

// A proxy has the first layers of its model, with what is said of each.
TEST(PublishedRecipes, AProxyHasTheFirstLayers) {
  const MeasuredRun run = run_of(
      "AMD,deepseek-v4-flash,,,,,,,,,,4096,mi355x,8,8,one node,Primus (Megatron-LM on ROCm),,1,1,,1,8,8,distributed "
      "optimizer,1,64,full,4917,,,,,,16-layer proxy of the flash model");
  ASSERT_EQ(run.refusal, "");
  const Json& shape = run.scenario.at("workload").at("model").at("transformer");
  EXPECT_EQ(shape.at("layers"), 16);
  EXPECT_EQ(shape.at("compressed_attention").at("ratios"),
            Json({0, 0, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128}));
}

}  // namespace
}  // namespace stepcast::published_recipes_test
