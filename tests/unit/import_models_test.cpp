#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "calibration/importers/models/huggingface.hpp"
#include "calibration/importers/models/imported_scenario.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/operators.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::import_models_test {
namespace {

using test::catalog;
using testing::Contains;
using testing::HasSubstr;

std::filesystem::path written(const std::string& name, const std::string& text) {
  static const ScratchFolder folder;
  const std::filesystem::path file = folder / name;
  std::ofstream(file) << text;
  return file;
}

std::string faults_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no fault";
}

struct Published {
  const char* name;
  const char* config;
  double parameters;  ///< of the checkpoint's state dictionary
};

// Configurations and totals as their makers publish them on huggingface.co (config.json; model.safetensors.index.json).
const std::vector<Published> kPublished{
    {"Meta-Llama-3-8B", R"({"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,
      "num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":8192,
      "tie_word_embeddings":false,"attention_bias":false})",
     8030261248.0},
    {"Llama-3.2-1B", R"({"model_type":"llama","hidden_size":2048,"intermediate_size":8192,"num_hidden_layers":16,
      "num_attention_heads":32,"num_key_value_heads":8,"head_dim":64,"vocab_size":128256,
      "max_position_embeddings":131072,"tie_word_embeddings":true})",
     1235814400.0},
    {"Mistral-7B-v0.1", R"({"model_type":"mistral","hidden_size":4096,"intermediate_size":14336,
      "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":32000,
      "max_position_embeddings":32768,"sliding_window":4096,"tie_word_embeddings":false})",
     7241732096.0},
    {"Mixtral-8x7B-v0.1", R"({"model_type":"mixtral","hidden_size":4096,"intermediate_size":14336,
      "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"num_local_experts":8,
      "num_experts_per_tok":2,"vocab_size":32000,"max_position_embeddings":32768,"sliding_window":null})",
     46702792704.0},
    {"Qwen2.5-7B", R"({"model_type":"qwen2","hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,
      "num_attention_heads":28,"num_key_value_heads":4,"vocab_size":152064,"max_position_embeddings":131072,
      "sliding_window":131072,"use_sliding_window":false,"max_window_layers":28,"tie_word_embeddings":false})",
     7615616512.0},
    {"Qwen3-8B", R"({"model_type":"qwen3","hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":36,
      "num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"vocab_size":151936,
      "max_position_embeddings":40960,"tie_word_embeddings":false})",
     8190735360.0},
    {"Qwen3-30B-A3B", R"({"model_type":"qwen3_moe","hidden_size":2048,"intermediate_size":6144,
      "moe_intermediate_size":768,"num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,
      "head_dim":128,"num_experts":128,"num_experts_per_tok":8,"decoder_sparse_step":1,"mlp_only_layers":[],
      "vocab_size":151936,"max_position_embeddings":40960,"tie_word_embeddings":false})",
     30532122624.0},
    {"Qwen1.5-MoE-A2.7B", R"({"model_type":"qwen2_moe","hidden_size":2048,"intermediate_size":5632,
      "moe_intermediate_size":1408,"shared_expert_intermediate_size":5632,"num_hidden_layers":24,
      "num_attention_heads":16,"num_key_value_heads":16,"num_experts":60,"num_experts_per_tok":4,
      "decoder_sparse_step":1,"vocab_size":151936,"max_position_embeddings":8192,"tie_word_embeddings":false})",
     14315784192.0},
    {"DeepSeek-V3", R"({"model_type":"deepseek_v3","hidden_size":7168,"intermediate_size":18432,
      "moe_intermediate_size":2048,"num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,
      "n_routed_experts":256,"n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":3,
      "moe_layer_freq":1,"q_lora_rank":1536,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,
      "v_head_dim":128,"vocab_size":129280,"max_position_embeddings":163840,"num_nextn_predict_layers":1,
      "n_group":8,"topk_group":4,
      "tie_word_embeddings":false})",
     671026419200.0},
    {"DeepSeek-V2-Lite", R"({"model_type":"deepseek_v2","hidden_size":2048,"intermediate_size":10944,
      "moe_intermediate_size":1408,"num_hidden_layers":27,"num_attention_heads":16,"num_key_value_heads":16,
      "n_routed_experts":64,"n_shared_experts":2,"num_experts_per_tok":6,"first_k_dense_replace":1,
      "moe_layer_freq":1,"q_lora_rank":null,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,
      "v_head_dim":128,"vocab_size":102400,"max_position_embeddings":163840,"tie_word_embeddings":false})",
     15706484224.0},
    {"NVIDIA-Nemotron-3-Nano-30B-A3B", R"({"model_type":"nemotron_h","hidden_size":2688,"intermediate_size":1856,
      "num_hidden_layers":52,"hybrid_override_pattern":"MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
      "num_attention_heads":32,"num_key_value_heads":2,"head_dim":128,"mamba_num_heads":64,"mamba_head_dim":64,
      "ssm_state_size":128,"n_groups":8,"conv_kernel":4,"chunk_size":128,"n_routed_experts":128,"n_shared_experts":1,
      "num_experts_per_tok":6,"moe_intermediate_size":1856,"moe_shared_expert_intermediate_size":3712,
      "moe_latent_size":null,"vocab_size":131072,"max_position_embeddings":262144,"tie_word_embeddings":false,
      "mlp_hidden_act":"relu2","use_bias":false,"use_conv_bias":true})",
     31.6e9},
    {"Nemotron-H-8B-Base-8K", R"({"model_type":"nemotron_h","hidden_size":4096,"intermediate_size":21504,
      "num_hidden_layers":52,"hybrid_override_pattern":"M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
      "num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"mamba_num_heads":128,"mamba_head_dim":64,
      "ssm_state_size":128,"n_groups":8,"conv_kernel":4,"chunk_size":128,"vocab_size":131072,
      "max_position_embeddings":8192,"tie_word_embeddings":false})",
     8.1e9},
    {"gpt-oss-20b", R"({"model_type":"gpt_oss","hidden_size":2880,"intermediate_size":2880,"num_hidden_layers":24,
      "num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,"num_local_experts":32,"num_experts_per_tok":4,
      "experts_per_token":4,"sliding_window":128,"attention_bias":true,"vocab_size":201088,
      "max_position_embeddings":131072,"tie_word_embeddings":false,
      "layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"]})",
     20914757184.0},
    {"gemma-2-9b", R"({"model_type":"gemma2","hidden_size":3584,"intermediate_size":14336,"num_hidden_layers":42,
      "num_attention_heads":16,"num_key_value_heads":8,"head_dim":256,"vocab_size":256000,
      "max_position_embeddings":8192,"sliding_window":4096,"attn_logit_softcapping":50.0,
      "final_logit_softcapping":30.0,"query_pre_attn_scalar":256,"hidden_activation":"gelu_pytorch_tanh"})",
     9241705984.0},
    {"gemma-3-1b-pt", R"({"model_type":"gemma3_text","hidden_size":1152,"intermediate_size":6912,
      "num_hidden_layers":26,"num_attention_heads":4,"num_key_value_heads":1,"head_dim":256,"vocab_size":262144,
      "max_position_embeddings":32768,"sliding_window":512,"sliding_window_pattern":6,"rope_local_base_freq":10000})",
     999885952.0},
    {"Phi-3-mini-4k", R"({"model_type":"phi3","hidden_size":3072,"intermediate_size":8192,"num_hidden_layers":32,
      "num_attention_heads":32,"num_key_value_heads":32,"vocab_size":32064,"max_position_embeddings":4096,
      "original_max_position_embeddings":4096,"sliding_window":2047,"tie_word_embeddings":false})",
     3821079552.0},
    {"phi-2", R"({"model_type":"phi","hidden_size":2560,"intermediate_size":10240,"num_hidden_layers":32,
      "num_attention_heads":32,"num_key_value_heads":32,"vocab_size":51200,"max_position_embeddings":2048,
      "partial_rotary_factor":0.4,"qk_layernorm":false,"resid_pdrop":0.1,"tie_word_embeddings":false})",
     2779683840.0},
    {"pythia-6.9b", R"({"model_type":"gpt_neox","hidden_size":4096,"intermediate_size":16384,"num_hidden_layers":32,
      "num_attention_heads":32,"vocab_size":50432,"max_position_embeddings":2048,"rotary_pct":0.25,
      "use_parallel_residual":true,"tie_word_embeddings":false})",
     6857302016.0},
    {"opt-6.7b", R"({"model_type":"opt","hidden_size":4096,"ffn_dim":16384,"num_hidden_layers":32,
      "num_attention_heads":32,"vocab_size":50272,"max_position_embeddings":2048,"word_embed_proj_dim":4096,
      "do_layer_norm_before":true,"dropout":0.1})",
     6658473984.0},
    {"bloom-7b1", R"({"model_type":"bloom","n_embed":4096,"n_layer":30,"num_attention_heads":32,"vocab_size":250880,
      "seq_length":2048,"hidden_dropout":0.0})",
     7069016064.0},
    {"falcon-7b", R"({"model_type":"falcon","hidden_size":4544,"num_hidden_layers":32,"num_attention_heads":71,
      "vocab_size":65024,"multi_query":true,"new_decoder_architecture":false,"parallel_attn":true,"bias":false,
      "alibi":false})",
     6921720704.0},
    {"starcoder2-7b", R"({"model_type":"starcoder2","hidden_size":4608,"intermediate_size":18432,
      "num_hidden_layers":32,"num_attention_heads":36,"num_key_value_heads":4,"vocab_size":49152,
      "max_position_embeddings":16384,"sliding_window":4096,"use_bias":true,"residual_dropout":0.0})",
     7173923840.0},
    {"starcoder", R"({"model_type":"gpt_bigcode","n_embd":6144,"n_inner":24576,"n_layer":40,"n_head":48,
      "n_positions":8192,"vocab_size":49152,"multi_query":true})",
     15517456384.0},
    {"OLMo-2-1124-7B", R"({"model_type":"olmo2","hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,
      "num_attention_heads":32,"num_key_value_heads":32,"vocab_size":100352,"max_position_embeddings":4096,
      "tie_word_embeddings":false})",
     7298617344.0},
    {"OLMoE-1B-7B", R"({"model_type":"olmoe","hidden_size":2048,"intermediate_size":1024,"num_hidden_layers":16,
      "num_attention_heads":16,"num_key_value_heads":16,"num_experts":64,"num_experts_per_tok":8,"vocab_size":50304,
      "max_position_embeddings":4096,"tie_word_embeddings":false})",
     6919161856.0},
    {"granite-3.0-8b-base", R"({"model_type":"granite","hidden_size":4096,"intermediate_size":12800,
      "num_hidden_layers":40,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":49152,
      "max_position_embeddings":4096,"tie_word_embeddings":true})",
     8170848256.0},
    {"SmolLM3-3B", R"({"model_type":"smollm3","hidden_size":2048,"intermediate_size":11008,"num_hidden_layers":36,
      "num_attention_heads":16,"num_key_value_heads":4,"vocab_size":128256,"max_position_embeddings":65536,
      "no_rope_layer_interval":4,"use_sliding_window":false,"sliding_window":null})",
     3075098624.0},
    {"c4ai-command-r-v01", R"({"model_type":"cohere","hidden_size":8192,"intermediate_size":22528,
      "num_hidden_layers":40,"num_attention_heads":64,"num_key_value_heads":64,"vocab_size":256000,
      "max_position_embeddings":8192,"logit_scale":0.0625,"use_qk_norm":false})",
     34980831232.0},
    {"internlm2-7b", R"({"model_type":"internlm2","hidden_size":4096,"intermediate_size":14336,
      "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":92544,
      "max_position_embeddings":32768,"bias":false,"tie_word_embeddings":false})",
     7737708544.0},
    {"GLM-4-9B-0414", R"({"model_type":"glm4","hidden_size":4096,"intermediate_size":13696,"num_hidden_layers":40,
      "num_attention_heads":32,"num_key_value_heads":2,"head_dim":128,"vocab_size":151552,"attention_bias":false,
      "partial_rotary_factor":0.5,"max_position_embeddings":32768,"tie_word_embeddings":false})",
     9400279040.0},
    {"GLM-4.5-Air", R"({"model_type":"glm4_moe","hidden_size":4096,"intermediate_size":10944,
      "moe_intermediate_size":1408,"num_hidden_layers":46,"num_attention_heads":96,"num_key_value_heads":8,
      "head_dim":128,"n_routed_experts":128,"n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":1,
      "num_nextn_predict_layers":1,"attention_bias":true,"use_qk_norm":false,"vocab_size":151552,
      "max_position_embeddings":131072,"tie_word_embeddings":false})",
     106.85e9},
    {"roberta-large", R"({"model_type":"roberta","hidden_size":1024,"intermediate_size":4096,"num_hidden_layers":24,
      "num_attention_heads":16,"vocab_size":50265,"type_vocab_size":1,"max_position_embeddings":514})",
     356.4e6},
    {"t5-v1_1-xl", R"({"model_type":"t5","d_ff":5120,"d_kv":64,"d_model":2048,"num_layers":24,"num_decoder_layers":24,
      "num_heads":32,"vocab_size":32128,"feed_forward_proj":"gated-gelu","tie_word_embeddings":false,
      "relative_attention_num_buckets":32,"is_encoder_decoder":true,"decoder_start_token_id":0})",
     2849757184.0},
    {"t5-base", R"({"model_type":"t5","d_ff":3072,"d_kv":64,"d_model":768,"num_layers":12,"num_heads":12,
      "vocab_size":32128,"n_positions":512})",
     222903552.0},
    {"bart-large", R"({"model_type":"bart","d_model":1024,"encoder_layers":12,"decoder_layers":12,
      "encoder_attention_heads":16,"decoder_attention_heads":16,"encoder_ffn_dim":4096,"decoder_ffn_dim":4096,
      "vocab_size":50265,"max_position_embeddings":1024,"num_hidden_layers":12})",
     406291456.0},
    // Text parts of models that see.
    {"gemma-3-4b-pt", R"({"model_type":"gemma3","vision_config":{"hidden_size":1152},"text_config":{
      "model_type":"gemma3_text","hidden_size":2560,"intermediate_size":10240,"num_hidden_layers":34,
      "sliding_window":1024,"rope_scaling":{"factor":8.0,"rope_type":"linear"}}})",
     3880099328.0},
    {"Llama-4-Maverick", R"({"model_type":"llama4","vision_config":{},"text_config":{"model_type":"llama4_text",
      "hidden_size":5120,"intermediate_size":8192,"intermediate_size_mlp":16384,"num_hidden_layers":48,
      "num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,"num_local_experts":128,"num_experts_per_tok":1,
      "interleave_moe_layer_step":2,"attention_chunk_size":8192,"vocab_size":202048,"no_rope_layers":[],
      "max_position_embeddings":1048576,"use_qk_norm":false,"tie_word_embeddings":false}})",
     400.71e9},
    {"gpt2", R"({"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"n_positions":1024,"n_ctx":1024,
      "vocab_size":50257,"resid_pdrop":0.1})",
     124439808.0},
    {"bert-base-uncased", R"({"model_type":"bert","hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,
      "num_attention_heads":12,"vocab_size":30522,"type_vocab_size":2,"max_position_embeddings":512,
      "hidden_dropout_prob":0.1})",
     110106428.0},
};

