#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/collectives/measured_collective.hpp"
#include "calibration/validation/accelerator_names.hpp"
#include "calibration/validation/column_sets.hpp"
#include "calibration/validation/operators/operator_score.hpp"
#include "calibration/validation/stated_words.hpp"
#include "calibration/validation/unstated.hpp"
#include "tests/shipped_catalog.hpp"

// Words of tables of measurements: spellings of one thing are understood, anything else is refused with the reason and
// never read as a default.
namespace stepcast::measured_words_test {
namespace {

using test::catalog;
using testing::HasSubstr;

/// A table of one row, a cell changed.
struct Cells {
  std::vector<std::pair<std::string, std::string>> cells;
  [[nodiscard]] Cells with(const std::string& column, const std::string& text) const {
    Cells out = *this;
    for (auto& [name, cell] : out.cells)
      if (name == column) cell = text;
    return out;
  }
  [[nodiscard]] CsvTable table() const {
    std::string header, row;
    for (const auto& [name, cell] : cells) {
      header += (header.empty() ? "" : ",") + name;
      row += (row.empty() ? "" : ",") + ("\"" + cell + "\"");
    }
    return parse_csv(header + "\n" + row + "\n", "t.csv");
  }
};

const Cells kFsdp{{{"id", "a"},
                   {"model", "mpt-7b"},
                   {"layers", "32"},
                   {"hidden", "4096"},
                   {"ffn_hidden", "16384"},
                   {"heads", "32"},
                   {"vocab", "50368"},
                   {"seq_len", "2048"},
                   {"gpu", "h100-sxm-80gb"},
                   {"gpus_per_node", "8"},
                   {"gpus", "64"},
                   {"inter_node", ""},
                   {"framework", "pytorch-fsdp (Composer)"},
                   {"precision", "amp_bf16"},
                   {"mixed_precision_mode", "DEFAULT"},
                   {"sharding", "FULL_SHARD"},
                   {"activation_checkpointing", "False"},
                   {"micro_batch", "8"},
                   {"global_batch", "512"},
                   {"measured_tokens_per_s_per_gpu", "10000"}}};
MeasuredRun run_of(const Cells& cells) { return read_runs(cells.table(), "t").runs.front(); }

TEST(StatedWords, SpellingsOfOneThingAreOne) {
  for (const char* text : {"True", "true", "TRUE", "yes", "1", "on"}) EXPECT_EQ(stated_flag(text), true) << text;
  for (const char* text : {"False", "NO", "0", "off"}) EXPECT_EQ(stated_flag(text), false) << text;
  for (const char* text : {"", "maybe", "2"}) EXPECT_EQ(stated_flag(text), std::nullopt) << text;
  EXPECT_EQ(stated_format("BF16"), "bf16");
  EXPECT_EQ(stated_format("bfloat16"), "bf16");
  EXPECT_EQ(stated_format("MXFP8"), "mxfp8");
  EXPECT_EQ(stated_format("xyz"), "");
  EXPECT_EQ(stated_enum<CollectiveKind>("AllReduce"), CollectiveKind::all_reduce);
  EXPECT_EQ(not_understood("op", "", {"a", "b"}), "op: found nothing, expected one of a, b");
}

TEST(FsdpRuns, UnderstandTheSpellingsOfAFlag) {
  for (const char* text : {"True", "true", "TRUE", "yes", "1"})
    EXPECT_EQ(run_of(kFsdp.with("activation_checkpointing", text)).scenario["strategy"]["recompute"], "full") << text;
  EXPECT_EQ(run_of(kFsdp).scenario["strategy"]["recompute"], "none");
}

TEST(FsdpRuns, ShardAsPyTorchNamesIt) {
  const auto strategy = [](const char* text) { return run_of(kFsdp.with("sharding", text)).scenario["strategy"]; };
  EXPECT_EQ(strategy("full_shard")["sharding"], "fsdp");
  EXPECT_EQ(strategy("SHARD_GRAD_OP")["sharding"], "zero-2");
  EXPECT_EQ(strategy("NO_SHARD")["sharding"], "none");
  EXPECT_EQ(strategy("HYBRID_SHARD")["hsdp_shard_size"], 8);
  EXPECT_EQ(run_of(kFsdp.with("sharding", "HYBRID_SHARD").with("gpus", "8")).scenario["strategy"]["sharding"], "fsdp");
  EXPECT_THAT(run_of(kFsdp.with("sharding", "FULL_SHRAD")).refusal, HasSubstr("did you mean \"FULL_SHARD\"?"));
}

TEST(FsdpRuns, SayWhatIsWrongWithTheirGpus) {
  EXPECT_EQ(run_of(kFsdp.with("gpus", "12")).refusal, "12 GPUs do not fill servers of 8");
  EXPECT_THAT(run_of(kFsdp.with("gpus", "6")).refusal, HasSubstr("has 6 of h100-sxm-80gb, there are ones of 1, 2, 4"));
  EXPECT_THAT(run_of(kFsdp.with("gpu", "abacus")).refusal, HasSubstr("stands for \"abacus\""));
  EXPECT_EQ(run_of(kFsdp.with("gpu", "NVIDIA B200")).accelerator, "b200-sxm-180gb");
}

TEST(AcceleratorNames, MeanWhatTheirWordsChoose) {
  for (const auto& [text, id] : {std::pair{"NVIDIA B200", "b200-sxm-180gb"},
                                 std::pair{"H100-SXM5-80GB", "h100-sxm-80gb"},
                                 std::pair{"A100 PCIe 40GB", "a100-pcie-40gb"},
                                 std::pair{"AMD Instinct MI300X", "mi300x"},
                                 std::pair{"TPU v5p", "tpu-v5p"},
                                 std::pair{"MI250X", "mi250x"},
                                 std::pair{"H100", "H100"},
                                 std::pair{"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
                                 std::pair{"GeForce RTX 2080 Ti", "rtx-2080-ti"},
                                 std::pair{"RTX 5090", "rtx-5090"},
                                 std::pair{"H20", "h20-sxm-96gb"},
                                 std::pair{"H20-3e", "h20-3e"},
                                 std::pair{"NVIDIA H100 80GB HBM3", "h100-sxm-80gb"},
                                 std::pair{"NVIDIA H200", "h200-sxm-141gb"},
                                 std::pair{"H200 NVL", "h200-nvl-141gb"},
                                 std::pair{"NVIDIA GH200 480GB", "gh200-96gb"},
                                 std::pair{"GB200 NVL72", "gb200"},
                                 std::pair{"gb300-nvl72", "gb300"},
                                 std::pair{"Gaudi 2", "gaudi2"},
                                 std::pair{"Intel Gaudi 3", "gaudi3"},
                                 std::pair{"RTX4090", "rtx-4090"},
                                 std::pair{"RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-blackwell-server"},
                                 std::pair{"GeForce GTX TITAN X", "gtx-titan-x"},
                                 std::pair{"NVIDIA TITAN X (Pascal)", "titan-x-pascal"},
                                 std::pair{"titan-xp", "titan-xp"},
                                 std::pair{"TITAN Xp", "titan-xp"},
                                 std::pair{"TITAN X", "TITAN X"},
                                 std::pair{"B200 NVL72", "B200 NVL72"},
                                 std::pair{"RTX 6000", "RTX 6000"},
                                 std::pair{"M60", "M60"},
                                 std::pair{"my-own", "my-own"},
                                 std::pair{"", ""}})
    EXPECT_EQ(accelerator_of(text), id) << text;
  EXPECT_EQ(accelerator_hint("TITAN X"), "expected one of gtx-titan-x, titan-x-pascal");
}

TEST(FsdpRuns, RefuseWordsThatTheyDoNotKnow) {
  const auto refusal = [](const char* column, const char* text) { return run_of(kFsdp.with(column, text)).refusal; };
  EXPECT_EQ(refusal("activation_checkpointing", "maybe"),
            "activation_checkpointing: found \"maybe\", expected one of yes, no");
  EXPECT_THAT(refusal("activation_checkpointing", ""), HasSubstr("found nothing"));
  EXPECT_THAT(refusal("precision", "xyz"), HasSubstr("precision: found \"xyz\""));
  EXPECT_THAT(refusal("framework", "abacus"), HasSubstr("abacus"));
  EXPECT_THAT(refusal("mixed_precision_mode", "FULL"), HasSubstr("expected one of DEFAULT, PURE"));
  EXPECT_THAT(refusal("inter_node", "slow"), HasSubstr("inter_node: found \"slow\""));
  EXPECT_EQ(run_of(kFsdp.with("inter_node", "slow").with("gpus", "8")).refusal, "");
}

TEST(FsdpRuns, TakeTheFrameworkFormatAndNetworkThatTheyName) {
  EXPECT_EQ(run_of(kFsdp.with("framework", "DeepSpeed")).scenario["strategy"]["framework"], "deepspeed");
  EXPECT_EQ(run_of(kFsdp.with("precision", "amp_fp16")).scenario["workload"]["precision"], "fp16");
  const Json fabric = run_of(kFsdp.with("inter_node", "1600 Gb/s per node RoCE")).scenario["cluster"]["fabric"];
  EXPECT_EQ(fabric["nics_per_node"], 8);
  EXPECT_EQ(fabric["nic_bandwidth_Gbps"], 200);
  EXPECT_EQ(run_of(kFsdp.with("inter_node", "4 x 100 Gb/s RoCE")).scenario["cluster"]["fabric"]["nics_per_node"], 4);
}

TEST(FsdpRuns, TakeTheProgramsThatTheirProfilesStandFor) {
  const auto strategy = [](const char* framework, const char* sharding) {
    return run_of(kFsdp.with("framework", framework).with("sharding", sharding)).scenario["strategy"];
  };
  for (const char* text : {"llm-foundry", "LLM Foundry", "MosaicML Composer", ""})
    EXPECT_EQ(strategy(text, "FULL_SHARD")["framework"], "llm-foundry") << text;
  // ZeRO-3 is FULL_SHARD where a framework has FSDP.
  EXPECT_EQ(strategy("llm-foundry", "ZeRO-3")["sharding"], "fsdp");
  EXPECT_EQ(strategy("PyTorch FSDP", "ZeRO-3")["sharding"], "fsdp");
  EXPECT_EQ(strategy("DeepSpeed", "ZeRO-3")["sharding"], "zero-3");
}

TEST(FsdpRuns, TakeTheKernelOfAttentionThatTheyName) {
  Cells row = kFsdp;
  row.cells.emplace_back("attention", "flash, causal");
  const auto kernel = [&](const char* text) {
    return run_of(row.with("attention", text)).scenario["strategy"].value("attention_kernel", "its own");
  };
  for (const char* text : {"flash, causal", "Flash", "causal", ""}) EXPECT_EQ(kernel(text), "its own") << text;
  EXPECT_EQ(kernel("torch"), "unfused");
  EXPECT_EQ(kernel("torch, causal"), "unfused");
  EXPECT_EQ(kernel("triton"), "flash-triton");
  EXPECT_EQ(kernel("flash2"), "flash-2");
  EXPECT_EQ(kernel("FlashAttention-3, causal"), "native");
  EXPECT_THAT(run_of(row.with("attention", "none")).refusal, HasSubstr("attention: found \"none\""));
  EXPECT_THAT(run_of(row.with("attention", "flash, non-causal")).refusal, HasSubstr("attention: found"));
}

TEST(Frameworks, AreTakenByTheirMechanism) {
  for (const auto& [framework, sharding, profile] :
       {std::tuple{"Paxml", "", "jax"},
        std::tuple{"AXLearn", "", "jax"},
        std::tuple{"GPT-NeoX", "", "megatron-deepspeed"},
        std::tuple{"OneFlow", "", "libai"},
        std::tuple{"PaddlePaddle", "", "paddlepaddle-fleet"},
        std::tuple{"Mesh TensorFlow", "", "mesh-tensorflow"},
        std::tuple{"llm-foundry (PyTorch FSDP)", "FULL_SHARD", "llm-foundry"},
        std::tuple{"LitGPT", "", "pytorch-fsdp"},
        std::tuple{"DDP", "", "pytorch-ddp"},
        std::tuple{"PyTorch DDP", "FSDP", "pytorch-ddp"},
        std::tuple{"PyTorch", "FULL_SHARD", "pytorch-fsdp"},
        std::tuple{"PyTorch", "ZeRO-1", "pytorch-ddp"},
        std::tuple{"Hugging Face Trainer", "", "pytorch-ddp"},
        std::tuple{"HuggingFace Accelerate", "ZeRO-3", "deepspeed"},
        std::tuple{"Accelerate", "FSDP", "pytorch-fsdp"},
        std::tuple{"Hugging Face Trainer + DeepSpeed", "", "deepspeed"},
        std::tuple{"PyTorch Lightning", "FSDP", "pytorch-fsdp"},
        std::tuple{"Lightning", "ZeRO-2", "deepspeed"},
        std::tuple{"Colossal-AI", "", "megatron-lm"},
        std::tuple{"ColossalAI (Gemini)", "Gemini", "deepspeed"},
        std::tuple{"Megatron DDP", "", "megatron-lm"}}) {
    const FrameworkDefaults* found = find_defaults(framework, {}, sharding);
    ASSERT_NE(found, nullptr) << framework;
    EXPECT_EQ(found->profile, profile) << framework << ", " << sharding;
  }
  EXPECT_EQ(find_defaults("Cerebras"), nullptr);
}

TEST(StatedWords, RecomputationMayBeAFlag) {
  for (const char* text : {"true", "Yes", "on", "1", "activation checkpointing", "gradient_checkpointing"})
    EXPECT_EQ(stated_recomputation(text), "full") << text;
  for (const char* text : {"false", "no", "off", "0", "no recomputation"})
    EXPECT_EQ(stated_recomputation(text), "none") << text;
  for (const char* text : {"", "selective", "full, block 4", "sometimes"}) EXPECT_EQ(stated_recomputation(text), text);
}

const Cells kCut{{{"gpu", "b200-sxm-180gb"},
                  {"gpus", "8"},
                  {"model", "llama3_8b"},
                  {"layers", "12"},
                  {"tensor_parallel", "1"},
                  {"expert_parallel", "1"},
                  {"context_parallel", "1"},
                  {"pipeline_parallel", "2"},
                  {"data_parallel", "4"},
                  {"micro_batches", "4"},
                  {"micro_batch", "1"},
                  {"seq_len", "4096"},
                  {"measured_step_time_ms", "900"},
                  {"measured_peak_allocated_gib", ""}}};

TEST(CutModelRuns, AreOfAnyPreset) {
  const auto shape = [](const char* model) {
    const MeasuredRun run = run_of(kCut.with("model", model));
    EXPECT_EQ(run.refusal, "") << model;
    return run.scenario["workload"]["model"]["transformer"];
  };
  EXPECT_EQ(shape("llama3_8b")["hidden"], 4096);
  EXPECT_EQ(shape("llama2_70b")["layers"], 12);
  EXPECT_EQ(shape("kimi_k2")["dense_layers"], 1);
  EXPECT_EQ(shape("gpt3_175b")["hidden"], 12288);
  for (const char* all_experts : {"mixtral_8x7b", "qwen3_235b_a22b"})
    EXPECT_EQ(shape(all_experts).value("dense_layers", 0), 0) << all_experts;
  EXPECT_EQ(shape("llama3_405b")["kv_heads"], 16);
  EXPECT_THAT(run_of(kCut.with("model", "resnet50")).refusal, HasSubstr("shape of resnet50 is not known"));
  EXPECT_THAT(run_of(kCut.with("model", "lama3_8b")).refusal, HasSubstr("did you mean \"llama3-8b\"?"));
}

TEST(PublishedMegatronRuns, UnderstandTheirFlagAndRefuseOthers) {
  const Cells row{{{"layers", "48"},
                   {"hidden", "6144"},
                   {"heads", "64"},
                   {"vocab", "51200"},
                   {"seq_len", "2048"},
                   {"tensor_parallel", "8"},
                   {"pipeline_parallel", "1"},
                   {"interleaved_stages", ""},
                   {"gpus", "8"},
                   {"gpu", "a100-sxm-80gb"},
                   {"global_batch", "4"},
                   {"micro_batch", "4"},
                   {"recompute", "selective"},
                   {"sequence_parallel", "True"},
                   {"metric", "step_time_s"},
                   {"value", "1.1"}}};
  EXPECT_EQ(run_of(row).scenario["strategy"]["sequence_parallel"], true);
  EXPECT_THAT(run_of(row.with("sequence_parallel", "perhaps")).refusal, HasSubstr("sequence_parallel: found"));
  EXPECT_EQ(run_of(row.with("sequence_parallel", "")).scenario["strategy"]["sequence_parallel"], false);
  EXPECT_EQ(run_of(row.with("recompute", "True")).scenario["strategy"]["recompute"], "full");
  EXPECT_THAT(run_of(row.with("metric", "hours")).refusal, HasSubstr("metric: found \"hours\""));
}

const Cells kDeepLearning{{{"id", "a"},
                           {"source", "s"},
                           {"model", "resnet50"},
                           {"dataset", "imagenet"},
                           {"framework", "pytorch"},
                           {"accelerator_id", "v100-sxm2-16gb"},
                           {"gpus", "8"},
                           {"gpus_per_node", "8"},
                           {"network", ""},
                           {"precision", "fp32"},
                           {"per_gpu_batch", "64"},
                           {"global_batch", "512"},
                           {"sync_mode", "allreduce"},
                           {"samples_per_s", "2800"},
                           {"unit", "images/s"},
                           {"notes", ""}}};

TEST(DeepLearningRows, UnderstandFormatsAndModels) {
  const auto precision = [](const char* text) {
    return run_of(kDeepLearning.with("precision", text)).scenario["workload"]["precision"];
  };
  for (const char* text : {"FP16", "amp", "mixed", "fp16 (amp)"}) EXPECT_EQ(precision(text), "fp16") << text;
  EXPECT_EQ(run_of(kDeepLearning.with("model", "ResNet-50 v1.5")).scenario["workload"]["model"], "resnet50");
  EXPECT_THAT(run_of(kDeepLearning.with("precision", "fp23")).refusal, HasSubstr("precision: found \"fp23\""));
  EXPECT_THAT(run_of(kDeepLearning.with("framework", "pytroch")).refusal, HasSubstr("did you mean \"pytorch\"?"));
}

TEST(DeepLearningRows, RefuseBatchesThatContradictEachOther) {
  const auto refusal = [](const char* micro, const char* global) {
    return run_of(kDeepLearning.with("per_gpu_batch", micro).with("global_batch", global)).refusal;
  };
  EXPECT_EQ(refusal("64", "100"), "global_batch: 100 samples are no whole number of passes of 64 on each of 8 GPUs");
  EXPECT_EQ(refusal("64", "1024"), "");
  EXPECT_EQ(refusal("131072", "1048580"), "");  // as tables print 2^20
  EXPECT_EQ(refusal("0.5", "4"), "");           // a sample is cut over devices
}

TEST(DeepLearningRows, RefuseUnitsThatTheyDoNotKnow) {
  EXPECT_EQ(run_of(kDeepLearning.with("unit", "img/s")).refusal, "");
  EXPECT_EQ(run_of(kDeepLearning.with("unit", "Images/s")).refusal, "");
  for (const char* text : {"", "s", "foo", "images/s/GPU"})
    EXPECT_THAT(run_of(kDeepLearning.with("unit", text)).refusal, HasSubstr("unit: found")) << text;
}

MeasuredOperator operator_of(const Cells& cells) { return read_operators(cells.table(), "t").operators.front(); }

const Cells kAttention{{{"accelerator_id", "h100-sxm-80gb"},
                        {"precision", "bf16"},
                        {"implementation", "flash3"},
                        {"direction", "fwd"},
                        {"batch", "1"},
                        {"heads", "32"},
                        {"kv_heads", "8"},
                        {"head_dim", "128"},
                        {"head_dim_v", "128"},
                        {"seq_q", "4096"},
                        {"seq_kv", "4096"},
                        {"causal", "1"},
                        {"time_us", "500"},
                        {"source", "me"}}};

TEST(AttentionRows, UnderstandFlagsAndDirectionsAndRefuseOthers) {
  const auto causal = [](const char* text) {
    return std::get<AttentionWork>(operator_of(kAttention.with("causal", text)).work).shape.causal;
  };
  EXPECT_TRUE(causal("True"));
  EXPECT_TRUE(causal("yes"));
  EXPECT_FALSE(causal("0"));
  EXPECT_THAT(operator_of(kAttention.with("causal", "maybe")).refusal, HasSubstr("causal: found \"maybe\""));
  EXPECT_THAT(operator_of(kAttention.with("causal", "")).refusal, HasSubstr("causal: found nothing"));
  EXPECT_EQ(std::get<AttentionWork>(operator_of(kAttention.with("direction", "Backward")).work).shape.pass,
            AttentionPass::backward);
  EXPECT_THAT(operator_of(kAttention.with("direction", "sideways")).refusal,
              HasSubstr("expected one of fwd, bwd, fwd+bwd"));
}

TEST(StreamingRows, RefuseOperatorsAndDirectionsThatTheyDoNotKnow) {
  const Cells row{{{"accelerator_id", "h100-sxm-80gb"},
                   {"op", "rms_norm"},
                   {"direction", "fwd"},
                   {"precision", "bf16"},
                   {"rows", "4096"},
                   {"cols", "4096"},
                   {"bytes", "67108864"},
                   {"time_us", "40"},
                   {"implementation", "torch"},
                   {"source", "me"}}};
  EXPECT_EQ(std::get<StreamingWork>(operator_of(row.with("op", "RMSNorm")).work).kernel, "rms_norm.fwd.eager");
  EXPECT_EQ(std::get<StreamingWork>(operator_of(row.with("op", "embedding_vocab_512")).work).kernel,
            "embedding.fwd.eager");
  EXPECT_THAT(operator_of(row.with("op", "rms_nrm")).refusal, HasSubstr("did you mean \"rms_norm\"?"));
  for (const char* column : {"op", "direction"})
    for (const char* text : {"", "foo"})
      EXPECT_THAT(operator_of(row.with(column, text)).refusal, HasSubstr(fmt::format("{}: found", column))) << text;
  EXPECT_EQ(operator_of(row.with("precision", "float16 -> FP8")).format, "fp16->fp8");
  EXPECT_THAT(operator_of(row.with("precision", "bf16->fp9")).refusal, HasSubstr("precision: found"));
  const OperatorSetScore score = score_operators(read_operators(row.with("op", "foo").table(), "t"), catalog());
  EXPECT_EQ(score.errors.covered, 0U);
}

TEST(ConvolutionRows, RefuseDirectionsThatTheyDoNotKnow) {
  const Cells row{{{"accelerator_id", "v100-sxm2-16gb"},
                   {"precision", "fp32"},
                   {"n", "16"},
                   {"c", "64"},
                   {"h", "56"},
                   {"w", "56"},
                   {"k", "64"},
                   {"r", "3"},
                   {"s", "3"},
                   {"pad_h", "1"},
                   {"pad_w", "1"},
                   {"stride_h", "1"},
                   {"stride_w", "1"},
                   {"direction", "wgrad"},
                   {"time_us", "100"},
                   {"source", "me"}}};
  EXPECT_EQ(std::get<ConvolutionWork>(operator_of(row).work).shape.pass, ConvolutionPass::weight_gradient);
  for (const char* text : {"", "foo"})
    EXPECT_THAT(operator_of(row.with("direction", text)).refusal, HasSubstr("direction: found")) << text;
}

const Cells kProduct{{{"accelerator_id", "b200-sxm-180gb"},
                      {"precision", "bf16"},
                      {"batch", "1"},
                      {"m", "4096"},
                      {"n", "4096"},
                      {"k", "4096"},
                      {"layout", "TN"},
                      {"time_us", "150"},
                      {"library", "cublas"},
                      {"source", "me"}}};

TEST(ProductRows, NeedTheirBatch) {
  EXPECT_THROW(operator_of(kProduct.with("batch", "")), InputError);
  EXPECT_EQ(operator_of(kProduct.with("batch", "2")).refusal, "");
}

TEST(ProductRows, NameTheirFormatInAnySpelling) {
  for (const auto& [text, format] :
       {std::pair{"nvfp4", "fp4"}, std::pair{"MXFP4", "fp4"}, std::pair{"fp8_e4m3", "fp8"},
        std::pair{"fp8-e5m2", "fp8"}, std::pair{"float8_e4m3fn", "fp8"}, std::pair{"bfloat16", "bf16"},
        std::pair{"half", "fp16"}, std::pair{"float16", "fp16"}, std::pair{"float32", "fp32"},
        std::pair{"double", "fp64"}, std::pair{"FP16-Tensor", "fp16-tensor"}, std::pair{"fp8_block", "fp8_block"},
        std::pair{"MXFP8", "mxfp8"}}) {
    const MeasuredOperator row = operator_of(kProduct.with("precision", text));
    EXPECT_EQ(row.format, format) << text;
    EXPECT_EQ(row.refusal, "") << text;
  }
  const auto time = [](const char* text) {
    return predict_operator(operator_of(kProduct.with("precision", text)), catalog()).time;
  };
  ASSERT_TRUE(time("nvfp4").has_value());
  EXPECT_EQ(time("nvfp4"), time("fp4"));
  EXPECT_LT(*time("nvfp4"), *time("fp8"));
  for (const char* text : {"", "fp9", "nvfp"})
    EXPECT_THAT(operator_of(kProduct.with("precision", text)).refusal, HasSubstr("precision: found")) << text;
}

MeasuredCollective collective_of(const Cells& cells) { return read_collectives(cells.table(), catalog()).front(); }

const Cells kCollective{{{"system_id", "x"},
                         {"gpu", "H100-SXM-80GB"},
                         {"gpus_per_node", "8"},
                         {"nodes", "1"},
                         {"ranks", "8"},
                         {"nic", "none"},
                         {"library_version", "NCCL 2.28"},
                         {"op", "all_reduce"},
                         {"dtype", "fp32"},
                         {"in_place", "no"},
                         {"size_bytes", "1048576"},
                         {"time_us", "60"},
                         {"config", ""},
                         {"healthy", "yes"}}};

TEST(CollectiveRows, UnderstandSpellingsAndRefuseOtherWords) {
  EXPECT_EQ(collective_of(kCollective).refusal, "");
  EXPECT_EQ(collective_of(kCollective.with("op", "AllGather")).kind, CollectiveKind::all_gather);
  EXPECT_TRUE(collective_of(kCollective.with("healthy", "True")).healthy);
  EXPECT_FALSE(collective_of(kCollective.with("healthy", "unknown")).healthy);
  EXPECT_EQ(collective_of(kCollective.with("dtype", "double")).width, ElementWidth::wide);
  EXPECT_EQ(
      collective_of(kCollective.with("gpu", "TITAN X")).refusal,
      "gpu: no accelerator of the catalogue is meant by \"TITAN X\", expected one of gtx-titan-x, titan-x-pascal");
  EXPECT_EQ(collective_of(kCollective.with("op", "all_redcue")).refusal,
            "op: found \"all_redcue\", did you mean \"all_reduce\"?");
  for (const char* column : {"op", "dtype", "healthy"})
    for (const char* text : {"", "maybe"})
      EXPECT_THAT(collective_of(kCollective.with(column, text)).refusal, HasSubstr(fmt::format("{}: found", column)))
          << text;
}

TEST(CollectiveRows, RefuseCountsOfRanksThatContradictEachOther) {
  const auto refusal = [](const char* per_node, const char* nodes, const char* ranks) {
    return collective_of(kCollective.with("gpus_per_node", per_node)
                             .with("nodes", nodes)
                             .with("ranks", ranks)
                             .with("nic", "8x 400G IB NDR"))
        .refusal;
  };
  EXPECT_EQ(refusal("8", "2", "16"), "");
  EXPECT_EQ(refusal("8", "1", "2"), "");  // some of a node's
  EXPECT_EQ(refusal("8", "2", "2"), "");  // of each node's
  EXPECT_EQ(refusal("4", "1", "8"), "8 ranks on 1 node of 4 GPUs, which hold 4");
  EXPECT_EQ(refusal("8", "3", "8"), "8 ranks on 3 nodes of 8 GPUs, which hold 24");
  EXPECT_THAT(refusal("8", "1", "1000000"), HasSubstr("which hold 8"));
  EXPECT_THAT(refusal("1e15", "1e15", "8"), HasSubstr("more than 1000000"));
  EXPECT_EQ(refusal("1", "1", "1"), "one rank has nobody to talk to");
}

TEST(CollectiveRows, TakeTheAlgorithmAndProtocolThatTheirConfigForces) {
  const Cells large = kCollective.with("size_bytes", "8589934592");
  const auto time = [&](const Cells& row, const char* config) {
    const MeasuredCollective read = collective_of(row.with("config", config));
    EXPECT_EQ(read.refusal, "") << config;
    return predicted_us(read);
  };
  const double chosen = time(large, ""), ring = time(large, "NCCL_ALGO=Ring");
  EXPECT_GT(ring, 1.2 * chosen);  // the switches add
  for (const char* config :
       {"NCCL_ALGO=RING, 100 iterations", "NCCL_ALGO=Ring,Tree", "NCCL_ALGO=^NVLS", "NCCL_NVLS_ENABLE=0",
        "NCCL_PROTO=Simple NCCL_ALGO=ring", "NCCL_ALGO=Ring,NCCL_PROTO=Simple"})
    EXPECT_NEAR(time(large, config) / ring, 1, 0.02) << config;
  EXPECT_EQ(time(large, "NCCL_ALGO=NVLS"), chosen);
  for (const char* config : {"-n 50", "NCCL_MIN_NCHANNELS=4", "NCCL_NVLS_ENABLE=1", "NCCL_P2P_DISABLE=0"})
    EXPECT_EQ(time(large, config), chosen) << config;
  EXPECT_GT(time(large, "NCCL_PROTO=LL"), 1.5 * ring);
  const Cells gather = large.with("op", "all_gather");
  EXPECT_EQ(time(gather, "NCCL_ALGO=Tree"), time(gather, "NCCL_ALGO=Ring"));
  EXPECT_EQ(time(large.with("op", "all_to_all"), "NCCL_PROTO=LL"), time(large.with("op", "all_to_all"), ""));
}

TEST(CollectiveRows, RefuseSettingsThatAreNoneOrHaveNoConstants) {
  const auto refusal = [](const Cells& row, const char* config) {
    return collective_of(row.with("config", config)).refusal;
  };
  EXPECT_EQ(refusal(kCollective, "NCCL_ALGO=Rinf"), "config: NCCL_ALGO: found \"Rinf\", did you mean \"Ring\"?");
  EXPECT_THAT(refusal(kCollective, "NCCL_ALGO=allreduce:ring"), HasSubstr("expected one of Ring, Tree"));
  EXPECT_THAT(refusal(kCollective, "NCCL_PROTO=^LL"), HasSubstr("expected one of Simple, LL, LL128"));
  EXPECT_THAT(refusal(kCollective, "NCCL_P2P_DISABLE=1"), HasSubstr("through the host's memory"));
  EXPECT_THAT(refusal(kCollective.with("gpu", "A100-SXM4-80GB"), "NCCL_ALGO=NVLS"), HasSubstr("cannot add"));
  EXPECT_THAT(refusal(kCollective, "NCCL_ALGO=NVLS NCCL_NVLS_ENABLE=0"), HasSubstr("NCCL_NVLS_ENABLE=0 has none"));
  EXPECT_EQ(refusal(kCollective, "NCCL_NET=Socket"), "");  // one node
  const Cells two = kCollective.with("nodes", "2").with("ranks", "16").with("nic", "8x 400G IB NDR");
  EXPECT_EQ(refusal(two, "NCCL_NET=IB"), "");
  EXPECT_EQ(refusal(two, "NCCL_NET=Socket"), "config: NCCL_NET=Socket: no constants of sockets over infiniband");
  EXPECT_THAT(refusal(two, "NCCL_IB_DISABLE=1"), HasSubstr("no constants of sockets over infiniband"));
  EXPECT_EQ(refusal(two.with("nic", "1x 100G Ethernet, TCP"), "NCCL_NET=Socket"), "");
}

TEST(CollectiveRows, BetweenProcessorsNeedASize) {
  const Cells row{{{"system_id", "x"},
                   {"cpu", "c"},
                   {"ranks_per_node", "1"},
                   {"nodes", "4"},
                   {"ranks", "4"},
                   {"network", "1x 100G IB EDR"},
                   {"library_version", "Open MPI 4.1"},
                   {"op", "all_reduce"},
                   {"size_bytes", ""},
                   {"time_us", "10"},
                   {"healthy", "yes"}}};
  EXPECT_EQ(collective_of(row).refusal, "the size is not stated");
  EXPECT_EQ(collective_of(row.with("size_bytes", "0")).refusal, "");
  EXPECT_THAT(collective_of(row.with("size_bytes", "8").with("nodes", "3")).refusal, HasSubstr("3 nodes of 1 ranks"));
  const Cells sized = row.with("size_bytes", "8");
  EXPECT_EQ(collective_of(sized.with("library_version", "openmpi/4.1.4")).host.library, HostLibrary::open_mpi_4_1);
  EXPECT_EQ(collective_of(sized.with("library_version", "Intel MPI 2021")).refusal,
            "library_version: found \"Intel MPI 2021\", expected one of Open MPI, MPICH, Gloo");
}

}  // namespace
}  // namespace stepcast::measured_words_test
