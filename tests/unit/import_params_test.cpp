// Llama's and Mistral's own params.json, NeMo's and Megatron-Bridge's YAML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "calibration/importers/models/huggingface.hpp"
#include "calibration/importers/models/imported_scenario.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::import_params_test {
namespace {

using testing::HasSubstr;

ImportedModel params(const char* text) {
  return import_huggingface(Json::parse(text), HuggingFaceName{"params.json", "model"}, std::nullopt);
}

// Counts of the published checkpoints.
TEST(Params, ParametersAreThePublishedOnes) {
  EXPECT_NEAR(params(R"({"dim": 4096, "ffn_dim_multiplier": 1.3, "multiple_of": 1024, "n_heads": 32, "n_kv_heads": 8,
                         "n_layers": 32, "norm_eps": 1e-05, "rope_theta": 500000.0, "vocab_size": 128256})")
                  .parameters,
              8030261248, 1e6);
  EXPECT_NEAR(params(R"({"dim": 2048, "ffn_dim_multiplier": 1.5, "multiple_of": 256, "n_heads": 32, "n_kv_heads": 8,
                         "n_layers": 16, "norm_eps": 1e-05, "rope_theta": 500000.0, "use_scaled_rope": true,
                         "vocab_size": 128256})")
                  .parameters,
              1235814400, 1e6);
  EXPECT_NEAR(params(R"({"dim": 8192, "multiple_of": 4096, "ffn_dim_multiplier": 1.3, "n_heads": 64, "n_kv_heads": 8,
                         "n_layers": 80, "norm_eps": 1e-05, "vocab_size": -1})")
                  .parameters,
              68976648192, 1e7);
  EXPECT_NEAR(params(R"({"dim": 4096, "n_layers": 32, "head_dim": 128, "hidden_dim": 14336, "n_heads": 32,
                         "n_kv_heads": 8, "norm_eps": 1e-05, "sliding_window": 4096, "vocab_size": 32000})")
                  .parameters,
              7241732096, 1e6);
  EXPECT_NEAR(params(R"({"dim": 4096, "n_layers": 32, "head_dim": 128, "hidden_dim": 14336, "n_heads": 32,
                         "n_kv_heads": 8, "norm_eps": 1e-05, "vocab_size": 32000,
                         "moe": {"num_experts_per_tok": 2, "num_experts": 8}})")
                  .parameters,
              46702792704, 1e7);
}

TEST(Params, WhatTheFileDoesNotSayIsNoted) {
  const ImportedModel model = params(R"({"dim": 4096, "multiple_of": 256, "n_heads": 32, "n_layers": 32,
                                         "norm_eps": 1e-06, "vocab_size": -1, "tomorrow": 3})");
  const std::string notes = Json(model.notes).dump();
  EXPECT_THAT(notes, HasSubstr("32000 is taken"));
  EXPECT_THAT(notes, HasSubstr("tomorrow"));
  EXPECT_NEAR(model.parameters, 6738415616, 1e6);
}

TEST(Params, DistilBertIsNone) {
  EXPECT_FALSE(is_huggingface(Json::parse(R"({"dim": 768, "n_layers": 6})")));
  const ImportedModel model = params(R"({"model_type": "distilbert", "dim": 768, "hidden_dim": 3072, "n_heads": 12,
                                         "n_layers": 6, "max_position_embeddings": 512, "vocab_size": 30522})");
  EXPECT_EQ(model.model["family"], "encoder");
}

TEST(Params, WrongValuesAreFaults) {
  EXPECT_THROW(params(R"({"dim": 4096, "multiple_of": 256, "n_heads": 32, "n_layers": 32, "vocab_size": "x"})"),
               InputError);
}

ImportedScenario megatron(const std::string& text, ImportTarget target = {}) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder / "config.yaml";
  std::ofstream(file) << text;
  return import_megatron(file, target, test::catalog());
}