TEST(HuggingFaceImport, ParameterCountsAreThePublishedOnes) {
  for (const Published& model : kPublished) {
    const ImportedModel out = import_huggingface(written(std::string(model.name) + ".json", model.config), {});
    EXPECT_NEAR(out.parameters / model.parameters, 1, 0.001) << model.name;
    for (const std::string& note : out.notes) EXPECT_THAT(note, testing::Not(HasSubstr("unknown"))) << model.name;
  }
}

// n_group 1 limits nothing.
TEST(HuggingFaceImport, GroupsOfExperts) {
  const auto shape = [](std::string config, const char* groups) {
    config.replace(config.find("\"n_group\":8"), 11, groups);
    return import_huggingface(written("groups.json", config), {}).model.at("transformer");
  };
  const auto deepseek = std::find_if(kPublished.begin(), kPublished.end(),
                                     [](const Published& one) { return one.name == std::string("DeepSeek-V3"); });
  const Json limited = shape(deepseek->config, "\"n_group\":8");
  EXPECT_EQ(limited.at("expert_groups"), 8);
  EXPECT_EQ(limited.at("groups_per_token"), 4);
  EXPECT_FALSE(shape(deepseek->config, "\"n_group\":1").contains("expert_groups"));
}

TEST(HuggingFaceImport, LocalLayersGoByTheListOfTypes) {
  const auto shape = [](const std::string& layers) {
    const std::string config = R"({"model_type":"gemma2","hidden_size":512,"intermediate_size":1024,"vocab_size":1000,
      "num_hidden_layers":6,"num_attention_heads":2,"num_key_value_heads":1,"max_position_embeddings":8192,"layer_types":[)" +
                               layers + "]}";
    return import_huggingface(written("layers.json", config), {});
  };
  const std::string local = R"("sliding_attention")", full = R"("full_attention")";
  const ImportedModel third = shape(local + "," + local + "," + full + "," + local + "," + local + "," + full);
  EXPECT_EQ(third.model["transformer"]["global_every"], 3);
  EXPECT_EQ(third.model["transformer"]["window"], 4096);
  EXPECT_THAT(third.notes, testing::Not(Contains(HasSubstr("layer_types"))));
  const ImportedModel uneven = shape(local + "," + full + "," + local + "," + local + "," + local + "," + full);
  EXPECT_THAT(uneven.notes, Contains("layer_types: every 3th layer is taken to see all; 2 of 6 do otherwise"));
  // As many as see all, though the first does.
  const ImportedModel first = shape(full + "," + local + "," + local + "," + full + "," + local + "," + local);
  EXPECT_EQ(first.model["transformer"]["global_every"], 3);
  EXPECT_FALSE(shape(local + "," + local).model["transformer"].contains("global_every"));
  EXPECT_FALSE(shape(full + "," + full).model["transformer"].contains("window"));
}

