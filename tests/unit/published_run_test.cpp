#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/validation/column_sets.hpp"
#include "calibration/validation/csv_table.hpp"
#include "calibration/validation/machines.hpp"
#include "calibration/validation/model_shapes.hpp"
#include "calibration/validation/settle.hpp"
#include "models/scenario/draft.hpp"
#include "tests/shipped_catalog.hpp"

// How rows of published runs become scenarios: texts of networks, shardings, formats and recomputation, and what rows
// leave out.
namespace stepcast::published_run_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A row that states everything, with some cells changed.
struct Row {
  std::map<std::string, std::string> cells{{"model", "llama3-8b"},
                                           {"layers", "32"},
                                           {"hidden", "4096"},
                                           {"ffn_hidden", "14336"},
                                           {"heads", "32"},
                                           {"kv_heads", "8"},
                                           {"vocab", "128256"},
                                           {"params_B", "8.03"},
                                           {"seq_len", "8192"},
                                           {"gpus", "64"},
                                           {"gpus_per_node", "8"},
                                           {"accelerator_id", "h100-sxm-80gb"},
                                           {"network", "8 x 400 Gb/s InfiniBand per node"},
                                           {"framework", "NeMo (Megatron-Core)"},
                                           {"precision", "bf16"},
                                           {"tp", "2"},
                                           {"pp", "1"},
                                           {"vpp", ""},
                                           {"cp", "1"},
                                           {"ep", ""},
                                           {"dp", ""},
                                           {"source", ""},
                                           {"zero_or_fsdp", "distributed optimizer"},
                                           {"micro_batch", "1"},
                                           {"global_batch", "128"},
                                           {"recompute", "none"},
                                           {"experts", ""},
                                           {"top_k", ""},
                                           {"flop_convention", ""},
                                           {"mfu", ""},
                                           {"tflops_per_gpu", ""},
                                           {"tokens_per_s_per_gpu", "9000"},
                                           {"step_time_s", ""},
                                           {"peak_memory_GiB", ""},
                                           {"notes", ""}};
  Row& set(const std::string& column, const std::string& text) {
    cells[column] = text;
    return *this;
  }
};

std::vector<MeasuredRun> runs_of(const std::vector<Row>& rows) {
  std::string text;
  for (const auto& [column, cell] : rows.front().cells) text += (text.empty() ? "" : ",") + column;
  for (const Row& row : rows) {
    std::string line;
    for (const auto& [column, cell] : row.cells) line += (line.empty() ? "" : ",") + ("\"" + cell + "\"");
    text += "\n" + line;
  }
  return read_runs(parse_csv(text + "\n", "rows.csv"), "rows").runs;
}

MeasuredRun run_of(const Row& row) { return runs_of({row}).front(); }

Scenario resolved(const Row& row) { return resolve(run_of(row).scenario, "row", {}, test::catalog()); }
Json strategy_of(const Row& row) { return run_of(row).scenario.at("strategy"); }

// The rows of NVIDIA's own recipes: "Et*4|(t*4|)*14tmL" over sixteen chunks, and eight with five on the last.
TEST(BalancedStages, LeaveRoomForPredictionsBehindTheLastLayer) {
  std::vector<int> sixteen(16, 4), eight(8, 8);
  sixteen.back() = 1, eight.back() = 5;
  EXPECT_EQ(balanced_stages(61, 16, 1), sixteen);
  EXPECT_EQ(balanced_stages(61, 8, 1), eight);
  EXPECT_EQ(balanced_stages(126, 16, 0).back(), 7);
  std::vector<int> with_few_layers(32, 2);
  with_few_layers.front() = 1;
  with_few_layers.back() = 0;
  EXPECT_EQ(balanced_stages(61, 32, 1), with_few_layers);
  EXPECT_EQ(balanced_stages(4, 4, 1), (std::vector<int>{1, 1, 2, 0}));
}

TEST(PublishedRun, ModelsSaidToBeWithoutPredictionsHaveNone) {
  const auto predictions = [](const char* notes) {
    const Row row = Row()
                        .set("model", "deepseek-v3")
                        .set("layers", "61")
                        .set("hidden", "7168")
                        .set("experts", "256")
                        .set("top_k", "8")
                        .set("notes", notes);
    return run_of(row).scenario["workload"]["model"]["transformer"].value("mtp_layers", 0);
  };
  EXPECT_EQ(predictions(""), 1);
  EXPECT_EQ(predictions("without MTP"), 0);
}

TEST(PublishedRun, AServerThatNoTableNamesIsTakenFromTheCatalogue) {
  const MeasuredRun run = run_of(Row().set("accelerator_id", "a100-sxm-40gb").set("gpus_per_node", "4"));
  EXPECT_EQ(run.scenario["cluster"]["node"], "hgx-a100-4-40");
}

