#include "models/scenario/scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "models/estimate.hpp"
#include "models/memory/memory.hpp"
#include "models/parallelism/job.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::scenario_test {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace literals;
using test::catalog;

std::filesystem::path source(const std::string& path) { return std::filesystem::path(STEPCAST_SOURCE_DIR) / path; }

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

Scenario shipped(const std::string& name, const std::vector<std::string>& overrides = {}) {
  return load_scenario(source("scenarios/" + name + ".json"), overrides, catalog());
}

// With STEPCAST_REGENERATE set, the generated file is written anew instead of compared.
void expect_generated(const std::string& file, const std::string& text) {
  if (std::getenv("STEPCAST_REGENERATE") != nullptr) write_file(source(file), text);
  EXPECT_EQ(text_of(source(file)), text) << "run this test with STEPCAST_REGENERATE=1 to write " << file << " anew";
}

TEST(ScenarioSchema, ShippedFileIsTheGeneratedOne) {
  expect_generated("models/scenario/scenario.schema.json", scenario_schema().dump(2) + "\n");
}

TEST(ScenarioSchema, ReferencePageIsTheGeneratedOne) {
  expect_generated("docs/formats/scenario-keys.md", scenario_reference());
}

// 1,024 GPUs / (8 × 16) = 8 replicas; 1536 / (8 × 1) = 192 micro-batches; 96 layers / (16 × 3) = 2 a chunk.
TEST(ShippedScenario, Gpt3IsTheRunOfSc21) {
  const Scenario s = shipped("gpt3-175b-a100-1024");
  EXPECT_EQ(s.devices(), 1024);
  EXPECT_EQ(s.degrees.dp, 8);
  EXPECT_EQ(s.degrees.micro_batches, 192);
  EXPECT_EQ(s.schedule, PipelineSchedule::interleaved);
  EXPECT_EQ(s.stage_layers, std::vector<int>(48, 2));
  EXPECT_EQ(s.sharding, Sharding::none);
  EXPECT_FALSE(s.framework->fused_attention());
}

// ZeRO-1 over all 1,024 ranks, four micro-batches of two; 4 × 100 Gb/s replace the node's eight 200 Gb/s NICs.
TEST(ShippedScenario, InternLmHasTheSlowNetwork) {
  const Scenario s = shipped("internlm-7b-a100-1024");
  EXPECT_EQ(s.shard_size, 1024);
  EXPECT_EQ(s.degrees.micro_batches, 4);
  EXPECT_EQ(s.nics_per_node, 4);
  EXPECT_EQ(s.nic_bandwidth, 12.5_GBps);
  EXPECT_EQ(s.network, NetworkKind::ethernet_rdma);
}

TEST(ShippedScenario, ProcessorsTrainInFp32) {
  const Scenario s = shipped("rental-cpu-server");
  EXPECT_EQ(s.accelerator, nullptr);
  ASSERT_NE(s.cpu, nullptr);
  EXPECT_EQ(s.precision, Precision::fp32);
}

TEST(ShippedScenario, AllResolveFitMemoryAndNameTheirSchema) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source("scenarios"))) {
    if (entry.path().extension() != ".json" || entry.path().filename().string().starts_with("plan-")) continue;
    if (entry.path().stem() == "power-optimisation") continue;  // a study, which holds a scenario
    SCOPED_TRACE(entry.path().filename());
    const Scenario s = load_scenario(entry.path(), {}, catalog());
    EXPECT_EQ(s.spec.schema, "../models/scenario/scenario.schema.json");
    EXPECT_TRUE(memory_of(lower(s)).fits);
    ++count;
  }
  EXPECT_GE(count, 9);
}

TEST(Override, ChangesWhatFollows) {
  EXPECT_EQ(shipped("gpt3-175b-a100-1024", {"cluster.nodes=256"}).degrees.dp, 16);
  EXPECT_EQ(shipped("gpt3-175b-a100-1024", {"strategy.recompute=none"}).spec.strategy.recompute, Recompute::none);
}