TEST(HuggingFaceImport, TextOfAModelThatSees) {
  const auto model = [](const std::string& text) {
    return R"({"model_type":"mistral3","vision_config":{"model_type":"pixtral"},"text_config":{"model_type":"mistral",)"
           R"("hidden_size":5120,"intermediate_size":32768,"num_hidden_layers":40,"num_attention_heads":32,)"
           R"("head_dim":128,"num_key_value_heads":8,"max_position_embeddings":131072)" +
           text + "}}";
  };
  const ImportedModel out = import_huggingface(written("sees.json", model(R"(,"vocab_size":131072)")), {});
  EXPECT_NEAR(out.parameters, 23.57e9, 0.01e9);  // Mistral Small 3.1's language model
  EXPECT_THAT(out.notes, Contains(HasSubstr("the language model alone")));
  EXPECT_THAT(faults_of([&] { import_huggingface(written("sees-faulty.json", model(R"(,"vocab_size":0)")), {}); }),
              HasSubstr("sees-faulty.json: /text_config/vocab_size: found 0"));
}

TEST(HuggingFaceImport, FaultsOfTwoSides) {
  const auto faults = [](const std::string& config) {
    return faults_of([&] { import_huggingface(written("sides.json", config), {}); });
  };
  EXPECT_THAT(
      faults(R"({"model_type":"t5","d_model":512})"),
      testing::AllOf(HasSubstr("/num_layers: missing"), HasSubstr("/num_heads: missing"), HasSubstr("/d_ff: missing")));
  EXPECT_THAT(faults(R"({"model_type":"bart","d_model":512})"),
              testing::AllOf(HasSubstr("/encoder_layers: missing"), HasSubstr("/encoder_ffn_dim: missing")));
  EXPECT_THAT(faults(R"({"model_type":"t5","d_model":512,"d_ff":2048,"num_heads":8,"vocab_size":32128,
                         "num_layers":2147483647,"num_decoder_layers":2147483647})"),
              HasSubstr("/transformer/layers: found 4294967294"));
}