TEST(PublishedRun, PartsOfASampleAreRefused) {
  EXPECT_THAT(run_of(Row().set("micro_batch", "0.5")).refusal, HasSubstr("0.5 samples"));
}

TEST(PublishedRun, AnOptimizerOnTheHostIsOffloaded) {
  const std::vector<MeasuredRun> runs = runs_of({Row().set("tp", "1").set("zero_or_fsdp", "ZeRO-3, optimizer on CPU"),
                                                 Row().set("tp", "1").set("zero_or_fsdp", "ZeRO-3")});
  EXPECT_EQ(runs[0].scenario["strategy"]["offload_optimizer"], true);
  EXPECT_FALSE(runs[1].scenario["strategy"].contains("offload_optimizer"));
}

TEST(PublishedRun, PickedTokensAreGathered) {
  const Row sparse = Row().set("model", "glm-5").set("tp", "1").set("cp", "2").set("ep", "8");
  EXPECT_EQ(resolved(sparse).context_method, ContextMethod::all_gather);
  EXPECT_EQ(resolved(Row(sparse).set("model", "deepseek-v3")).context_method, ContextMethod::ring);
}

TEST(PublishedRun, MomentsMayBeIn16Bit) {
  EXPECT_EQ(strategy_of(Row().set("notes", "HybridEP; bf16 moments"))["optimizer"], "adam-16bit");
  EXPECT_FALSE(strategy_of(Row()).contains("optimizer"));
}

TEST(PublishedRun, SaysWhichKernelsAreFused) {
  const Row titan = Row().set("framework", "torchtitan (FSDP2)").set("zero_or_fsdp", "FSDP2");
  EXPECT_FALSE(strategy_of(Row(titan).set("notes", "eager")).contains("torch_compile"));
  EXPECT_EQ(strategy_of(Row(titan).set("notes", "torch.compile, async TP"))["torch_compile"], true);
  EXPECT_EQ(strategy_of(titan)["fused_loss"], false);
  EXPECT_EQ(strategy_of(Row(titan).set("framework", "PyTorch FSDP + compile"))["torch_compile"], true);
  const Row deepspeed = Row().set("framework", "DeepSpeed (transformers)").set("tp", "1").set("zero_or_fsdp", "ZeRO-3");
  for (const char* key : {"fused_norm", "fused_rotary", "fused_activation", "fused_loss"}) {
    EXPECT_EQ(strategy_of(Row(deepspeed).set("notes", "Liger kernels; FA3"))[key], true) << key;
    EXPECT_FALSE(strategy_of(Row(deepspeed).set("notes", "no Liger kernels: 99 GiB")).contains(key)) << key;
  }
}

// NVIDIA's MLPerf recipes: in 4 bit, and in 8 under adapters, there with exchanged heads, too; not AMD's.
TEST(PublishedRun, RecipesComputeAttentionInEightBit) {
  const auto settled = [](const Row& row) {
    MeasuredRun run = run_of(row);
    settle(run, test::catalog());
    return run.scenario.at("strategy").value("fp8_dot_product_attention", false);
  };
  const Row fp4 = Row().set("precision", "nvfp4").set("accelerator_id", "b200-sxm-180gb");
  EXPECT_TRUE(settled(fp4));
  EXPECT_FALSE(settled(Row(fp4).set("cp", "2")));
  EXPECT_FALSE(settled(Row().set("precision", "fp8")));
  const Row adapters = Row().set("precision", "fp8").set("notes", "task=lora");
  EXPECT_TRUE(settled(adapters));
  EXPECT_TRUE(settled(Row(adapters).set("tp", "1").set("cp", "2")));
  EXPECT_FALSE(settled(Row(adapters).set("tp", "4").set("cp", "2")));
  EXPECT_FALSE(settled(Row(fp4).set("framework", "PyTorch / NeMo on ROCm")));
}

TEST(PublishedRuns, SayWhatTheyLeaveOut) {
  EXPECT_TRUE(run_of({}).inputs_unstated.empty());
  EXPECT_EQ(run_of({}).framework, "NeMo (Megatron-Core)");
  EXPECT_EQ(run_of({}).gpus, 64);
  const MeasuredRun run = run_of(Row().set("micro_batch", "").set("recompute", "").set("zero_or_fsdp", ""));
  for (const char* input : {"micro_batch", "recompute", "sharding"}) EXPECT_THAT(run.inputs_unstated, Contains(input));
  EXPECT_TRUE(run.open.micro_batch);
}

TEST(PublishedRuns, GoByTheReleaseOfTheSoftware) {
  const auto profile = [](const char* source) {
    return strategy_of(Row().set("framework", "Megatron-Bridge (Megatron-Core)").set("source", source)).at("framework");
  };
  EXPECT_EQ(profile("NVIDIA Megatron-Bridge performance summary, NeMo 26.04.01"), "megatron-bridge");
  EXPECT_EQ(profile("NVIDIA Megatron-Bridge performance summary, NeMo 26.06"), "megatron-bridge-26.06");
  EXPECT_EQ(profile("NVIDIA Megatron-Bridge performance summary, NeMo 26.06.01"), "megatron-bridge-26.06");
  EXPECT_EQ(profile("NVIDIA Megatron-Bridge performance summary"), "megatron-bridge");
}