TEST(Assumptions, NameTheDefaultsTaken) {
  EXPECT_THAT(shipped("rental-cpu-server").assumptions, Contains(HasSubstr("precision fp32")));
  EXPECT_THAT(shipped("llama3-70b-h100-512").assumptions, Contains(HasSubstr("schedule interleaved-1f1b")));
}

// Everything spelt out leaves nothing to assume.
TEST(SpeltOut, AssumesNothing) {
  const Json full = to_json(shipped("rental-cpu-server"));
  EXPECT_TRUE(resolve(full, "full", {}, catalog()).assumptions.empty());
}

// Megatron buckets of max(40 M, 1 M × 32) parameters in fp32: 160 MB.
TEST(Framework, BucketIsSettledInBytes) { EXPECT_EQ(shipped("llama3-70b-h100-512").framework->bucket, 160_MB); }

// HSDP's group is one node: 8 ranks of 16.
TEST(Sharding, HsdpStaysInTheNode) {
  const Json document{{"cluster", {{"node", "dgx-h100"}, {"nodes", 2}}},
                      {"workload", {{"model", "llama3-8b"}, {"global_batch", 64}}},
                      {"strategy", {{"framework", "pytorch-fsdp"}, {"sharding", "hsdp"}, {"micro_batch", 1}}}};
  EXPECT_EQ(resolve(document, "test", {}, catalog()).shard_size, 8);
  EXPECT_EQ(resolve(document, "test", {"strategy.sharding=fsdp"}, catalog()).shard_size, 16);
  EXPECT_EQ(resolve(document, "test", {"strategy.tensor_parallel=2"}, catalog()).shard_size, 4);
}

TEST(StageLayers, MayBeUnevenOrEmpty) {
  const Json document{{"cluster", {{"node", "dgx-h100"}, {"nodes", 8}}},
                      {"workload", {{"model", "llama3-70b"}, {"global_batch", 512}}},
                      {"strategy",
                       {{"framework", "megatron-lm"},
                        {"tensor_parallel", 8},
                        {"pipeline_parallel", 4},
                        {"stage_layers", {0, 27, 27, 26}}}}};
  EXPECT_THAT(resolve(document, "test", {}, catalog()).stage_layers, ElementsAre(0, 27, 27, 26));
}

/// What the steps after resolving read of a scenario.
void expect_same(const Scenario& a, const Scenario& b) {
  RC_ASSERT(to_json(a) == to_json(b));
  RC_ASSERT(a.node == b.node && a.accelerator == b.accelerator && a.compute == b.compute);
  RC_ASSERT(a.degrees.devices() == b.degrees.devices() && a.degrees.dp == b.degrees.dp);
  RC_ASSERT(a.degrees.micro_batch == b.degrees.micro_batch && a.degrees.micro_batches == b.degrees.micro_batches);
  RC_ASSERT(a.seq_len == b.seq_len && a.precision == b.precision && a.schedule == b.schedule);
  RC_ASSERT(a.sharding == b.sharding && a.shard_size == b.shard_size && a.stage_layers == b.stage_layers);
  RC_ASSERT(a.nics_per_node == b.nics_per_node && a.nic_bandwidth == b.nic_bandwidth && a.network == b.network);
  RC_ASSERT(a.framework->id == b.framework->id && a.framework->bucket == b.framework->bucket);
}

