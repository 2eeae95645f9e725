#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/importers/models/imported_scenario.hpp"
#include "tests/unit/imported_text.hpp"

namespace stepcast::import_torchtitan_test {
namespace {

using testing::HasSubstr;

using Result = test::ImportedText;

Result import(const std::string& text, const ImportTarget& target = {}) {
  return test::import_text(import_torchtitan, "train.toml", text, target);
}

constexpr const char* kLlama = R"(# torchtitan Config.toml
[job]
dump_folder = "./outputs"
[profiling]
enable_profiling = true
[model]
name = "llama3"
flavor = "70B"
hf_assets_path = "./assets"
converters = ["float8"]
[optimizer]
name = "AdamW"
lr = 1.5e-4
[training]
local_batch_size = 2
seq_len = 8192
max_norm = 1.0  # grad norm clipping
steps = 1_000
dataset = "c4"
[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = 8
tensor_parallel_degree = 8
enable_async_tensor_parallel = true
pipeline_parallel_degree = 1
context_parallel_degree = 1
[activation_checkpoint]
mode = "selective"
selective_ac_option = 'op'
[compile]
enable = true
components = ["model",
  "loss"]
[mine]
key = 1
)";

// Before 2025 pipelines and contexts were experiments.
TEST(Torchtitan, DegreesMayStandAmongTheExperiments) {
  const Result out = import(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nbatch_size = 8\nseq_len = 8192\n"
      "tensor_parallel_degree = 2\n[experimental]\ncontext_parallel_degree = 2\npipeline_parallel_degree = 2\n"
      "pipeline_parallel_microbatches = 4\ncustom_import = \"\"\n");
  EXPECT_EQ(out.faults, "");
  EXPECT_EQ(out.scenario["strategy"]["tensor_parallel"], 2);
  EXPECT_EQ(out.scenario["strategy"]["context_parallel"], 2);
  EXPECT_EQ(out.scenario["strategy"]["pipeline_parallel"], 2);
  EXPECT_EQ(out.scenario["strategy"]["micro_batch"], 2);
}

// The switches of 2024, and the list of converters since.
TEST(Torchtitan, LinearLayersInFloat8) {
  const auto precision = [](const std::string& more) {
    return import("[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + more).scenario["workload"]["precision"];
  };
  EXPECT_EQ(precision("[float8]\nenable_float8_linear = true\n"), "fp8");
  EXPECT_EQ(precision("[float8]\nenable_float8_linear = false\n"), "bf16");
  EXPECT_EQ(precision("[float8]\nenable_fsdp_float8_all_gather = true\n"), "bf16");
  EXPECT_EQ(precision("[training]\nenable_fp8_linear = true\n"), "fp8");
}

TEST(Torchtitan, DefaultsAreItsOwn) {
  const Result out = import("[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 4096\n");
  EXPECT_EQ(out.faults, "");
  EXPECT_EQ(out.scenario["strategy"]["micro_batch"], 8);
  EXPECT_EQ(out.scenario["strategy"]["recompute"], "full");
  EXPECT_EQ(out.scenario["strategy"]["recompute_layers"], 16);
  EXPECT_THAT(out.notes, HasSubstr("training.local_batch_size is not given: 8"));
  EXPECT_THAT(out.notes, HasSubstr("activation_checkpoint.mode is not given: selective"));
  const auto mode = [](const std::string& name) {
    return import("[model]\nname = \"llama3\"\nflavor = \"8B\"\n[activation_checkpoint]\nmode = \"" + name + "\"\n");
  };
  EXPECT_EQ(mode("selective").scenario["strategy"]["recompute_layers"], 16);
  EXPECT_FALSE(mode("none").scenario["strategy"].contains("recompute"));
  EXPECT_THAT(mode("memory_budget").notes, HasSubstr("memory is the most, time the least"));
}

TEST(Torchtitan, FlavoursArePresetsOfTheirName) {
  const auto model = [](const std::string& name, const std::string& flavor) {
    return import("[model]\nname = \"" + name + "\"\nflavor = \"" + flavor + "\"\n").scenario["workload"]["model"];
  };
  EXPECT_EQ(model("qwen3", "32B"), "qwen3-32b");
  EXPECT_EQ(model("qwen3", "30B-A3B"), "qwen3-30b-a3b");
  EXPECT_EQ(model("gpt_oss", "20b"), "gpt-oss-20b");
  EXPECT_EQ(model("llama3", "8B_flex"), "llama3-8b");
  EXPECT_EQ(model("llama3", "1B"), "llama3.2-1b");
  EXPECT_EQ(model("deepseek_v3", "671B"), "deepseek-v3");
}

// Every second or third of 32 layers, or the loss alone compiled.
TEST(Torchtitan, PartsMayBeRecomputedOrCompiled) {
  const std::string llama = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n";
  const auto strategy = [&](const std::string& rest) { return import(llama + rest).scenario["strategy"]; };
  const std::string selective = "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = ";
  EXPECT_EQ(strategy(selective + "'2'\n")["recompute_layers"], 16);
  EXPECT_EQ(strategy(selective + "3\n")["recompute_layers"], 10);
  EXPECT_FALSE(strategy(selective + "1\n").contains("recompute_layers"));
  EXPECT_THAT(import(llama + selective + "\"some\"\n").faults, HasSubstr("/activation_checkpoint/selective_ac_option"));
  const Json loss = strategy("[compile]\nenable = true\ncomponents = [\"loss\"]\n");
  EXPECT_FALSE(loss.contains("torch_compile"));
  EXPECT_EQ(loss["fused_loss"], true);
  const Json model = strategy("[compile]\nenable = true\ncomponents = [\"model\"]\n");
  EXPECT_EQ(model["torch_compile"], true);
  EXPECT_EQ(model["fused_loss"], false);
  EXPECT_FALSE(strategy("[compile]\nenable = true\n").contains("fused_loss"));
}

TEST(Torchtitan, FlavourDegreesAndBatch) {
  const Result out = import(kLlama);
  EXPECT_EQ(out.faults, "");
  EXPECT_EQ(out.scenario["cluster"]["nodes"], 8);
  EXPECT_EQ(out.scenario["workload"]["model"], "llama3-70b");
  EXPECT_EQ(out.scenario["workload"]["global_batch"], 16);
  EXPECT_EQ(out.scenario["workload"]["seq_len"], 8192);
  EXPECT_EQ(out.scenario["workload"]["precision"], "fp8");
  EXPECT_EQ(out.scenario["strategy"]["tensor_parallel"], 8);
  EXPECT_EQ(out.scenario["strategy"]["overlap_tensor_parallel"], true);
  EXPECT_EQ(out.scenario["strategy"]["sharding"], "fsdp");
  EXPECT_EQ(out.scenario["strategy"]["recompute"], "per-operator");
  EXPECT_EQ(out.scenario["strategy"]["torch_compile"], true);
  EXPECT_THAT(out.notes, HasSubstr("unknown keys, not used: mine"));
}

TEST(Torchtitan, ParametersInTheirOwnFormat) {
  const auto half = [](const std::string& more) {
    const Result out = import(
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
        "seq_len = 4096\n" +
        more);
    EXPECT_EQ(out.faults, "");
    return out.scenario["strategy"].value("parameters_in_16_bit", false);
  };
  EXPECT_TRUE(half("dtype = \"bfloat16\"\n"));
  EXPECT_FALSE(half("dtype = \"float32\"\n"));
  EXPECT_FALSE(half("dtype = \"bfloat16\"\nenable_cpu_offload = true\n"));
  EXPECT_FALSE(half("dtype = \"bfloat16\"\nmixed_precision_param = \"float32\"\n"));
}

TEST(Torchtitan, ShardsThatTakeWhatIsLeft) {
  const std::string text =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nbatch_size = 1\nseq_len = 4096\n"
      "data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = -1\n";
  const Result fewest = import(text);
  EXPECT_EQ(fewest.faults, "");
  EXPECT_THAT(fewest.notes, HasSubstr("takes all devices: 1 node"));
  ImportTarget four;
  four.nodes = 4;
  const Result out = import(text, four);
  EXPECT_EQ(out.scenario["strategy"]["sharding"], "hsdp");
  EXPECT_EQ(out.scenario["strategy"]["hsdp_shard_size"], 16);
  EXPECT_EQ(out.scenario["workload"]["global_batch"], 32);
}

constexpr const char* kPipeline =
    "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nlocal_batch_size = 8\nseq_len = 8192\n"
    "[activation_checkpoint]\nmode = \"full\"\n[parallelism]\ntensor_parallel_degree = 8\n"
    "pipeline_parallel_degree = 4\n";

Json strategy_of(const std::string& text) {
  const Result out = import(text);
  EXPECT_EQ(out.faults, "");
  return out.faults.empty() ? out.scenario["strategy"] : Json::object();
}

// Embedding and output count as a layer each: 82 on four stages, the first ones take one more.
TEST(Torchtitan, StagesAreThoseThatItMakesByItself) {
  const std::string pipeline = kPipeline;
  EXPECT_EQ(strategy_of(pipeline)["stage_layers"], Json({20, 21, 20, 19}));
  EXPECT_EQ(strategy_of(pipeline)["schedule"], "1f1b");
  EXPECT_EQ(strategy_of(pipeline + "pipeline_parallel_first_stage_less_layers = 0\n"
                                   "pipeline_parallel_last_stage_less_layers = 0\n")["stage_layers"],
            Json({20, 20, 20, 20}));
  std::string large = pipeline;
  large.replace(large.find("70B"), 3, "405B");
  large.replace(large.find("_degree = 4"), 11, "_degree = 8");
  EXPECT_EQ(strategy_of(large)["stage_layers"], Json({15, 16, 16, 16, 16, 16, 16, 15}));
  EXPECT_THAT(import(pipeline + "pipeline_parallel_last_stage_less_layers = 40\n").faults,
              HasSubstr("/parallelism/pipeline_parallel_degree: 80 layers, 1 for the embedding and 40 for the output"));
  EXPECT_THAT(import(pipeline + "module_fqns_per_model_part = [[\"layers.0\"]]\n").notes,
              HasSubstr("module_fqns_per_model_part: not read"));
}

TEST(Torchtitan, PartsOfARankAreInterleaved) {
  const std::string looped = std::string(kPipeline) + "pipeline_parallel_schedule = \"Interleaved1F1B\"\n";
  const Json two = strategy_of(looped);
  EXPECT_EQ(two["schedule"], "interleaved-1f1b");
  EXPECT_EQ(two["virtual_pipeline"], 2);
  EXPECT_EQ(two["stage_layers"], Json({10, 11, 10, 10, 10, 10, 10, 9}));
  // 80 layers of 5, as versions count that leave the ends out, and 82 of 11, as the newer ones do.
  EXPECT_EQ(strategy_of(looped + "pipeline_parallel_layers_per_stage = 5\n")["virtual_pipeline"], 4);
  EXPECT_EQ(strategy_of(looped + "pipeline_parallel_layers_per_stage = 11\n")["virtual_pipeline"], 2);
  EXPECT_THAT(import(looped + "pipeline_parallel_layers_per_stage = 8\n").faults,
              HasSubstr("/parallelism/pipeline_parallel_layers_per_stage"));
}

TEST(Torchtitan, SchedulesThatAreNotOursAreForecastByTheNearest) {
  const auto with = [](const std::string& name) {
    return import(std::string(kPipeline) + "pipeline_parallel_schedule = \"" + name + "\"\n");
  };
  const Result folded = with("ZBVZeroBubble");
  EXPECT_EQ(folded.scenario["strategy"]["schedule"], "zero-bubble");
  EXPECT_EQ(folded.scenario["strategy"]["stage_layers"], Json({19, 21, 20, 20}));
  EXPECT_THAT(folded.notes, HasSubstr("forecast as zero-bubble"));
  EXPECT_EQ(with("GPipe").scenario["strategy"]["schedule"], "gpipe");
  EXPECT_THAT(with("Spiral").notes, HasSubstr("not known, 1f1b is forecast"));
  std::string odd = std::string(kPipeline) + "pipeline_parallel_schedule = \"Interleaved1F1B\"\n";
  odd.replace(odd.find("local_batch_size = 8"), 20, "local_batch_size = 6");
  const Result flat = import(odd);
  EXPECT_EQ(flat.scenario["strategy"]["schedule"], "1f1b");
  EXPECT_EQ(flat.scenario["strategy"]["stage_layers"], Json({20, 21, 20, 19}));
  EXPECT_THAT(flat.notes, HasSubstr("6 micro-batches are no multiple of 4 ranks"));
}

TEST(Torchtitan, ExpertsTakeAProfileThatHasThem) {
  const Result out = import(
      "[model]\nname = \"deepseek_v3\"\nflavor = \"671B\"\n[training]\nlocal_batch_size = 1\nseq_len = 4096\n"
      "[parallelism]\nexpert_parallel_degree = 32\n[activation_checkpoint]\nmode = \"selective\"\n"
      "selective_ac_option = \"op\"\n");
  EXPECT_EQ(out.faults, "");
  EXPECT_EQ(out.scenario["cluster"]["nodes"], 4);
  EXPECT_EQ(out.scenario["strategy"]["framework"], "megatron-lm");
  EXPECT_EQ(out.scenario["strategy"]["recompute"], "selective");
}

TEST(Torchtitan, WhatCannotBeReadIsSaid) {
  EXPECT_THAT(import("[model]\nname = \"flux\"\nflavor = \"dev\"\n").faults, HasSubstr("no preset is known"));
  EXPECT_THAT(import("[model]\nname = llama3\n").faults, HasSubstr("line 2"));
  EXPECT_THAT(import("[model]\nname = \"llama3\"\nname = \"x\"\n").faults, HasSubstr("given twice"));
  EXPECT_THAT(import("[model\n").faults, HasSubstr("expected ]"));
  EXPECT_THAT(import("").faults, HasSubstr("is empty"));
  const std::string model = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";
  EXPECT_THAT(import(model + "[paralelism]\ntensor_parallel_degree = 8\n").faults,
              HasSubstr("/paralelism: unknown key; did you mean \"parallelism\"?"));
  EXPECT_THAT(import(model + "[parallelism]\ntensor_paralel_degree = 8\n").faults,
              HasSubstr("/parallelism/tensor_paralel_degree: unknown key; did you mean \"tensor_parallel_degree\"?"));
}

}  // namespace
}  // namespace stepcast::import_torchtitan_test