// Recipes of experts in 8 bit capture whole iterations from 26.06 on, with exchanges beside the other pass.
TEST(PublishedRuns, GoByTheRecipesOfExperts) {
  const Row row = Row()
                      .set("framework", "Megatron-Bridge (Megatron-Core)")
                      .set("source", "NVIDIA Megatron-Bridge performance summary, NeMo 26.06")
                      .set("model", "qwen3-30b-a3b")
                      .set("accelerator_id", "gb300")
                      .set("precision", "mxfp8")
                      .set("experts", "128")
                      .set("top_k", "8")
                      .set("tp", "1")
                      .set("ep", "8");
  const Json strategy = strategy_of(row);
  EXPECT_EQ(strategy.at("framework"), "megatron-bridge-26.06-graphs");
  EXPECT_EQ(strategy.at("overlap_expert_parallel"), true);
  EXPECT_TRUE(run_of(row).open.narrow_attention);
  EXPECT_THAT(run_of(row).inputs_unstated, Contains("overlap_expert_parallel"));
  const auto as_others = [&](const char* column, const char* text) {
    const Json other = strategy_of(Row(row).set(column, text));
    return !other.contains("overlap_expert_parallel") && other.at("framework") != "megatron-bridge-26.06-graphs";
  };
  EXPECT_TRUE(as_others("source", "NVIDIA Megatron-Bridge performance summary, NeMo 26.04.01"));
  EXPECT_TRUE(as_others("precision", "fp8 (per-tensor current scaling)"));
  EXPECT_TRUE(as_others("accelerator_id", "b200-sxm-180gb"));
  EXPECT_TRUE(as_others("model", "kimi-k2"));
  EXPECT_TRUE(as_others("framework", "NeMo (Megatron-Core)"));
}

// NVIDIA's recipes of 26.02 and later, DeepSeek's own program, and rows whose notes say so send a token to a node once.
TEST(PublishedRuns, ExpertDispatchOfTheRecipe) {
  const auto of = [](const char* source, const char* model, const char* accelerator, const char* framework,
                     const char* notes = "") {
    const Row row = Row()
                        .set("framework", framework)
                        .set("source", source)
                        .set("model", model)
                        .set("accelerator_id", accelerator)
                        .set("precision", "bf16")
                        .set("experts", "128")
                        .set("top_k", "8")
                        .set("tp", "1")
                        .set("ep", "8")
                        .set("notes", notes);
    return strategy_of(row).value("expert_dispatch", "");
  };
  const char* bridge = "Megatron-Bridge (Megatron-Core)";
  const char* summary = "NVIDIA Megatron-Bridge performance summary, NeMo ";
  const auto release = [&](const char* number) { return std::string(summary) + number; };
  EXPECT_EQ(of(release("26.04").c_str(), "qwen3-30b-a3b", "gb300", bridge), "deepep");
  EXPECT_EQ(of(release("25.11").c_str(), "qwen3-30b-a3b", "gb300", bridge), "");
  EXPECT_EQ(of(release("26.06").c_str(), "qwen3-235b-a22b", "h100-sxm-80gb", bridge), "");
  EXPECT_EQ(of("a blog", "qwen3-30b-a3b", "h100-sxm-80gb", "Megatron-LM"), "");
  EXPECT_EQ(of("a blog", "qwen3-30b-a3b", "h100-sxm-80gb", "Megatron-LM", "DeepEP, forced balance"), "deepep");
  EXPECT_EQ(of("DeepSeek-V3 report", "qwen3-30b-a3b", "h800-sxm-80gb", "HAI-LLM"), "deepep");
}

TEST(PublishedRun, PyTorchIsReadAsItWasOnTheDay) {
  const Row titan = Row().set("framework", "torchtitan (FSDP2)").set("zero_or_fsdp", "FSDP2");
  const Json of_2024 = strategy_of(titan), summer = strategy_of(Row(titan).set("source", "benchmarks 2025-06"));
  EXPECT_EQ(of_2024["attention_kernel"], "flash-2");
  EXPECT_EQ(summer["attention_kernel"], "flash-2");
  EXPECT_FALSE(summer.contains("fused_loss"));  // compiled with the layers
  EXPECT_FALSE(strategy_of(Row(titan).set("source", "runs of 2026-01")).contains("attention_kernel"));
  EXPECT_EQ(strategy_of(Row(titan).set("notes", "fused loss"))["fused_loss"], true);
  const Row held = Row(titan).set("accelerator_id", "h100-sxm-96gb-hbm2e-500w").set("network", "");
  EXPECT_EQ(run_of(held).scenario["cluster"]["power_cap_W"], 500);
}