TEST(MegatronYaml, Nemo) {
  const ImportedScenario out = megatron(R"(defaults:
  - .@model.tokenizer: tokenizer
run:
  name: gpt3_5b
trainer:
  num_nodes: 16
  devices: 8
  accelerator: gpu
  precision: bf16
  max_steps: 100
exp_manager:
  explicit_log_dir: /results
model:
  micro_batch_size: 2
  global_batch_size: 2048
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 1
  virtual_pipeline_model_parallel_size: null
  sequence_parallel: true
  encoder_seq_length: 2048
  max_position_embeddings: ${.encoder_seq_length}
  num_layers: 24
  hidden_size: 4096
  ffn_hidden_size: ${multiply:4, ${.hidden_size}}
  num_attention_heads: 32
  activations_checkpoint_granularity: selective
  overlap_p2p_comm: false
  of_tomorrow: 7
  tokenizer:
    library: megatron
    type: GPT2BPETokenizer
    vocab_file: v.json
  optim:
    name: distributed_fused_adam
    overlap_grad_sync: true
    lr: 1.6e-4
  data:
    seq_length: 2048
)");
  EXPECT_EQ(out.scenario["cluster"]["nodes"], 16);
  EXPECT_EQ(out.scenario["strategy"]["tensor_parallel"], 2);
  EXPECT_EQ(out.scenario["strategy"]["sequence_parallel"], true);
  EXPECT_EQ(out.scenario["strategy"]["sharding"], "zero-1");
  EXPECT_EQ(out.scenario["strategy"]["recompute"], "selective");
  EXPECT_EQ(out.scenario["workload"]["global_batch"], 2048);
  EXPECT_EQ(out.scenario["workload"]["precision"], "bf16");
  EXPECT_EQ(out.scenario["workload"]["model"]["transformer"]["ffn_hidden"], 16384);
  EXPECT_EQ(out.scenario["workload"]["model"]["transformer"]["vocab"], 50432);
  const std::string notes = Json(out.notes).dump();
  EXPECT_THAT(notes, HasSubstr("--of-tomorrow"));
  EXPECT_THAT(notes, HasSubstr("not followed, their keys not used: ffn_hidden_size"));
}

TEST(MegatronYaml, Bridge) {
  const ImportedScenario out = megatron(R"(_target_: megatron.bridge.training.config.ConfigContainer
model:
  _target_: megatron.bridge.models.Llama3ModelProvider8B
  num_layers: 32
  hidden_size: 4096
  ffn_hidden_size: 14336
  num_attention_heads: 32
  num_query_groups: 8
  gated_linear_unit: true
  normalization: RMSNorm
  add_bias_linear: false
  share_embeddings_and_output_weights: false
  position_embedding_type: rope
  hidden_dropout: 0.0
  seq_length: 8192
  vocab_size: 128256
  tensor_model_parallel_size: 1
  context_parallel_size: 2
  pipeline_model_parallel_size: 1
train: {global_batch_size: 512, micro_batch_size: 1, train_iters: 10}
dataset:
  sequence_length: 8192
ddp:
  use_distributed_optimizer: true
  overlap_grad_reduce: true
  overlap_param_gather: true
  grad_reduce_in_fp32: false
optimizer:
  optimizer: adam
  bf16: true
mixed_precision: bf16_mixed
)",
                                        {.nodes = 2});
  const Json& strategy = out.scenario["strategy"];
  EXPECT_EQ(strategy["context_parallel"], 2);
  EXPECT_EQ(strategy["sharding"], "zero-1");
  EXPECT_EQ(strategy["gradients_in_fp32"], false);
  EXPECT_EQ(out.scenario["workload"]["seq_len"], 8192);
  const Json& shape = out.scenario["workload"]["model"]["transformer"];
  EXPECT_EQ(shape["kv_heads"], 8);
  EXPECT_EQ(shape["gated_mlp"], true);
  EXPECT_EQ(shape["biases"], false);
  EXPECT_EQ(shape["norm"], "rms_norm");
}

TEST(MegatronYaml, OptimizersAreAsTheOptionNamesThem) {
  const auto optimizer = [](const std::string& section) {
    return megatron(
               "model:\n  num_layers: 2\n  hidden_size: 1024\n  num_attention_heads: 16\n  seq_length: 1024\n"
               "  vocab_size: 32000\n  micro_batch_size: 1\n  global_batch_size: 8\n" +
               section)
        .scenario["strategy"]
        .value("optimizer", "");
  };
  EXPECT_EQ(optimizer("optimizer: {optimizer: adam}\n"), "");
  EXPECT_EQ(optimizer("optimizer: {optimizer: sgd}\n"), "sgd");
  EXPECT_EQ(optimizer("  optim: {name: distributed_fused_adam}\n"), "");
  EXPECT_EQ(optimizer("  optim: {name: adamw_8bit}\n"), "adam-8bit");
}

TEST(MegatronYaml, FaultsHaveTheirLine) {
  try {
    megatron("model:\n  num_layers: 2\n  num_layers: 3\n");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("line 3: key \"num_layers\" is given twice"));
  }
}

}  // namespace
}  // namespace stepcast::import_params_test