TEST(HuggingFaceImport, ListsUnknownKeys) {
  std::string config = kPublished[0].config;
  config.replace(config.rfind('}'), 1, R"(,"my_new_key":3,"other":"x","rms_norm_eps":1e-5})");
  const ImportedModel out = import_huggingface(written("unknown.json", config), {});
  EXPECT_THAT(out.notes, Contains("unknown keys, not used: my_new_key, other"));
}

TEST(HuggingFaceImport, SequenceIsTheUsersOrBounded) {
  const auto file = written("long.json", kPublished[1].config);
  EXPECT_EQ(import_huggingface(file, {}).model.at("default_seq_len"), kAssumedSequence);
  EXPECT_EQ(import_huggingface(file, 32768).model.at("default_seq_len"), 32768);
}

TEST(HuggingFaceImport, FaultsNameTheKey) {
  const auto faults = [](const std::string& config) {
    return faults_of([&] { import_huggingface(written("faulty.json", config), {}); });
  };
  EXPECT_THAT(faults(R"({"model_type":"lama"})"), HasSubstr("/model_type: found \"lama\"; did you mean \"llama\"?"));
  EXPECT_THAT(faults(R"({"hidden_size":4})"), HasSubstr("/model_type: missing"));
  EXPECT_THAT(faults(R"({"model_type":"gpt2","n_embd":"x"})"),
              HasSubstr("/n_embd: found \"x\", expected a whole number"));
  EXPECT_THAT(faults(R"({"model_type":"gpt2","n_embd":768})"), HasSubstr("/n_layer: missing"));
  EXPECT_THAT(faults("[1]"), HasSubstr("expected an object"));
  EXPECT_THAT(faults(R"({"model_type":"gpt2","n_embd":1e99,"n_layer":1,"n_head":1,"n_positions":1,"vocab_size":1})"),
              HasSubstr("/n_embd"));
}