TEST(PublishedRuns, AsynchronousTensorParallelism) {
  const Row row = Row().set("framework", "PyTorch torchtitan").set("tp", "8").set("zero_or_fsdp", "FSDP2");
  EXPECT_EQ(strategy_of(Row(row).set("notes", "torch.compile, async TP")).at("overlap_tensor_parallel"), true);
  EXPECT_FALSE(strategy_of(Row(row).set("notes", "torch.compile, plain TP")).contains("overlap_tensor_parallel"));
}

// Recipes put whole experts on tensor ranks, or do not say; where groups would not fit otherwise, they must be whole.
TEST(PublishedRuns, ReadWholeExperts) {
  const Row row = Row()
                      .set("model", "qwen3-30b-a3b")
                      .set("experts", "128")
                      .set("top_k", "8")
                      .set("tp", "2")
                      .set("pp", "1")
                      .set("ep", "8");
  const Json whole = strategy_of(row);
  EXPECT_EQ(whole.at("expert_parallel"), 8);
  EXPECT_EQ(whole.at("expert_tensor_parallel"), 1);
  EXPECT_THAT(run_of(row).inputs_unstated, Contains("expert_tensor_parallel"));
  EXPECT_FALSE(strategy_of(Row(row).set("model", "grok1-314b")).contains("expert_tensor_parallel"));
  EXPECT_EQ(strategy_of(Row(row).set("model", "grok1-314b").set("ep", "64")).at("expert_tensor_parallel"), 1);
  EXPECT_FALSE(strategy_of(Row(row).set("tp", "1")).contains("expert_tensor_parallel"));
}

// Submissions to v5.1 capture whole iterations as graphs, but layers where adapters are trained; from v4.0 on they
// overlap as NeMo does from 25.04 on.
TEST(PublishedRuns, GoByTheRoundOfMlperfOrTheRelease) {
  const auto profile = [](const char* round, const char* notes) {
    return strategy_of(Row().set("source", round).set("notes", notes)).at("framework");
  };
  EXPECT_EQ(profile("MLPerf Training v5.1 logs (llama31_8b)", ""), "nemo-25.09");
  EXPECT_EQ(profile("MLPerf Training v5.1 logs (llama2_70b_lora)", "task=lora"), "nemo-25.04");
  EXPECT_EQ(profile("MLPerf Training v5.0 logs (llama31_405b)", ""), "nemo-25.04");
  EXPECT_EQ(profile("MLPerf Training v3.1 logs (gpt3)", ""), "nemo");
  EXPECT_EQ(profile("NVIDIA NeMo performance summary, 24.07", ""), "nemo");
  EXPECT_EQ(profile("NVIDIA dgxc-benchmarking 25.02-25.03", ""), "nemo");
  EXPECT_EQ(profile("NVIDIA dgxc-benchmarking 25.04.01", ""), "nemo-25.04");
  EXPECT_EQ(profile("NVIDIA NeMo long-sequence performance", "NeMo 25.04.rc2; data parallel 4"), "nemo-25.04");
}

TEST(PublishedRuns, RunOnAsManyGpusAsTheirMappingMultipliesTo) {
  const char* notes = "with context parallelism; data parallel printed as 4, which does not multiply to the GPU count";
  const Row contradicted = Row().set("gpus", "512").set("global_batch", "8").set("tp", "4").set("cp", "8");
  const Row other_line = Row(contradicted).set("seq_len", "4096").set("tp", "").set("pp", "").set("cp", "1");
  const std::vector<MeasuredRun> runs =
      runs_of({Row(contradicted).set("notes", notes), Row(other_line).set("seq_len", "8192"), other_line});
  EXPECT_EQ(runs[0].gpus, 128);  // 4 · 1 · 8 · 4
  EXPECT_EQ(runs[0].scenario["cluster"]["nodes"], 16);
  EXPECT_THAT(runs[0].inputs_unstated, Contains("gpus"));
  EXPECT_EQ(runs[0].doubtful, "");
  EXPECT_EQ(runs[1].gpus, 128);  // the same line of the table without its mapping
  EXPECT_EQ(runs[2].gpus, 512);
}

TEST(PublishedRuns, AdaptersOfNeMoExchangeHeads) {
  const auto method = [](const char* notes) {
    return resolved(Row().set("cp", "2").set("notes", notes)).context_method;
  };
  EXPECT_EQ(method("task=lora"), ContextMethod::ulysses);
  EXPECT_EQ(method(""), ContextMethod::ring);
}

TEST(PublishedRuns, ShareSamplesThatAreFewerThanReplicas) {
  const Json strategy = strategy_of(Row().set("global_batch", "8"));
  EXPECT_EQ(strategy["context_parallel"], 4);  // 64 GPUs / tp 2 = 32 ranks for 8 samples
  EXPECT_EQ(context_for_batch(64, 2, 1, 2, 16), 2);
  EXPECT_EQ(context_for_batch(576, 1, 1, 1, 72), 8);
}

