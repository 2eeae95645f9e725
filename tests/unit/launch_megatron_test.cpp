// What `stepcast plan` writes for Megatron-LM is the option that it is for: the importer reads it as the same.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "calibration/importers/models/imported_scenario.hpp"
#include "models/estimate.hpp"
#include "planner/launch/launch.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::launch_megatron_test {
namespace {

using test::catalog;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

struct Case {
  const char* model;
  int nodes;
  Json strategy;
};

Scenario scenario_of(const Case& c) {
  Json strategy = c.strategy;
  strategy["framework"] = "megatron-lm";
  strategy["micro_batch"] = 1;
  return resolve({{"cluster", {{"node", "dgx-h100"}, {"nodes", c.nodes}}},
                  {"workload", {{"model", c.model}, {"global_batch", 512}, {"precision", "bf16"}}},
                  {"strategy", std::move(strategy)}},
                 "exported", {}, catalog());
}

std::string text_of(const std::vector<std::string>& arguments) {
  std::string out;
  for (const std::string& argument : arguments) out += argument + "\n";
  return out;
}

ImportedScenario read_back(const Scenario& scenario) {
  static const ScratchFolder folder;
  const std::filesystem::path file = folder / "megatron-arguments.txt";
  std::ofstream(file) << text_of(megatron_arguments(scenario));
  ImportTarget target;
  target.nodes = scenario.spec.cluster.nodes;
  return import_megatron(file, target, catalog());
}

/// What `plan` writes, read from the script that starts it.
ImportedScenario read_from_script(const Scenario& scenario) {
  static const ScratchFolder folder;
  for (const NamedText& one : launch_files(scenario)) std::ofstream(folder / one.name) << one.text;
  ImportTarget target;
  target.nodes = scenario.spec.cluster.nodes;
  return import_megatron(folder / "launch.sh", target, catalog());
}

/// What the framework is told, in the words of scenarios. Tables of positions that are not learned have no rows.
Json description(const Scenario& s) {
  TransformerShape shape = *s.model->transformer;
  shape.vocab = (shape.vocab + s.degrees.tp - 1) / s.degrees.tp * s.degrees.tp;
  shape.kv_heads = shape.kv();
  if (!shape.is_latent()) shape.head_dim = shape.head_size();
  if (shape.positions != PositionKind::learned) shape.max_positions = 0;
  const StrategySpec& strategy = s.spec.strategy;
  Json modules = Json::array();
  for (const RecomputeModule module : strategy.recompute_modules) modules.push_back(name_of(module));
  return {{"model", TransformerShape::fields().write(shape)},
          {"degrees", {s.degrees.tp, s.degrees.pp, s.degrees.vpp, s.degrees.cp, s.degrees.ep, s.degrees.etp}},
          {"sequence_parallel", strategy.sequence_parallel},
          {"schedule", name_of(s.schedule)},
          {"stage_layers", s.stage_layers},
          {"sharding", name_of(s.sharding)},
          {"shard_size", s.sharding == Sharding::hsdp ? s.shard_size : 0},
          {"order", strategy.order},
          {"context_method", s.degrees.cp > 1 ? name_of(s.context_method) : ""},
          {"expert_dispatch", name_of(s.expert_dispatch)},
          {"recompute",
           {{"what", name_of(strategy.recompute)},
            {"modules", modules},
            {"layers", strategy.recompute_layers.value_or(0)}}},
          {"precision", name_of(s.precision)},
          {"seq_len", s.seq_len},
          {"micro_batch", s.degrees.micro_batch}};
}

class LaunchMegatron : public testing::TestWithParam<Case> {};

TEST_P(LaunchMegatron, IsReadBackAsTheSame) {
  const Scenario given = scenario_of(GetParam());
  EXPECT_THAT(beyond_megatron_arguments(given), testing::IsEmpty());
  const ImportedScenario imported = read_back(given);
  // Megatron-FSDP is told not to fuse accumulation, which scenarios do not say.
  if (given.sharding == Sharding::none || given.sharding == Sharding::zero1) {
    EXPECT_THAT(imported.notes, testing::IsEmpty());
  } else {
    EXPECT_THAT(imported.notes, testing::ElementsAre(testing::StartsWith("--no-gradient-accumulation-fusion")));
  }
  const Scenario read = resolve(imported.scenario, "read", {}, catalog());
  EXPECT_EQ(description(read).dump(1), description(given).dump(1));
  // Rows of the vocabulary that are there for tensor parallelism alone take a little more.
  EXPECT_NEAR(estimate(lower(read)).step_time / estimate(lower(given)).step_time, 1, 1e-4);
}

TEST_P(LaunchMegatron, IsReadFromItsScript) {
  const Scenario given = scenario_of(GetParam());
  EXPECT_EQ(description(resolve(read_from_script(given).scenario, "read", {}, catalog())).dump(1),
            description(given).dump(1));
}

INSTANTIATE_TEST_SUITE_P(
    Presets, LaunchMegatron,
    testing::Values(
        Case{"gpt3-175b",
             16,
             {{"tensor_parallel", 8},
              {"sequence_parallel", true},
              {"pipeline_parallel", 8},
              {"virtual_pipeline", 4},
              {"recompute", "selective"}}},
        Case{"llama3-8b",
             2,
             {{"context_parallel", 4},
              {"context_method", "ulysses"},
              {"fused_loss", true},
              {"gradients_in_fp32", false},
              {"sharding", "none"}}},
        Case{"llama3-8b", 2, {{"context_parallel", 2}, {"context_method", "all-gather"}, {"sharding", "zero-2"}}},
        Case{"llama3-70b",
             4,
             {{"tensor_parallel", 8},
              {"pipeline_parallel", 4},
              {"order", "tp-cp-ep-pp-dp"},
              {"stage_layers", {19, 20, 21, 20}},
              {"recompute", "full"}}},
        Case{"llama3-70b",
             4,
             {{"tensor_parallel", 8}, {"pipeline_parallel", 4}, {"recompute", "full"}, {"recompute_layers", 7}}},
        Case{"llama3-8b", 2, {{"sharding", "fsdp"}, {"fused_activation", false}}},
        Case{"llama3-8b", 2, {{"sharding", "zero-1"}, {"offload_optimizer", true}}},
        Case{"llama3-8b", 4, {{"sharding", "hsdp"}, {"hsdp_shard_size", 16}}},
        Case{"mixtral-8x7b",
             4,
             {{"tensor_parallel", 2},
              {"sequence_parallel", true},
              {"expert_parallel", 8},
              {"expert_tensor_parallel", 1}}},
        Case{"deepseek-v3",
             32,
             {{"expert_parallel", 64}, {"recompute", "modules"}, {"recompute_modules", {"attention", "norm"}}}},
        Case{"deepseek-v3", 8, {{"expert_parallel", 64}, {"expert_dispatch", "deepep"}}},
        Case{"deepseek-v2", 8, {{"tensor_parallel", 2}, {"sequence_parallel", true}, {"expert_parallel", 16}}},
        Case{"qwen3-235b-a22b", 8, {{"expert_parallel", 32}}}, Case{"gemma3-12b", 2, {{"tensor_parallel", 4}}},
        Case{"gpt-oss-120b", 4, {{"expert_parallel", 32}}}, Case{"nemotron-h-8b", 2, {{"tensor_parallel", 4}}},
        Case{"nemotron-3-nano", 2, {{"expert_parallel", 8}}}, Case{"qwen3-next-80b-a3b", 8, {{"expert_parallel", 64}}},
        Case{"deepseek-v3.2", 32, {{"expert_parallel", 64}}}, Case{"deepseek-v4-flash", 8, {{"expert_parallel", 64}}},
        Case{"t5-v1.1-xl", 2, {{"tensor_parallel", 2}}}, Case{"bert-large", 1, {{"tensor_parallel", 2}}}),
    [](const auto& of) {
      std::string name = fmt::format("{}_{}", of.index, of.param.model);
      std::replace_if(
          name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

// T5 masks words, too; what it has beside them is a decoder. Where a program is named, it says what it trains.
TEST(LaunchMegatron, WordsThatAreMaskedAreAnEncoders) {
  const auto family = [](const std::string& text) {
    const ScratchFolder folder;
    std::ofstream(folder / "arguments.txt") << text;
    ImportTarget target;
    target.nodes = 1;
    return import_megatron(folder / "arguments.txt", target, catalog()).scenario["workload"]["model"]["family"];
  };
  const std::string masked = text_of(megatron_arguments(scenario_of({"bert-large", 1, Json::object()})));
  EXPECT_EQ(family(masked), "encoder");
  EXPECT_EQ(family("pretrain_gpt.py " + masked), "decoder");
  EXPECT_EQ(family(text_of(megatron_arguments(scenario_of({"t5-v1.1-xl", 2, Json::object()}))) + "--mask-prob 0.15\n"),
            "decoder");
}

// Where nothing else is missing the file may have held anything: hosts, for one.
TEST(LaunchMegatron, AScriptWithoutItsFileIsToldSo) {
  const ScratchFolder folder;
  const auto import = [&](const std::string& arguments) {
    std::ofstream(folder / "launch.sh") << "read -r -d '' -a SETTINGS <\"$HERE/lost.txt\" || true\n"
                                           "torchrun pretrain_gpt.py "
                                        << arguments << "\n";
    ImportTarget target;
    target.nodes = 2;
    return import_megatron(folder / "launch.sh", target, catalog());
  };
  try {
    import("\"${SETTINGS[@]}\" --seq-length 512");
    FAIL() << "read what is not there";
  } catch (const InputError& error) {
    EXPECT_THAT(error.faults().back().message, HasSubstr("SETTINGS is read from lost.txt: "));
  }
  std::string known;
  for (const std::string& argument : megatron_arguments(scenario_of({"llama3-8b", 2, Json::object()})))
    known += argument + " ";
  EXPECT_THAT(import(known).notes, Contains(HasSubstr("SETTINGS is read from lost.txt: ")));
}

// Every other layer has experts: a list that Megatron-LM evaluates, for its own number counts from the first.
TEST(LaunchMegatron, NamesTheLayersWithExperts) {
  const Scenario maverick = scenario_of({"llama4-maverick", 16, {{"expert_parallel", 128}}});
  EXPECT_THAT(megatron_arguments(maverick), Contains("--moe-layer-freq ([0]*1+[1]*1)*24"));
  EXPECT_EQ(resolve(read_back(maverick).scenario, "read", {}, catalog()).model->transformer->moe_every, 2);
}

// Megatron-Core counts the blocks of multi-token prediction in a layout; a chunk may hold them alone.
TEST(LaunchMegatron, ALayoutHasItsPredictions) {
  const auto layout = [](const std::vector<int>& stages, int predictions) {
    const int parts = static_cast<int>(stages.size());
    Scenario scenario = scenario_of(
        {"deepseek-v3", 32, {{"pipeline_parallel", parts}, {"stage_layers", stages}, {"expert_parallel", 8}}});
    auto model = std::make_shared<Model>(*scenario.model);
    model->transformer->mtp_layers = predictions;
    scenario.model = model;
    return megatron_arguments(scenario);
  };
  EXPECT_THAT(layout({16, 16, 16, 13}, 0), Contains("--pipeline-model-parallel-layout Et*16|t*16|t*16|t*13L"));
  EXPECT_THAT(layout({16, 16, 16, 13}, 1), Contains("--pipeline-model-parallel-layout Et*16|t*16|t*16|t*13mL"));
  EXPECT_THAT(layout({20, 20, 21, 0}, 2), Contains("--pipeline-model-parallel-layout Et*20|t*20|t*21|mmL"));
}

// Nobody says how many nodes: as many as the experts' ranks need, too.
TEST(LaunchMegatron, FewestNodesHoldTheExperts) {
  const auto nodes = [](const Case& c) {
    const Scenario given = scenario_of(c);
    const ScratchFolder folder;
    const std::filesystem::path file = folder / "megatron-arguments.txt";
    std::ofstream(file) << text_of(megatron_arguments(given));
    ImportTarget target;
    target.node = "dgx-h100";
    const Scenario read = resolve(import_megatron(file, target, catalog()).scenario, "read", {}, catalog());
    return read.spec.cluster.nodes;
  };
  const Json whole{
      {"tensor_parallel", 2}, {"sequence_parallel", true}, {"expert_parallel", 8}, {"expert_tensor_parallel", 1}};
  EXPECT_EQ(nodes({"mixtral-8x7b", 4, whole}), 1);
  const Json sliced{{"tensor_parallel", 2}, {"sequence_parallel", true}, {"expert_parallel", 8}};
  EXPECT_EQ(nodes({"mixtral-8x7b", 4, sliced}), 2);
  EXPECT_EQ(nodes({"qwen3-235b-a22b", 8, {{"expert_parallel", 32}}}), 4);
}

TEST(LaunchMegatron, SaysWhatItCannot) {
  Scenario scenario =
      scenario_of({"mpt-7b", 1, {{"pipeline_parallel", 2}, {"schedule", "gpipe"}, {"offload_activations", true}}});
  auto model = std::make_shared<Model>(*scenario.model);
  model->transformer->positions = PositionKind::alibi;
  scenario.model = model;
  const std::vector<std::string> beyond = beyond_megatron_arguments(scenario);
  EXPECT_THAT(beyond, Contains(HasSubstr("ALiBi")));
  EXPECT_THAT(beyond, Contains("schedule gpipe"));
  EXPECT_THAT(beyond, Contains("activations in host memory"));
  const std::vector<NamedText> files = launch_files(scenario);
  EXPECT_THAT(files.at(1).text, HasSubstr("\n#   schedule gpipe\n"));
}

// A strategy that an option was forecast with, and that nobody reads of it, is another option.
TEST(LaunchMegatron, LosesNoKeyOfTheStrategy) {
  const Scenario norms = scenario_of({"llama3-8b", 2, {{"fused_norm", false}}});
  EXPECT_THAT(beyond_megatron_arguments(norms), testing::ElementsAre("fused_norm false"));
  const Scenario groups = scenario_of({"llama3-8b", 2, {{"sharding", "zero-1"}, {"hsdp_shard_size", 8}}});
  EXPECT_THAT(beyond_megatron_arguments(groups), testing::ElementsAre("hsdp_shard_size 8"));
}

std::string launch_text(const Scenario& scenario) { return launch_files(scenario).at(1).text; }

// A rack's trays are servers, each of which starts its own devices' processes.
TEST(LaunchFiles, StartTheTraysOfARack) {
  const Scenario racks = resolve({{"cluster", {{"node", "gb200-nvl72"}, {"nodes", 2}}},
                                  {"workload", {{"model", "deepseek-v3"}, {"global_batch", 2304}}},
                                  {"strategy",
                                   {{"framework", "megatron-lm"},
                                    {"pipeline_parallel", 9},
                                    {"stage_layers", {6, 7, 7, 7, 7, 7, 7, 7, 6}},
                                    {"micro_batch", 1},
                                    {"expert_parallel", 16},
                                    {"expert_dispatch", "deepep"}}}},
                                 "racks", {}, catalog());
  const std::vector<NamedText> files = launch_files(racks);
  EXPECT_THAT(launch_text(racks), HasSubstr("torchrun --nnodes 36 --nproc-per-node 4 "));
  EXPECT_THAT(launch_text(racks), HasSubstr("NVLINK_DOMAIN_SIZE=${NVLINK_DOMAIN_SIZE:-72} USE_MNNVL=${USE_MNNVL:-1}"));
  EXPECT_THAT(files.at(2).text, HasSubstr("#SBATCH --nodes=36\n"));
  EXPECT_THAT(files.at(2).text, HasSubstr("#SBATCH --gpus-per-node=4\n"));
}

// Full training where adapters were planned would not even fit.
TEST(LaunchFiles, SayThatOnlyAdaptersAreTrained) {
  const auto of = [](const char* framework) {
    return resolve({{"cluster", {{"node", "dgx-h100"}, {"nodes", 1}}},
                    {"workload", {{"model", "llama3-8b"}, {"global_batch", 64}, {"adapter_rank", 16}}},
                    {"strategy", {{"framework", framework}, {"micro_batch", 1}}}},
                   "adapters", {}, catalog());
  };
  EXPECT_THAT(launch_text(of("megatron-lm")), HasSubstr("#   adapters of rank 16 on a frozen model (attention)"));
  EXPECT_EQ(torch_config(of("pytorch-fsdp")).at("adapter_rank"), 16);
  EXPECT_THAT(beyond_deepspeed_config(of("deepspeed")), Contains("adapters of rank 16 on a frozen model (attention)"));
}

// The profile says whose they are; what is no transformer Megatron-LM's arguments cannot describe.
TEST(LaunchFiles, AreInTheSettingsOfTheFramework) {
  const auto file = [](const char* framework, const char* model) {
    return launch_files(resolve({{"cluster", {{"node", "dgx-h100"}, {"nodes", 1}}},
                                 {"workload", {{"model", model}, {"global_batch", 64}}},
                                 {"strategy", {{"framework", framework}, {"micro_batch", 1}}}},
                                "settings", {}, catalog()))
        .front()
        .name;
  };
  for (const char* framework : {"megatron-bridge", "megatron-deepspeed", "nemo-25.09"})
    EXPECT_EQ(file(framework, "llama3-8b"), "megatron-arguments.txt") << framework;
  EXPECT_EQ(file("deepspeed", "llama3-8b"), "deepspeed.json");
  EXPECT_EQ(file("deepspeed", "resnet50"), "deepspeed.json");
  EXPECT_EQ(file("pytorch-fsdp", "llama3-8b"), "torch.json");
  EXPECT_EQ(file("nemo-25.09", "resnet50"), "torch.json");
}

// Servers need DeepEP, and nothing told.
TEST(LaunchFiles, SayWhichLibraryTakesTokensToExperts) {
  const auto script = [](const char* dispatch) {
    return launch_text(scenario_of({"deepseek-v3", 8, {{"expert_parallel", 64}, {"expert_dispatch", dispatch}}}));
  };
  EXPECT_THAT(script("deepep"), HasSubstr("# Tokens go to their experts by the library deep_ep"));
  EXPECT_THAT(script("deepep"), testing::Not(HasSubstr("NVLINK_DOMAIN_SIZE")));
  EXPECT_THAT(script("all_to_all"), testing::Not(HasSubstr("deep_ep")));
}

// What Megatron-LM's arguments.py asserts.
TEST(LaunchMegatron, FsdpHasItsCheckpointsAndConnections) {
  for (const char* sharding : {"zero-2", "fsdp", "hsdp"}) {
    const Scenario scenario = scenario_of({"llama3-8b", 2, {{"sharding", sharding}}});
    EXPECT_THAT(megatron_arguments(scenario), Contains("--ckpt-format fsdp_dtensor")) << sharding;
    EXPECT_THAT(megatron_arguments(scenario), Contains("--no-gradient-accumulation-fusion")) << sharding;
    EXPECT_THAT(launch_text(scenario), HasSubstr("${CUDA_DEVICE_MAX_CONNECTIONS:-8}")) << sharding;
  }
  const Scenario replicated = scenario_of({"llama3-8b", 2, {{"sharding", "zero-1"}}});
  EXPECT_THAT(megatron_arguments(replicated), Not(Contains(HasSubstr("--ckpt-format"))));
  EXPECT_THAT(launch_text(replicated), HasSubstr("${CUDA_DEVICE_MAX_CONNECTIONS:-1}"));
}

TEST(LaunchMegatron, OffloadsWhatTheDistributedOptimizerHolds) {
  const auto with = [](const char* sharding) {
    return scenario_of({"llama3-8b", 2, {{"sharding", sharding}, {"offload_optimizer", true}}});
  };
  EXPECT_THAT(megatron_arguments(with("zero-1")),
              testing::IsSupersetOf({"--optimizer-cpu-offload", "--use-precision-aware-optimizer"}));
  EXPECT_THAT(megatron_arguments(with("none")), Not(Contains("--optimizer-cpu-offload")));
  EXPECT_THAT(beyond_megatron_arguments(with("none")), Contains(HasSubstr("an optimizer in host memory")));
}

// Frameworks that overlap by themselves do so where the activations are cut by the sequence, too.
TEST(LaunchMegatron, OverlapsProductsWithSequenceParallelismAlone) {
  const auto arguments = [](bool sequence) {
    return megatron_arguments(
        resolve({{"cluster", {{"node", "dgx-h100"}}},
                 {"workload", {{"model", "llama3-8b"}, {"global_batch", 64}}},
                 {"strategy", {{"framework", "nemo-25.04"}, {"tensor_parallel", 8}, {"sequence_parallel", sequence}}}},
                "overlap", {}, catalog()));
  };
  EXPECT_THAT(arguments(true), Contains("--tp-comm-overlap"));
  EXPECT_THAT(arguments(false), Not(Contains("--tp-comm-overlap")));
}

TEST(LaunchTorch, ShardsWhatTheStrategyShards) {
  const auto config = [](const char* sharding) {
    return torch_config(resolve(
        {{"cluster", {{"node", "dgx-h100"}}},
         {"workload", {{"model", "llama3-8b"}, {"global_batch", 64}}},
         {"strategy",
          {{"framework", sharding == std::string("fsdp") ? "pytorch-fsdp" : "pytorch-ddp"}, {"sharding", sharding}}}},
        "torch", {}, catalog()));
  };
  EXPECT_EQ(config("zero-1").value("zero_redundancy_optimizer", false), true);
  EXPECT_EQ(config("fsdp").at("sharding_strategy"), "FULL_SHARD");
  EXPECT_FALSE(config("fsdp").contains("zero_redundancy_optimizer"));
}

TEST(LaunchTorch, LosesNoKeyOfTheStrategy) {
  const auto config = [](const Json& strategy) {
    return torch_config(resolve({{"cluster", {{"node", "dgx-h100"}}},
                                 {"workload", {{"model", "llama3-8b"}, {"global_batch", 64}}},
                                 {"strategy", strategy}},
                                "torch", {}, catalog()));
  };
  const Json usual = config({{"framework", "pytorch-ddp"}});
  const Json own = config({{"framework", "pytorch-ddp"},
                           {"fused_norm", true},
                           {"fused_rotary", false},
                           {"fused_activation", true},
                           {"overlap_gradients", false},
                           {"offload_activations", true}});
  EXPECT_EQ(own.at("fused_norm"), true);
  EXPECT_EQ(own.at("fused_rotary"), false);
  EXPECT_EQ(own.at("fused_activation"), true);
  EXPECT_EQ(own.at("overlap_gradients"), false);
  EXPECT_EQ(own.at("offload_activations"), true);
  EXPECT_EQ(own.size(), usual.size() + 5);
  for (const char* key : {"framework", "update", "data_parallel", "backup_workers", "compression", "context_method"})
    EXPECT_FALSE(usual.contains(key)) << key;
}

}  // namespace
}  // namespace stepcast::launch_megatron_test