Json generated_document() {
  const int tensor = *rc::gen::element(1, 2, 4, 8);
  const int pipeline = *rc::gen::element(1, 2, 4, 8);
  const int chunks = pipeline > 1 ? *rc::gen::element(1, 2) : 1;
  const int context = *rc::gen::element(1, 2);
  const int nodes = *rc::gen::element(16, 32, 64);
  const int replicas = nodes * 8 / (tensor * pipeline * context);
  const int micro = *rc::gen::element(1, 2);
  const int batches = pipeline * *rc::gen::inRange(1, 5);
  Json strategy{{"framework", "megatron-lm"},
                {"tensor_parallel", tensor},
                {"pipeline_parallel", pipeline},
                {"virtual_pipeline", chunks},
                {"context_parallel", context},
                {"micro_batch", micro},
                {"sequence_parallel", tensor > 1},
                {"recompute", *rc::gen::element<std::string>("none", "selective", "full")},
                {"sharding", *rc::gen::element<std::string>("none", "zero-1", "fsdp", "hsdp")}};
  if (*rc::gen::arbitrary<bool>()) strategy["order"] = "tp-pp-cp-ep-dp";
  return {{"cluster", {{"node", *rc::gen::element<std::string>("dgx-a100-80gb", "dgx-h100")}, {"nodes", nodes}}},
          {"workload",
           {{"model", *rc::gen::element<std::string>("llama3-70b", "llama2-7b", "gpt3-13b")},
            {"seq_len", 2048},
            {"global_batch", replicas * micro * batches}}},
          {"strategy", strategy}};
}

RC_GTEST_PROP(SpeltOut, ResolvesToTheSameScenario, ()) {
  const Json document = generated_document();
  std::optional<Scenario> first;
  try {
    first = resolve(document, "generated", {}, catalog());
  } catch (const InputError&) {
    RC_DISCARD("not legal: " + document.dump());
  }
  expect_same(*first, resolve(to_json(*first), "spelt out", {}, catalog()));
}

RC_GTEST_PROP(Resolved, HoldsItsInvariants, ()) {
  const Json document = generated_document();
  std::optional<Scenario> s;
  try {
    s = resolve(document, "generated", {}, catalog());
  } catch (const InputError&) {
    RC_DISCARD("not legal");
  }
  const Degrees& d = s->degrees;
  RC_ASSERT(d.devices() == s->devices());
  RC_ASSERT(d.micro_batch * d.micro_batches * d.dp == s->spec.workload.global_batch);
  RC_ASSERT(static_cast<int>(s->stage_layers.size()) == d.pp * d.vpp);
  RC_ASSERT(std::accumulate(s->stage_layers.begin(), s->stage_layers.end(), 0) == s->model->transformer->layers);
  RC_ASSERT(d.dp * d.cp % s->shard_size == 0);
}