// What a row states is taken at its word; MLPerf's adapters state no data-parallel ranks of their own.
TEST(PublishedRuns, KeepTheDegreesThatTheyState) {
  const Row row = Row().set("gpus", "128").set("tp", "1").set("dp", "128").set("global_batch", "64");
  EXPECT_EQ(run_of(row).refusal, "global_batch: 64 samples do not divide over 128 data-parallel ranks");
  EXPECT_EQ(strategy_of(Row(row).set("cp", "2").set("dp", "64"))["context_parallel"], 2);
  const MeasuredRun remaining = run_of(Row(row).set("cp", "").set("dp", "64"));
  EXPECT_EQ(remaining.scenario["strategy"]["context_parallel"], 2);
  const MeasuredRun blank = run_of(Row(row).set("cp", "").set("dp", ""));
  EXPECT_EQ(blank.scenario["strategy"]["context_parallel"], 2);
  EXPECT_THAT(blank.inputs_unstated, Contains("context_parallel"));
  const Row logged = Row(row).set("source", "MLPerf Training v5.1 logs");
  EXPECT_THAT(run_of(logged).refusal, HasSubstr("do not divide over 128"));
  EXPECT_EQ(strategy_of(Row(logged).set("notes", "task=lora"))["context_parallel"], 2);
  EXPECT_EQ(run_of(Row(row).set("dp", "32")).refusal,
            "dp: tensor 1 · pipeline 1 · context 1 · data 32 are 32 ranks, on 128 devices");
  EXPECT_EQ(
      run_of(Row().set("gpus", "192").set("tp", "8").set("dp", "").set("cp", "").set("global_batch", "128")).refusal,
      "global_batch: 128 samples do not divide over 24 data-parallel ranks");
}

TEST(PublishedRuns, ReadShardings) {
  EXPECT_EQ(strategy_of(Row().set("zero_or_fsdp", "FSDP2"))["sharding"], "fsdp");
  const Json parts = strategy_of(Row().set("zero_or_fsdp", "FSDP 16 x DP"));
  EXPECT_EQ(parts["sharding"], "hsdp");
  EXPECT_EQ(parts["hsdp_shard_size"], 16);
  const Json groups = strategy_of(Row().set("zero_or_fsdp", "ZeRO-1 within 8"));
  EXPECT_EQ(groups["sharding"], "zero-1");
  EXPECT_EQ(groups["hsdp_shard_size"], 8);
  EXPECT_EQ(strategy_of(Row().set("zero_or_fsdp", "FSDP 64"))["sharding"], "fsdp");
  for (const auto& [text, name] :
       {std::pair{"zero-1", "zero-1"}, std::pair{"ZeRO 3", "fsdp"}, std::pair{"ZeRO stage 2", "zero-2"},
        std::pair{"fsdp", "fsdp"}, std::pair{"FULL_SHARD", "fsdp"}, std::pair{"none", "none"},
        std::pair{"NO_SHARD", "none"}})
    EXPECT_EQ(strategy_of(Row().set("zero_or_fsdp", text))["sharding"], name) << text;
  // PyTorch's hybrid sharding spreads a copy over one server: 4 ranks of 2 GPUs.
  const Json hybrid = strategy_of(Row().set("zero_or_fsdp", "HYBRID_SHARD"));
  EXPECT_EQ(hybrid["sharding"], "hsdp");
  EXPECT_EQ(hybrid["hsdp_shard_size"], 4);
  EXPECT_THAT(run_of(Row().set("zero_or_fsdp", "by hand")).refusal, HasSubstr("zero_or_fsdp: found \"by hand\""));
}

TEST(PublishedRuns, ReadRecomputation) {
  EXPECT_EQ(strategy_of(Row().set("recompute", "full, 0 layers"))["recompute"], "none");
  const auto layers = [](const char* words, const char* stages) {
    const Json strategy = strategy_of(Row().set("recompute", words).set("pp", stages).set("vpp", "1"));
    EXPECT_EQ(strategy["recompute"], "full") << words;
    return strategy.value("recompute_layers", 0);
  };
  EXPECT_EQ(layers("full block 24 layers", "1"), 24);
  EXPECT_EQ(layers("full block 32 layers", "1"), 0);  // all of them
  // Layers of each stage, or chunk: 8 of 16; of the whole model's the stage's share.
  EXPECT_EQ(layers("full, block 8", "2"), 8);
  EXPECT_EQ(layers("full, 8 layers", "2"), 4);
  EXPECT_EQ(layers("full, uniform 1", "2"), 0);
  for (const char* words : {"full (8/32 layers)", "full 8 layers", "full, 8 layers"})
    EXPECT_EQ(strategy_of(Row().set("recompute", words).set("pp", "1"))["recompute_layers"], 8) << words;
  EXPECT_EQ(strategy_of(Row().set("recompute", "selective, 8 layers").set("pp", "1"))["recompute_layers"], 8);
  EXPECT_EQ(strategy_of(Row().set("recompute", "core_attn, mlp"))["recompute_modules"],
            Json::parse(R"(["attention_core", "mlp"])"));
  EXPECT_THAT(run_of(Row().set("recompute", "sometimes")).refusal, HasSubstr("recompute: found \"sometimes\""));
}