constexpr const char* kScript = R"(#!/bin/bash
# GPT-3 175B as its example script has it
GPUS_PER_NODE=8
NNODES=16
TP=8
MODEL_ARGS=(
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
    --vocab-size 50257
    --attention-dropout 0.0 --hidden-dropout 0.0
)
TRAINING_ARGS=(
    --micro-batch-size 1
    --global-batch-size 1536
    --bf16
    --recompute-activations
    --use-distributed-optimizer --overlap-grad-reduce
    --tensor-model-parallel-size ${TP}
    --pipeline-model-parallel-size 16
    --num-layers-per-virtual-pipeline-stage 3
    --sequence-parallel
    --lr 6.0e-5 --weight-decay 0.1
    --my-own-option 3
)
torchrun --nnodes $NNODES pretrain_gpt.py ${MODEL_ARGS[@]} ${TRAINING_ARGS[@]}
)";

TEST(MegatronImport, AttentionInEightBit) {
  std::string script(kScript);
  script.replace(script.find("--bf16"), 6, "--bf16 --fp8-format hybrid --fp8-dot-product-attention");
  const ImportedScenario out = import_megatron(written("fp8.sh", script), {}, catalog());
  EXPECT_EQ(out.scenario.at("workload").at("precision"), "fp8");
  EXPECT_EQ(out.scenario.at("strategy").at("fp8_dot_product_attention"), true);
}