// 80 layers: no number of chunks helps seven stages, and eight stages of five chunks hold two layers each.
TEST(Strategy, WhereNoChunksDivideTheLayersTheStagesAreNamed) {
  const auto said = [](const char* chunks) -> std::string {
    try {
      (void)shipped("llama3-70b-h100-512", {"strategy.pipeline_parallel=7", "cluster.nodes=7",
                                            "strategy.tensor_parallel=8", "workload.global_batch=1", chunks});
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(said("strategy.virtual_pipeline=5"), HasSubstr("or pipeline_parallel, nearest valid: 8"));
  EXPECT_THAT(said("strategy.virtual_pipeline=1"), HasSubstr("or pipeline_parallel, nearest valid: 8"));
}

// One stage has no order; only 1f1b, which then is a forward and a backward pass in turn, is taken.
TEST(Strategy, AScheduleNeedsAPipeline) {
  const auto with = [](const std::string& schedule) {
    return shipped("llama3-70b-h100-512", {"strategy.pipeline_parallel=1", "strategy.virtual_pipeline=1",
                                           "strategy.tensor_parallel=8", "strategy.schedule=" + schedule});
  };
  EXPECT_EQ(with("1f1b").schedule, PipelineSchedule::one_f_one_b);
  for (const char* schedule : {"gpipe", "zero-bubble"}) {
    try {
      (void)with(schedule);
      ADD_FAILURE() << schedule << " was taken";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("/strategy/schedule: found " + std::string(schedule)));
    }
  }
}

std::vector<std::string> pointers_of(const std::string& name, const std::vector<std::string>& overrides) {
  std::vector<std::string> out;
  try {
    (void)shipped(name, overrides);
  } catch (const InputError& error) {
    for (const Fault& fault : error.faults()) out.push_back(fault.pointer);
  }
  return out;
}

TEST(References, AnEmptyIdNamesNothing) {
  for (const char* key : {"strategy.framework", "cluster.storage", "cluster.site", "cluster.cooling",
                          "cluster.fabric.switch", "run.reliability.published"}) {
    std::string pointer = "/" + std::string(key);
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    EXPECT_EQ(pointers_of("resnet50-v100-8gpus", {std::string(key) + "=\"\""}), std::vector<std::string>{pointer});
  }
}

// 10,240 samples of 9e8 kB are 9.2e15 bytes, and 2^53 is 9.0e15.
TEST(Workload, AStepReadsNoMoreThanDoublesCount) {
  const std::string name = "resnet50-v100-8nodes";
  EXPECT_EQ(pointers_of(name, {"workload.global_batch=10240", "workload.input.sample_kB=9e8"}),
            std::vector<std::string>{"/workload/input/sample_kB"});
  EXPECT_EQ(pointers_of(name, {"workload.global_batch=10240", "workload.input.device_sample_kB=9e8"}),
            std::vector<std::string>{"/workload/input/device_sample_kB"});
  EXPECT_EQ(pointers_of(name, {"workload.global_batch=10240", "workload.input.sample_kB=8e8"}),
            std::vector<std::string>{});
  EXPECT_EQ(pointers_of(name, {"workload.input.sample_kB=5e9"}), std::vector<std::string>{"/workload/input/sample_kB"});
}

TEST(Overrides, ANullThatWasWrittenHasNoParts) {
  for (const char* text : {R"({"run": null})", R"({"run": 5})"}) {
    Diagnostics diagnostics("a.json");
    Json document = Json::parse(text);
    apply_override(document, "run.fidelity=analytic", diagnostics);
    ASSERT_EQ(diagnostics.faults().size(), 1U) << text;
    EXPECT_EQ(diagnostics.faults()[0].pointer, "/run");
  }
  Diagnostics diagnostics("a.json");
  Json document = Json::parse("{}");
  apply_override(document, "run.fidelity=analytic", diagnostics);
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_EQ(document["run"]["fidelity"], "analytic");
}

// KungFu's processors reduce in a ring, whatever the devices' library could do.
TEST(Strategy, AnAlgorithmThatNothingRunsIsRefused) {
  const auto resolve = [](const char* algorithm) {
    return load_scenario(source("scenarios/resnet50-v100-8gpus.json").string(),
                         {"strategy.framework=kungfu", std::string("strategy.collective_algorithm=") + algorithm},
                         catalog());
  };
  EXPECT_NO_THROW((void)resolve("auto"));
  try {
    (void)resolve("tree");
    FAIL() << "expected a fault";
  } catch (const InputError& error) {
    ASSERT_EQ(error.faults().size(), 1U) << error.what();
    EXPECT_EQ(error.faults().front().pointer, "/strategy/collective_algorithm");
  }
}

std::string algorithm_fault(const std::vector<std::string>& overrides) {
  try {
    (void)load_scenario(source("scenarios/resnet50-v100-8gpus.json").string(), overrides, catalog());
  } catch (const InputError& error) {
    EXPECT_EQ(error.faults().size(), 1U) << error.what();
    EXPECT_EQ(error.faults().front().pointer, "/strategy/collective_algorithm");
    return error.what();
  }
  return {};
}

// Volta's switches do not add, replicas only sum, and PAT only gathers: nothing would run as asked.
TEST(Strategy, AnAlgorithmThatNoCollectiveCanTakeIsRefused) {
  for (const char* algorithm : {"nvls", "nvls-tree", "collnet", "pat", "chain"}) {
    const std::string said = algorithm_fault({std::string("strategy.collective_algorithm=") + algorithm});
    EXPECT_THAT(said, HasSubstr("possible here: auto, ring, tree")) << algorithm;
  }
  EXPECT_EQ(algorithm_fault({"strategy.collective_algorithm=ring"}), "");
}

// Hopper's switches add inside a node; between nodes trees join them.
TEST(Strategy, SwitchesAddWhereTheMachineHasThem) {
  const auto on_hopper = [](const char* algorithm, int nodes) {
    return algorithm_fault({"cluster.node=dgx-h100", fmt::format("cluster.nodes={}", nodes), "workload.precision=bf16",
                            "workload.global_batch=4096", "strategy.micro_batch=64",
                            std::string("strategy.collective_algorithm=") + algorithm});
  };
  EXPECT_EQ(on_hopper("nvls", 1), "");
  EXPECT_NE(on_hopper("nvls-tree", 1), "");
  EXPECT_EQ(on_hopper("nvls-tree", 2), "");
}

// Sharded optimizers scatter and gather, which trees cannot: those run in rings, and the prediction says so.
TEST(Strategy, CollectivesThatAnAlgorithmLacksAreNamed) {
  const Scenario s = shipped("llama3-70b-h100-512", {"strategy.collective_algorithm=tree"});
  EXPECT_THAT(s.assumptions, Contains(HasSubstr("all_gather runs in rings: tree has none")));
}

// Only a network that normalises batches can meet in them, and only replicas that take their steps together.
TEST(SyncBatchNorm, NeedsBatchNormsAndReplicasInStep) {
  const auto fault = [](const char* name, const char* change) {
    try {
      shipped(name, {"strategy.sync_batch_norm=true", change});
    } catch (const InputError& error) {
      EXPECT_EQ(error.faults().size(), 1U) << error.what();
      EXPECT_EQ(error.faults().front().pointer, "/strategy/sync_batch_norm");
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(fault("resnet50-v100-8gpus", "cluster.nodes=2"), "none");
  EXPECT_THAT(fault("gpt3-175b-a100-1024", "workload.global_batch=1536"), testing::HasSubstr("has no batch norms"));
  EXPECT_THAT(fault("systems/tensorflow-ps-async", "strategy.update=asynchronous"),
              testing::HasSubstr("lets no replica wait"));
}

// BLOOM's 70 layers on 12 stages: 6 at most are on one.
TEST(RecomputeLayers, AreSomeOfAStages) {
  const auto fault = [](const std::vector<std::string>& changes) -> std::string {
    try {
      shipped("bloom-176b-a100-384", changes);
    } catch (const InputError& error) {
      EXPECT_EQ(error.faults().front().pointer, "/strategy/recompute_layers");
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(fault({"strategy.recompute=full", "strategy.recompute_layers=6"}), "");
  EXPECT_THAT(fault({"strategy.recompute=full", "strategy.recompute_layers=7"}),
              testing::HasSubstr("no stage or chunk has more than 6 layers"));
  EXPECT_THAT(fault({"strategy.recompute=none", "strategy.recompute_layers=2"}),
              testing::HasSubstr("nothing is recomputed"));
}

// Without a pipeline the last stage is the only one, and without recomputation nothing is kept that else would not be.
TEST(RecomputeLastStage, IsForPipelinesThatRecompute) {
  const auto faults = [](const std::vector<std::string>& changes) {
    try {
      std::vector<std::string> all{"strategy.recompute_last_stage=false"};
      all.insert(all.end(), changes.begin(), changes.end());
      shipped("bloom-176b-a100-384", all);
    } catch (const InputError& error) {
      EXPECT_EQ(error.faults().front().pointer, "/strategy/recompute_last_stage");
      return error.faults().size();
    }
    return std::size_t{0};
  };
  EXPECT_EQ(faults({"strategy.recompute=full"}), 0U);
  EXPECT_EQ(faults({"strategy.recompute=none"}), 1U);
  EXPECT_GE(faults({"strategy.recompute=full", "strategy.pipeline_parallel=1"}), 1U);  // its stage_layers are of more
}

/// What the one fault of a changed shipped scenario says, at that key of its strategy; "none" without a fault.
std::string fault_at(const char* name, const std::string& key, const std::vector<std::string>& changes) {
  try {
    shipped(name, changes);
  } catch (const InputError& error) {
    EXPECT_EQ(error.faults().size(), 1U) << error.what();
    EXPECT_EQ(error.faults().front().pointer, "/strategy/" + key);
    return error.faults().front().message;
  }
  return "none";
}

/// The same with the key set.
std::string fault_of(const char* name, const std::string& key, std::vector<std::string> changes) {
  changes.push_back("strategy." + key + "=true");
  return fault_at(name, key, changes);
}

// Each of what 8-bit attention needs is missed by name.
TEST(NarrowAttention, NeedsFusedKernelsMeasuredInEightBit) {
  const auto fault = [](const char* name, const std::vector<std::string>& changes) {
    return fault_of(name, "fp8_dot_product_attention", changes);
  };
  const char* llama = "llama3-70b-h100-512";
  EXPECT_EQ(fault(llama, {"workload.precision=fp8"}), "none");
  EXPECT_EQ(fault(llama, {}), "found true, but precision is bf16");
  EXPECT_THAT(fault(llama, {"workload.precision=fp8", "strategy.context_parallel=2"}),
              testing::HasSubstr("context_parallel is 2 with context_method ring"));
  EXPECT_EQ(fault(llama, {"workload.precision=fp8", "strategy.context_parallel=2", "strategy.context_method=ulysses"}),
            "none");
  EXPECT_THAT(fault(llama, {"cluster.node=dgx-a100-80gb"}),
              testing::HasSubstr("no 8-bit attention of a100-sxm-80gb is known"));
  EXPECT_THAT(fault("resnet50-v100-8gpus", {}), testing::HasSubstr("resnet50 has no attention"));
  EXPECT_THAT(fault("gpt3-175b-a100-1024", {}), testing::HasSubstr("megatron-lm-2021 computes attention in 16 bit"));
}

// A framework that compiles, and a model whose fused kernels are modelled.
TEST(FusedKernels, AreThoseOfTheFramework) {
  EXPECT_THAT(fault_of("llama3-70b-h100-512", "torch_compile", {}),
              testing::HasSubstr("megatron-lm is not known to use torch.compile"));
  EXPECT_EQ(fault_of("resnet50-v100-8gpus", "torch_compile", {"strategy.framework=pytorch-ddp"}), "none");
  for (const std::string model : {"rnn-t", "mask-rcnn-rn50-fpn"})
    EXPECT_THAT(
        fault_of("resnet50-v100-8gpus", "torch_compile", {"strategy.framework=pytorch-ddp", "workload.model=" + model}),
        testing::HasSubstr("what it fuses in " + model + " is not modelled"));
  EXPECT_EQ(fault_of("bert-large-16nodes", "torch_compile", {"strategy.framework=pytorch-ddp"}), "none");
  EXPECT_EQ(fault_at("llama3-70b-h100-512", "fused_rotary", {"strategy.fused_rotary=false"}),
            "found false, but megatron-lm has one kernel for them");
}

// Each of what merged passes need is missed by name.
TEST(MergedPasses, NeedExchangesAndPassesThatDoNotNeedEachOther) {
  const auto fault = [](const std::vector<std::string>& changes, const char* name = "qwen3-235b-gb300-288") {
    return fault_of(name, "overlap_expert_parallel", changes);
  };
  EXPECT_EQ(fault({}), "none");
  EXPECT_EQ(fault({"strategy.expert_parallel=1"}), "found true, but expert_parallel is 1: nothing is exchanged");
  const std::vector<std::string> experts{"workload.model=mixtral-8x7b", "strategy.expert_parallel=8",
                                         "strategy.virtual_pipeline=1"};
  EXPECT_THAT(fault(experts, "llama3-70b-h100-512"),
              testing::HasSubstr("schedule 1f1b with 4 stages has no passes to merge"));
  EXPECT_THAT(fault({"strategy.recompute=full", "strategy.recompute_modules=[]"}),
              testing::HasSubstr("recompute full repeats the experts' exchanges"));
  EXPECT_THAT(fault({"strategy.sharding=zero-2", "strategy.pipeline_parallel=1", "strategy.virtual_pipeline=1",
                     "strategy.stage_layers=[94]"}),
              testing::HasSubstr("sharding zero-2 synchronises within"));
  EXPECT_THAT(fault({}, "llama3-70b-h100-512"), testing::HasSubstr("llama3-70b has no experts"));
}

// Integers train on TPUs, whose profiles say so, though others have a peak of them too.
TEST(Precision, IntegersTrainWhereTheProfileSaysSo) {
  const auto fault = [](const char* node) -> std::string {
    try {
      resolve({{"cluster", {{"node", node}, {"nodes", 1}}},
               {"workload", {{"model", "bert-large"}, {"global_batch", 64}, {"precision", "int8"}}}},
              "test", {}, catalog());
    } catch (const InputError& error) {
      return error.faults().front().pointer;
    }
    return "none";
  };
  EXPECT_EQ(fault("tpu-v4-host"), "none");
  EXPECT_EQ(fault("dgx-h100"), "/workload/precision");
}

// Copies of a model that generate are cut by a framework that runs on their accelerators.
TEST(Actors, AreCutByAFrameworkOfTheirMaker) {
  const Scenario learners = shipped(
      "systems/rl-actors-learners",
      {"strategy.actors.node=tpu-v4-host", "strategy.actors.concurrent=16", "strategy.actors.tensor_parallel=2"});
  EXPECT_EQ(learners.actors->framework->id, "jax");
  EXPECT_EQ(shipped("systems/rl-actors-learners", {"strategy.actors.tensor_parallel=2"}).actors->framework->id,
            "megatron-lm");
}

// With a stated rate actors compute nothing in the learners' format: processors play environments beside bf16 learners.
TEST(Actors, OfAStatedRateNeedNoFormatOfTheLearners) {
  const std::vector<std::string> played{"strategy.actors.prompt_tokens=0",
                                        "strategy.actors.node=rental-epyc-9454p-256gb", "strategy.actors.nodes=16",
                                        "strategy.actors.samples_per_s=900", "strategy.actors.concurrent=128"};
  EXPECT_EQ(shipped("systems/rl-actors-learners", played).actors->node->id, "rental-epyc-9454p-256gb");
}

TEST(Actors, FaultsNameTheKeyAtFault) {
  const auto fault = [](const std::vector<std::string>& changes) {
    try {
      shipped("systems/rl-actors-learners", changes);
    } catch (const InputError& error) {
      return error.faults().front();
    }
    return Fault{};
  };
  const Fault format = fault({"strategy.actors.node=dgx-1-v100-32gb", "strategy.actors.concurrent=4"});
  EXPECT_EQ(format.pointer, "/strategy/actors/node");
  EXPECT_THAT(format.message, testing::HasSubstr("bf16"));
  EXPECT_THAT(format.suggestion, testing::HasSubstr("samples_per_s"));
  const Fault cut = fault({"strategy.actors.tensor_parallel=64"});
  EXPECT_EQ(cut.pointer, "/strategy/actors/tensor_parallel");
  EXPECT_THAT(cut.message, testing::Not(testing::HasSubstr("/strategy")));
}

TEST(Actors, GenerateWithDecoders) {
  const auto faults = [](const char* model) {
    try {
      shipped("systems/rl-actors-learners",
              {fmt::format("workload.model={}", model), "workload.seq_len=512", "strategy.actors.prompt_tokens=0"});
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(faults("gpt3-1.3b"), "");
  for (const char* model : {"bert-large", "flux.1-schnell"})
    EXPECT_THAT(faults(model), testing::HasSubstr("/strategy/actors/samples_per_s: missing")) << model;
}

// DeepSpeed's pipeline engine takes zero-1 alone, Megatron-FSDP has no pipelines; PyTorch's FSDP goes beside them.
TEST(ShardedGradients, MeetPipelinesWhereTheProfileSaysSo) {
  const auto fault = [](const std::string& framework, const std::string& sharding) {
    return fault_at("llama3-70b-h100-512", "sharding",
                    {"strategy.framework=" + framework, "strategy.sharding=" + sharding, "strategy.tensor_parallel=1",
                     "strategy.sequence_parallel=false", "strategy.virtual_pipeline=1"});
  };
  EXPECT_EQ(fault("deepspeed", "zero-2"),
            "zero-2 shards gradients, which deepspeed refuses beside pipeline_parallel 4");
  EXPECT_EQ(fault("deepspeed", "zero-1"), "none");
  EXPECT_EQ(fault("megatron-lm", "fsdp"),
            "fsdp shards gradients, which megatron-lm refuses beside pipeline_parallel 4");
  EXPECT_EQ(fault("nemo", "hsdp"), "hsdp shards gradients, which nemo refuses beside pipeline_parallel 4");
  EXPECT_EQ(fault("megatron-bridge", "zero-1"), "none");
  EXPECT_EQ(fault("pytorch-fsdp", "zero-2"), "none");
}

// Tensor ranks share an expert or hold whole ones, over which expert parallelism then extends.
TEST(ExpertTensorParallel, IsAllOrOne) {
  const auto fault = [](std::vector<std::string> changes, const char* key = "expert_tensor_parallel") {
    changes.insert(changes.begin(), {"workload.model=mixtral-8x7b", "strategy.virtual_pipeline=4"});
    return fault_at("llama3-70b-h100-512", key, changes);
  };
  const std::string whole = "strategy.expert_tensor_parallel=1";
  EXPECT_EQ(fault({whole}), "none");
  EXPECT_EQ(fault({"strategy.expert_tensor_parallel=4"}), "none");
  EXPECT_EQ(fault({"strategy.expert_tensor_parallel=2"}), "found 2, expected 1 (whole experts) or tensor_parallel (4)");
  EXPECT_EQ(fault({whole, "strategy.sequence_parallel=false"}),
            "found 1 with tensor_parallel 4, where every rank would route the same tokens");
  EXPECT_THAT(fault({whole, "workload.model=llama3-70b"}), testing::HasSubstr("llama3-70b is dense"));
  // 32 GPUs over 4 stages of 4 tensor ranks leave 2 data ranks, so 8 ranks for whole experts.
  const std::string eight = "strategy.expert_parallel=8", nodes = "cluster.nodes=4";
  EXPECT_THAT(fault({nodes, eight}, "expert_parallel"),
              testing::HasSubstr("8 does not divide context_parallel (1) × data_parallel (2) = 2"));
  EXPECT_EQ(fault({nodes, eight, whole}, "expert_parallel"), "none");
  EXPECT_THAT(fault({"cluster.nodes=2", eight, whole}, "expert_parallel"),
              testing::HasSubstr("8 does not divide tensor_parallel (4) × context_parallel (1) × data_parallel (1)"));
}

// Gathers and scatters beside products take a framework that has it, whether by default or not.
TEST(TensorOverlap, IsOfFrameworksThatHaveIt) {
  const auto fault = [](const char* framework) {
    return fault_of(
        "llama3-70b-h100-512", "overlap_tensor_parallel",
        {"strategy.sharding=zero-1", "strategy.virtual_pipeline=1", std::string("strategy.framework=") + framework});
  };
  EXPECT_EQ(fault("megatron-lm"), "none");
  EXPECT_EQ(fault("nemo"), "none");
  EXPECT_EQ(fault("megatron-deepspeed"), "found true, but megatron-deepspeed waits for every gather and scatter");
  const auto step = [](const std::vector<std::string>& changes) {
    const Scenario scenario = shipped("llama3-70b-h100-512", changes);
    return estimate(lower(scenario)).step_time;
  };
  EXPECT_LT(step({"strategy.overlap_tensor_parallel=true"}), step({}));
  EXPECT_EQ(step({"strategy.overlap_tensor_parallel=false"}), step({}));
}

// Blocks with scales need matrix units that apply them.
TEST(Precision, BlocksWithScalesAreOfPartsThatApplyThem) {
  EXPECT_EQ(shipped("llama3-70b-h100-512", {"cluster.node=dgx-b200", "workload.precision=mxfp8"}).precision,
            Precision::mxfp8);
  try {
    shipped("llama3-70b-h100-512", {"workload.precision=mxfp8"});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("found mxfp8, which h100-sxm-80gb cannot train in"));
  }
}

}  // namespace
}  // namespace stepcast::scenario_test