// Megatron's uniform method recomputes every layer; its number is how many of them are kept together.
TEST(PublishedRuns, UniformRecomputationIsOfEveryLayer) {
  for (const char* text : {"full, uniform 1", "full (uniform, 1 layer)", "full, uniform, 1 layer",
                           "full, method uniform, num layers 1", "full uniform"})
    EXPECT_EQ(strategy_of(Row().set("recompute", text))["recompute"], "full") << text;
}

TEST(PublishedRuns, ReadFormats) {
  const auto format = [](const char* text) {
    return run_of(Row().set("precision", text)).scenario["workload"]["precision"];
  };
  EXPECT_EQ(format("fp8 (per-tensor current scaling)"), "fp8");
  EXPECT_EQ(format("bf16 + float8 linear (rowwise)"), "fp8");
  EXPECT_EQ(format("mxfp8"), "mxfp8");
  EXPECT_EQ(format("BF16"), "bf16");
  for (const char* text : {"NVFP4", "mxfp4", "fp4"}) EXPECT_EQ(format(text), "fp4") << text;
  EXPECT_EQ(format("fp8 or nvfp4 (not clear from the configuration name)"), "fp8");
  const Row unknown = Row().set("precision", "fp8 or nvfp4 (configuration not found)");
  EXPECT_EQ(run_of(Row(unknown).set("gpus", "8")).scenario["workload"]["precision"], "fp4");
  EXPECT_EQ(run_of(Row(unknown).set("gpus", "64")).scenario["workload"]["precision"], "fp8");
  EXPECT_EQ(format("fp16/bf16"), "bf16");
  EXPECT_THAT(run_of(Row().set("precision", "")).inputs_unstated, Contains("precision"));
}

TEST(PublishedRuns, TakeABlankMappingFromTheNearestRow) {
  Row far = Row().set("gpus", "512").set("tp", "8"), blank = Row().set("tp", "").set("pp", "").set("gpus", "128");
  const MeasuredRun run = runs_of({Row(), far, blank}).back();
  EXPECT_EQ(run.scenario["strategy"]["tensor_parallel"], 2);
  EXPECT_THAT(run.inputs_unstated, Contains("mapping"));
  EXPECT_FALSE(run.open.mapping);
  // Of another table only where its own has none.
  EXPECT_FALSE(runs_of({far.set("model", "llama2-7b"), blank}).back().open.mapping);
  EXPECT_TRUE(run_of(blank.set("seq_len", "1234")).open.mapping);
}

// Megatron-LM and LiBai pad the vocabulary to a multiple of 128 for every tensor-parallel rank: 30,522 to 30,720 on
// two.
TEST(PublishedRun, VocabulariesArePaddedWhereTheProgramDoesSo) {
  const auto vocab = [](const char* framework) {
    const MeasuredRun run = run_of(Row().set("framework", framework).set("vocab", "30522"));
    return run.scenario.at("workload").at("model").at("transformer").at("vocab").get<int>();
  };
  EXPECT_EQ(vocab("LiBai (OneFlow)"), 30720);
  EXPECT_EQ(vocab("Megatron-LM (commit of mid 2022)"), 30720);
  EXPECT_EQ(vocab("nanotron"), 30522);
}

TEST(PublishedRun, AnAssumedAcceleratorIsAnUnstatedInput) {
  const Row row = Row().set("notes", "GPU type not stated in the source; accelerator assumed");
  EXPECT_THAT(run_of(row).inputs_unstated, Contains(kUnstatedAccelerator));
}

// Where the mapping comes from the nearest row, so does what it recomputes, whatever the micro-batch.
TEST(PublishedRuns, TakeABlankRecomputationWithTheMapping) {
  const Row full = Row().set("recompute", "full");
  Row blank = Row().set("tp", "").set("pp", "").set("gpus", "128").set("recompute", "").set("global_batch", "256");
  for (const char* micro_batch : {"1", ""}) {
    const MeasuredRun run = runs_of({full, blank.set("micro_batch", micro_batch)}).back();
    EXPECT_EQ(run.scenario["strategy"]["recompute"], "full") << micro_batch;
    EXPECT_THAT(run.inputs_unstated, Contains("recompute"));
  }
}