TEST(MegatronImport, OptimizersAndTheFormatsOfTheirMoments) {
  const auto optimizer = [](const std::string& options) {
    std::string script(kScript);
    script.replace(script.find("--bf16"), 6, "--bf16 " + options);
    return import_megatron(written("optimizer.sh", script), {}, catalog())
        .scenario.at("strategy")
        .value("optimizer", "");
  };
  EXPECT_EQ(optimizer("--optimizer adam --use-precision-aware-optimizer"), "");
  EXPECT_EQ(optimizer("--optimizer sgd"), "sgd");
  EXPECT_EQ(optimizer("--optimizer muon --muon-tp-mode blockwise"), "muon");
  EXPECT_EQ(optimizer("--optimizer adaptive_muon"), "");
  EXPECT_EQ(optimizer("--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16"), "adam-16bit");
  EXPECT_EQ(optimizer("--use-precision-aware-optimizer --exp-avg-dtype fp8 --exp-avg-sq-dtype fp8"), "adam-8bit");
}

// Megatron-LM's optimizer that deals out whole matrices is no --use-distributed-optimizer.
TEST(MegatronImport, DistMuonShardsItsStates) {
  std::string script(kScript);
  const std::string usual = "--use-distributed-optimizer";
  script.replace(script.find(usual), usual.size(), "--optimizer dist_muon");
  script.replace(script.find("--bf16"), 6,
                 "--bf16 --muon-momentum 0.95 --muon-tp-mode duplicated --muon-num-ns-steps 5");
  const ImportedScenario out = import_megatron(written("dist-muon.sh", script), {}, catalog());
  EXPECT_EQ(out.scenario.at("strategy").at("optimizer"), "muon");
  EXPECT_EQ(out.scenario.at("strategy").at("sharding"), "zero-1");
  EXPECT_THAT(out.notes, Contains("--muon-tp-mode duplicated: forecast as blockwise"));
  for (const char* as_forecast : {"--muon-momentum", "--muon-num-ns-steps"})
    EXPECT_THAT(out.notes, testing::Not(Contains(HasSubstr(as_forecast))));
}

// "flash" and "fused" are fused kernels, as the framework's profile has them.
TEST(MegatronImport, AttentionByOperator) {
  const auto kernel = [](const std::string& backend) {
    std::string script(kScript);
    script.replace(script.find("--bf16"), 6, "--bf16 --attention-backend " + backend);
    return import_megatron(written("attention.sh", script), {}, catalog())
        .scenario.at("strategy")
        .value("attention_kernel", "");
  };
  EXPECT_EQ(kernel("unfused"), "unfused");
  EXPECT_EQ(kernel("local"), "unfused");
  EXPECT_EQ(kernel("flash"), "");
}

TEST(MegatronImport, BlocksWithScalesAndOverlappedExperts) {
  std::string script(kScript);
  script.replace(script.find("--bf16"), 6,
                 "--bf16 --fp8-format e4m3 --fp8-recipe mxfp8 --num-experts 8 --moe-router-topk 2 "
                 "--expert-model-parallel-size 4 --overlap-moe-expert-parallel-comm --delay-wgrad-compute");
  script.replace(script.find("TP=8"), 4, "TP=2");
  ImportTarget target;
  target.node = "dgx-b200";
  const ImportedScenario out = import_megatron(written("mxfp8.sh", script), target, catalog());
  EXPECT_EQ(out.scenario.at("workload").at("precision"), "mxfp8");
  EXPECT_EQ(out.scenario.at("strategy").at("overlap_expert_parallel"), true);
  EXPECT_FALSE(out.scenario.at("strategy").contains("expert_tensor_parallel"));
}

// Behind the slash stand the layers of multi-token prediction, at bars the pipeline is cut.
TEST(MegatronImport, LayersOfOneHalf) {
  std::string script(kScript);
  script.replace(script.find("--num-layers 96"), 15,
                 "--num-layers 12 --is-hybrid-model --hybrid-layer-pattern M-M*|M-M-M-M-/*E --mamba-num-heads 128 "
                 "--mamba-state-dim 256");
  script.replace(script.find("--pipeline-model-parallel-size 16"), 33, "--pipeline-model-parallel-size 2");
  const ImportedScenario out = import_megatron(written("hybrid.sh", script), {}, catalog());
  const Json& shape = out.scenario.at("workload").at("model").at("transformer");
  EXPECT_EQ(shape.at("layer_pattern"), "M-M*M-M-M-M-");
  EXPECT_EQ(shape.at("ssm_heads"), 128);
  EXPECT_EQ(shape.at("ssm_state"), 256);
  EXPECT_EQ(shape.at("ssm_head_dim"), 64);
  EXPECT_EQ(shape.at("ssm_groups"), 8);
}