TEST(PublishedRuns, MarkDoubts) {
  EXPECT_TRUE(run_of({}).doubtful.empty());
  for (const char* notes :
       {"doubtful: one profiled step was faster", "functional run; real data", "deterministic mode"})
    EXPECT_FALSE(run_of(Row().set("notes", notes)).doubtful.empty()) << notes;
}

TEST(PublishedRuns, FineTuningFreezesOrPacks) {
  const Json lora = run_of(Row().set("notes", "task=lora; packed sequences of 8192")).scenario["workload"];
  EXPECT_EQ(lora["adapter_rank"], 16);
  EXPECT_FALSE(lora.contains("document_len"));
  const Json sft = run_of(Row().set("notes", "task=sft").set("seq_len", "4096")).scenario["workload"];
  EXPECT_FALSE(sft.contains("adapter_rank"));
  EXPECT_EQ(sft["document_len"], 180);
}

TEST(PublishedRuns, TakeDocumentsAndAdaptersAtTheirWord) {
  const MeasuredRun run =
      run_of(Row().set("notes", "task=lora; packed documents of 380 tokens; adapters of rank 8 at attention"));
  EXPECT_EQ(run.scenario["workload"]["document_len"], 380);
  EXPECT_EQ(run.scenario["workload"]["adapter_rank"], 8);
  EXPECT_THAT(run.inputs_unstated, Not(Contains("document_len")));
  EXPECT_THAT(run.inputs_unstated, Not(Contains("adapter_rank")));
  const Row longer = Row().set("seq_len", "2048").set("notes", "task=sft; documents of 9000 tokens");
  EXPECT_EQ(run_of(longer).scenario["workload"]["document_len"], 2048);
}

TEST(PublishedRuns, TakeExpertsAtTheirWord) {
  const Row row = Row()
                      .set("model", "gpt-oss-20b")
                      .set("layers", "24")
                      .set("hidden", "2880")
                      .set("ffn_hidden", "2880")
                      .set("heads", "64")
                      .set("kv_heads", "8")
                      .set("vocab", "201088")
                      .set("experts", "32")
                      .set("top_k", "4")
                      .set("params_B", "")
                      .set("ep", "4");
  EXPECT_FALSE(strategy_of(row).contains("overlap_expert_parallel"));
  EXPECT_FALSE(strategy_of(row).contains("expert_tensor_parallel"));
  const MeasuredRun noted = run_of(Row(row).set("notes", "exchanges of experts overlapped; whole experts"));
  EXPECT_EQ(noted.scenario["strategy"]["overlap_expert_parallel"], true);
  EXPECT_EQ(noted.scenario["strategy"]["expert_tensor_parallel"], 1);
  EXPECT_THAT(noted.inputs_unstated, Not(Contains("overlap_expert_parallel")));
  EXPECT_THAT(noted.inputs_unstated, Not(Contains("expert_tensor_parallel")));
}

// A recipe captures whole iterations; a row that says what else was captured is no run of it.
TEST(PublishedRuns, GraphsOfPartsAreNotTheRecipesGraphs) {
  const Row row = Row()
                      .set("source", "NVIDIA Megatron-Bridge performance summary, NeMo 26.08")
                      .set("framework", "Megatron-Bridge (Megatron-Core)")
                      .set("model", "qwen3-30b-a3b")
                      .set("layers", "48")
                      .set("hidden", "2048")
                      .set("ffn_hidden", "6144")
                      .set("kv_heads", "4")
                      .set("vocab", "151936")
                      .set("experts", "128")
                      .set("top_k", "8")
                      .set("params_B", "30.5")
                      .set("accelerator_id", "gb200")
                      .set("gpus", "8")
                      .set("gpus_per_node", "4")
                      .set("network", "NVL72, 4 GPUs per host")
                      .set("precision", "mxfp8")
                      .set("tp", "1")
                      .set("ep", "8");
  const auto profile = [&](const char* notes) {
    return strategy_of(Row(row).set("notes", notes)).at("framework").get<std::string>();
  };
  EXPECT_EQ(profile(""), "megatron-bridge-26.06-graphs");
  EXPECT_EQ(profile("whole iterations as CUDA graphs"), "megatron-bridge-26.06-graphs");
  EXPECT_EQ(profile("router and preparation as CUDA graphs"), "megatron-bridge-26.06");
}

TEST(PublishedRuns, NamesDoNotDependOnCapitalLetters) {
  const Row shouted = Row()
                          .set("framework", "NEMO (MEGATRON-CORE)")
                          .set("model", "Llama3-8B")
                          .set("accelerator_id", "NVIDIA H100-SXM5-80GB");
  EXPECT_EQ(run_of(shouted).scenario, run_of({}).scenario);
  EXPECT_EQ(run_of(Row().set("framework", "Nanotron")).scenario["strategy"]["framework"], "nanotron");
  EXPECT_THAT(run_of(Row().set("framework", "Megatorn")).refusal, HasSubstr("did you mean \"Megatron\"?"));
  EXPECT_THAT(run_of(Row().set("accelerator_id", "H100")).refusal, HasSubstr("expected one of h100-"));
  EXPECT_THAT(run_of(Row().set("accelerator_id", "h100-sxm-80")).refusal, HasSubstr("h100-sxm-80gb"));
}