// Megatron-LM counts the pattern's letters, so that --num-layers may be left out.
TEST(MegatronImport, APatternSaysHowManyLayers) {
  const auto import = [](const std::string& options) {
    std::string script(kScript);
    script.replace(script.find("--num-layers 96"), 15, options);
    script.replace(script.find("--pipeline-model-parallel-size 16"), 33, "--pipeline-model-parallel-size 2");
    return import_megatron(written("pattern.sh", script), {}, catalog());
  };
  const auto faults = [&](const std::string& options) -> std::string {
    try {
      import(options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string pattern = "--hybrid-layer-pattern M-M*|M-M-M-M-/*E";
  EXPECT_EQ(import(pattern).scenario.at("workload").at("model").at("transformer").at("layers"), 12);
  EXPECT_THAT(faults(pattern + " --num-layers 24"),
              HasSubstr("--hybrid-layer-pattern: names 12 layers, but --num-layers says 24"));
  const std::string other = faults("--hybrid-layer-pattern M-MCMCMx");
  EXPECT_THAT(other, HasSubstr("--hybrid-layer-pattern: found \"C\" as layer 4: attention to entries"));
  EXPECT_THAT(other, HasSubstr("found \"x\" as layer 8; expected M"));
  EXPECT_THAT(other, testing::Not(HasSubstr("/workload/model")));
  EXPECT_THAT(faults("--hybrid-layer-pattern $PATTERN"), HasSubstr("--call says"));
}

// pretrain_t5.py, as `stepcast plan` writes it and with the names that Megatron-LM's own scripts use.
TEST(MegatronImport, EncoderAndDecoder) {
  for (const char* length : {"--seq-length 512", "--encoder-seq-length 512"}) {
    std::string script(kScript);
    for (const auto& [old, now] :
         {std::pair{"--num-layers", "--encoder-num-layers 12 --decoder-num-layers"},
          std::pair{"--seq-length 2048", length}, std::pair{"--bf16", "--bf16 --decoder-seq-length 128"},
          std::pair{"--pipeline-model-parallel-size 16", "--pipeline-model-parallel-size 1"},
          std::pair{"--num-layers-per-virtual-pipeline-stage 3", ""}})
      script.replace(script.find(old), std::string_view(old).size(), now);
    const ImportedScenario out = import_megatron(written("t5.sh", script), {}, catalog());
    const Json& shape = out.scenario.at("workload").at("model").at("transformer");
    EXPECT_EQ(shape.at("encoder_layers"), 12);
    EXPECT_EQ(shape.at("target_share"), 0.25);
    EXPECT_EQ(out.scenario.at("workload").at("seq_len"), 512);
  }
}

TEST(MegatronImport, WholeExperts) {
  std::string script(kScript);
  script.replace(script.find("--bf16"), 6,
                 "--bf16 --num-experts 8 --moe-router-topk 2 --expert-model-parallel-size 8 "
                 "--expert-tensor-parallel-size 1");
  const ImportedScenario out = import_megatron(written("whole.sh", script), {}, catalog());
  EXPECT_EQ(out.scenario.at("strategy").at("tensor_parallel"), 8);
  EXPECT_EQ(out.scenario.at("strategy").at("expert_tensor_parallel"), 1);
}

// As `stepcast plan` writes it.
TEST(MegatronImport, FourBit) {
  std::string script(kScript);
  script.replace(script.find("--bf16"), 6, "--bf16 --fp4-format e2m1");
  ImportTarget target;
  target.node = "dgx-b200";
  const ImportedScenario out = import_megatron(written("fp4.sh", script), target, catalog());
  EXPECT_EQ(out.scenario.at("workload").at("precision"), "fp4");
  for (const std::string& note : out.notes) EXPECT_THAT(note, testing::Not(HasSubstr("fp4")));
}

TEST(MegatronImport, ScriptBecomesAScenario) {
  const ImportedScenario out = import_megatron(written("gpt3.sh", kScript), {}, catalog());
  EXPECT_EQ(out.scenario.at("cluster").at("nodes"), 16);
  const Json& strategy = out.scenario.at("strategy");
  EXPECT_EQ(strategy.at("tensor_parallel"), 8);
  EXPECT_EQ(strategy.at("pipeline_parallel"), 16);
  EXPECT_EQ(strategy.at("virtual_pipeline"), 2);
  EXPECT_EQ(strategy.at("recompute"), "selective");
  EXPECT_EQ(strategy.at("sharding"), "zero-1");
  EXPECT_EQ(strategy.at("overlap_gradients"), true);
  EXPECT_THAT(out.notes, Contains("unknown keys, not used: --my-own-option"));
  const Scenario scenario = resolve(out.scenario, "gpt3.sh", {}, catalog());
  // 174.6 G in Brown et al. 2020; the padded vocabulary adds 0.01 G.
  EXPECT_NEAR(parameter_count(*scenario.model), 174.6e9, 0.3e9);
  EXPECT_EQ(scenario.precision, Precision::bf16);
}

TEST(MegatronImport, LlamaArgumentsOnOneLine) {
  const ImportedScenario out = import_megatron(
      written("llama.txt",
              "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
              "--group-query-attention --num-query-groups 8 --swiglu --disable-bias-linear --normalization RMSNorm "
              "--untie-embeddings-and-output-weights --position-embedding-type rope --seq-length=8192 "
              "--padded-vocab-size 128256 --hidden-dropout 0 --global-batch-size 64 --bf16 --train-iters 1000\n"),
      {}, catalog());
  const Scenario scenario = resolve(out.scenario, "llama.txt", {}, catalog());
  EXPECT_NEAR(parameter_count(*scenario.model) / 8030261248.0, 1, 0.001);
  EXPECT_EQ(out.scenario.at("workload").at("samples"), 64000.0);
  EXPECT_EQ(out.scenario.at("cluster").at("nodes"), 1);
}

TEST(MegatronImport, FaultsAreAllNamed) {
  const std::string faults =
      faults_of([] { import_megatron(written("bad.txt", "--num-layers x --hidden-size 1024"), {}, catalog()); });
  EXPECT_THAT(faults, HasSubstr("--num-layers: found \"x\", expected a number"));
  EXPECT_THAT(faults, HasSubstr("missing: --num-attention-heads"));
  EXPECT_THAT(faults, HasSubstr("missing: --vocab-size"));
  EXPECT_THAT(faults, HasSubstr("missing: --global-batch-size"));
  EXPECT_THAT(faults_of([] { import_megatron(written("none.txt", "hello"), {}, catalog()); }),
              HasSubstr("found no option"));
}

TEST(DeepSpeedImport, StrategyAndBatch) {
  ImportTarget target;
  target.nodes = 2;
  target.model = "llama3-8b";
  const ImportedScenario out =
      import_deepspeed(written("ds.json", R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_steps": 2, "bf16": {"enabled": true}, "my_key": 1,
        "zero_optimization": {"stage": 3, "overlap_comm": true, "offload_optimizer": {"device": "cpu"}}})"),
                       target, catalog());
  EXPECT_EQ(out.scenario.at("strategy").at("sharding"), "zero-3");
  EXPECT_EQ(out.scenario.at("strategy").at("offload_optimizer"), true);
  EXPECT_EQ(out.scenario.at("strategy").at("micro_batch"), 2);
  EXPECT_EQ(out.scenario.at("workload").at("global_batch"), 64);
  EXPECT_THAT(out.notes, Contains("unknown keys, not used: my_key"));
}

TEST(DeepSpeedImport, GradientsAreReducedInTheTypeThatItNames) {
  ImportTarget target;
  target.model = "llama3-8b";
  const auto strategy = [&](const std::string& type) {
    return import_deepspeed(written("ds.json", R"({"train_batch_size": 64, "bf16": {"enabled": true},
      "communication_data_type": ")" + type + R"("})"),
                            target, catalog())
        .scenario.at("strategy");
  };
  EXPECT_EQ(strategy("fp32").at("gradients_in_fp32"), true);
  EXPECT_EQ(strategy("bf16").at("gradients_in_fp32"), false);
  EXPECT_FALSE(strategy("auto").contains("gradients_in_fp32"));
  EXPECT_THAT(faults_of([&] { strategy("int8"); }), HasSubstr("/communication_data_type"));
}

TEST(DeepSpeedImport, AutoIsNotThereAndContradictionsAreFaults) {
  ImportTarget target;
  target.model = "llama3-8b";
  const ImportedScenario out =
      import_deepspeed(written("auto.json", R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 2}, "fp16": {"enabled": true}})"),
                       target, catalog());
  EXPECT_EQ(out.scenario.at("workload").at("global_batch"), 32);  // 8 devices × 1 × 4
  EXPECT_THAT(faults_of([&] {
                import_deepspeed(written("wrong.json", R"({"train_batch_size": 63,
                  "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2})"),
                                 target, catalog());
              }),
              HasSubstr("/train_batch_size: found 63, but 8 devices × micro-batch 2 × 2 rounds are 32"));
  EXPECT_THAT(faults_of([&] {
                import_deepspeed(written("stage.json", R"({"zero_optimization": {"stage": 4}})"), target, catalog());
              }),
              HasSubstr("/zero_optimization/stage: found 4"));
}

}  // namespace
}  // namespace stepcast::import_models_test