TEST(PublishedRuns, TurnUtilisationIntoTokens) {
  // 0.4 of 989.4 TFLOP/s over 6 FLOPs a parameter and token (embedding left out) and attention in full.
  const MeasuredRun run = run_of(
      Row().set("tokens_per_s_per_gpu", "").set("mfu", "0.4").set("flop_convention", "model; causal not halved"));
  EXPECT_EQ(run.metric, Metric::tokens_per_s_per_gpu);
  const double per_token = 6 * (8.03e9 - 128256.0 * 4096) + 12 * 32 * 4096.0 * 8192;
  EXPECT_NEAR(run.measured, 0.4 * 989.4e12 / per_token, 0.002 * run.measured);
}

TEST(Machines, SlicesOfAPodAreNodes) {
  EXPECT_EQ(cluster_of_slices("tpu-v5e", 1024, 4), Json::parse(R"({"node": "tpu-v5e-slice-256", "nodes": 4})"));
  EXPECT_EQ(cluster_of_slices("tpu-v5e", 4096, 1)["nodes"], 16);  // a pod has 256 chips
  EXPECT_TRUE(cluster_of_slices("tpu-v5e", 1000, 4).is_null());
  EXPECT_TRUE(cluster_of_slices("a100-sxm-80gb", 64, 1).is_null());
  EXPECT_EQ(cluster_of("v100-sxm2-32gb", 64, 4)["node"], "jean-zay-v100-4");
}

TEST(ModelShapes, UnknownNamesGoByTheirSizes) {
  const StatedModel dense{"someone-7b", Json::parse(R"({"layers": 32, "hidden": 4096, "ffn_hidden": 11008, "heads": 32,
                                                        "vocab": 32000})"),
                          6.74};
  EXPECT_EQ(known_shape(dense).transformer["gated_mlp"], true);
  StatedModel ungated = dense;
  ungated.parameters = 5.3;
  EXPECT_EQ(known_shape(ungated).transformer["gated_mlp"], false);
  // Llama 3.2 1B: one table of tokens, and so few parameters that without a gate two would fit, too.
  const KnownShape tied = known_shape(
      {"someone-1b",
       {{"layers", 16}, {"hidden", 2048}, {"ffn_hidden", 8192}, {"heads", 32}, {"kv_heads", 8}, {"vocab", 128256}},
       1.236});
  EXPECT_EQ(tied.transformer["gated_mlp"], true);
  EXPECT_EQ(tied.transformer["tied_embeddings"], true);
  // Where the table does not say it: BLOOM has one table of tokens, Megatron-Core's scaling runs two; LLaMA has gates.
  const auto shape = [](const char* name) { return known_shape({name, Json::object(), 0}).transformer; };
  EXPECT_EQ(shape("bloom-176b")["tied_embeddings"], true);
  EXPECT_EQ(shape("gpt-177b-mcore")["tied_embeddings"], false);
  EXPECT_EQ(shape("nanotron-1.34b")["tied_embeddings"], true);
  EXPECT_EQ(shape("llama3-8b")["tied_embeddings"], false);
  EXPECT_EQ(shape("llama-65b")["gated_mlp"], true);
  EXPECT_EQ(shape("llama-65b")["tied_embeddings"], false);
  EXPECT_EQ(shape("glm-130b")["gated_mlp"], true);
  const KnownShape gpt = known_shape({"gpt-52b-x", Json::object(), 52});
  EXPECT_TRUE(gpt.by_size);
  EXPECT_EQ(gpt.transformer["layers"], 64);
  const KnownShape wide = known_shape({"gpt-39b-bs", Json::object(), 39});  // the table has its layers and width alone
  EXPECT_TRUE(wide.by_size);
  EXPECT_EQ(wide.transformer["ffn_hidden"], 32768);
  EXPECT_EQ(wide.transformer["heads"], 64);
  EXPECT_FALSE(known_shape({"gpt3-175b", Json::object(), 175}).by_size);
  EXPECT_FALSE(known_shape({"someone-8b", Json::object(), 8}).refusal.empty());
  EXPECT_EQ(known_shape({"nemotron-3-nano", Json::object(), 0}).transformer.at("ssm_heads"), 64);
  EXPECT_EQ(known_shape({"nemotron-3-ultra", Json::object(), 0}).transformer.at("moe_latent"), 2048);
  EXPECT_EQ(known_shape({"deepseek-v3", Json::object(), 0}).transformer["mtp_layers"], 1);
}

}  // namespace
}  // namespace stepcast::published_run_test
