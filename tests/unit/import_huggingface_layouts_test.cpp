#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/huggingface_config.hpp"

namespace stepcast::import_huggingface_layouts_test {
namespace {

using test::huggingface::faults_of;
using test::huggingface::of;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

struct Published {
  const char* config;
  double parameters;  ///< of the checkpoint's state dictionary
};

// Totals as the models' makers publish them; of each layout what its importer has to know beyond Llama's keys.
const std::vector<Published> kPublished{
    // Qwen-7B: intermediate_size counts the gate too, and no_bias leaves the biases of the QKV projection.
    {R"({"model_type": "qwen", "hidden_size": 4096, "intermediate_size": 22016, "kv_channels": 128, "no_bias": true,
         "num_attention_heads": 32, "num_hidden_layers": 32, "seq_length": 8192, "vocab_size": 151936,
         "tie_word_embeddings": false})",
     7721324544.0},
    // OLMo-7B before transformers had it.
    {R"({"model_type": "olmo", "d_model": 4096, "n_heads": 32, "n_layers": 32, "mlp_hidden_size": 22016, "mlp_ratio": 4,
         "max_sequence_length": 2048, "vocab_size": 50280, "embedding_size": 50304, "weight_tying": false,
         "include_bias": false})",
     6888095744.0},
    // The first ChatGLM-6B.
    {R"({"model_type": "chatglm", "hidden_size": 4096, "inner_hidden_size": 16384, "max_sequence_length": 2048,
         "num_attention_heads": 32, "num_layers": 28, "vocab_size": 130528})",
     6173286400.0},
    {R"({"model_type": "deepseek", "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408,
         "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1,
         "moe_layer_freq": 1, "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 16,
         "max_position_embeddings": 4096, "vocab_size": 102400})",
     16375728128.0},
    {R"({"model_type": "minicpm3", "hidden_size": 2560, "intermediate_size": 6400, "num_hidden_layers": 62,
         "num_attention_heads": 40, "num_key_value_heads": 40, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32,
         "q_lora_rank": 768, "kv_lora_rank": 256, "max_position_embeddings": 32768, "vocab_size": 73448})",
     4074821120.0},
    {R"({"model_type": "hunyuan_v1_moe", "hidden_size": 4096, "intermediate_size": 3072, "head_dim": 128,
         "moe_intermediate_size": [3072, 3072, 3072, 3072], "moe_topk": [8, 8, 8, 8],
         "num_shared_expert": [1, 1, 1, 1], "num_experts": 64, "num_attention_heads": 32, "num_hidden_layers": 32,
         "num_key_value_heads": 8, "max_position_embeddings": 32768, "vocab_size": 128167})",
     80393183232.0},
    {R"({"model_type": "ernie4_5_moe", "hidden_size": 2560, "intermediate_size": 12288, "num_attention_heads": 20,
         "num_key_value_heads": 4, "num_hidden_layers": 28, "moe_num_experts": 64, "moe_num_shared_experts": 2,
         "moe_layer_start_index": 1, "moe_intermediate_size": 1536, "moe_k": 6, "moe_layer_interval": 1,
         "max_position_embeddings": 131072, "vocab_size": 103424})",
     21825437888.0},
    {R"({"model_type": "apertus", "hidden_size": 4096, "intermediate_size": 21504, "num_attention_heads": 32,
         "num_hidden_layers": 32, "num_key_value_heads": 8, "max_position_embeddings": 65536, "vocab_size": 131072})",
     8053338176.0},
    {R"({"model_type": "phi3small", "hidden_size": 4096, "ff_intermediate_size": 14336, "num_attention_heads": 32,
         "num_hidden_layers": 32, "num_key_value_heads": 8, "max_position_embeddings": 8192, "vocab_size": 100352})",
     7392272384.0},
    {R"({"model_type": "xglm", "d_model": 1024, "ffn_dim": 4096, "attention_heads": 16, "num_layers": 24,
         "max_position_embeddings": 2048, "vocab_size": 256008})",
     564463616.0},
    {R"({"model_type": "codegen", "n_embd": 1024, "n_head": 16, "n_layer": 20, "n_positions": 2048, "n_inner": null,
         "vocab_size": 51200, "tie_word_embeddings": false})",
     356712448.0},
    {R"({"model_type": "biogpt", "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
         "num_hidden_layers": 24, "max_position_embeddings": 1024, "vocab_size": 42384})",
     346763264.0},
    {R"({"model_type": "m2m_100", "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12,
         "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096,
         "max_position_embeddings": 1024, "vocab_size": 256206})",
     615073792.0},
    // Without the share of the generator that trains it.
    {R"({"model_type": "electra", "embedding_size": 768, "hidden_size": 768, "intermediate_size": 3072,
         "num_attention_heads": 12, "num_hidden_layers": 12, "max_position_embeddings": 512, "type_vocab_size": 2,
         "vocab_size": 30522})",
     108891648.0},
    // Of ElectraModel 13,483,008, and the generator's projection of 256 × 128 with its bias.
    {R"({"model_type": "electra", "embedding_size": 128, "hidden_size": 256, "intermediate_size": 1024,
         "num_attention_heads": 4, "num_hidden_layers": 12, "max_position_embeddings": 512, "type_vocab_size": 2,
         "vocab_size": 30522})",
     13483008.0 + 256 * 128 + 128},
    {R"({"model_type": "opt", "word_embed_proj_dim": 512, "hidden_size": 1024, "ffn_dim": 4096, "num_attention_heads": 16,
         "num_hidden_layers": 24, "max_position_embeddings": 2048, "vocab_size": 50272, "do_layer_norm_before": false})",
     331196416.0},
    // AlbertModel's 11,683,584, a transform of 768 × 128 with bias and norm, a bias a word, and two sentence orders.
    {R"({"model_type": "albert", "embedding_size": 128, "hidden_size": 768, "intermediate_size": 3072,
         "num_attention_heads": 12, "num_hidden_layers": 12, "num_hidden_groups": 1, "inner_group_num": 1,
         "max_position_embeddings": 512, "type_vocab_size": 2, "vocab_size": 30000})",
     11683584.0 + 768 * 128 + 3 * 128 + 30000 + 2 * 768 + 2},
};

TEST(HuggingFaceLayouts, ParametersAreThePublishedOnes) {
  for (const Published& one : kPublished) {
    const ImportedModel model = of(one.config);
    EXPECT_NEAR(model.parameters / one.parameters, 1, 0.002) << one.config;
    EXPECT_THAT(model.notes, Not(Contains(HasSubstr("unknown keys")))) << one.config;
  }
}

// 64 layers of 8 experts of 3 × 8192 × 16384, an MLP of 3 × 8192 × 32768 beside them, attention of 2 × 8192² and
// 2 × 8192 × 1024, and two tables of 131072 × 8192: 269.5 G.
TEST(HuggingFaceLayouts, AnMlpBesideTheExpertsIsAShared) {
  const ImportedModel grok = of(R"({"model_type": "git", "residual_moe": true, "hidden_size": 8192,
      "intermediate_size": 32768, "moe_intermediate_size": 16384, "num_local_experts": 8, "num_experts_per_tok": 2,
      "num_attention_heads": 64, "num_key_value_heads": 8, "num_hidden_layers": 64, "head_dim": 128,
      "max_position_embeddings": 131072, "vocab_size": 131072})");
  EXPECT_NEAR(grok.parameters, 269.5e9, 0.1e9);
  EXPECT_NEAR(grok.active_parameters, 269.5e9 - 64 * 6 * 3 * 8192.0 * 16384, 0.1e9);  // all but 6 experts of 8
  EXPECT_EQ(grok.model["transformer"]["shared_expert_ffn"], 32768);
}

const std::string kSizes = R"("hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
    "num_hidden_layers": 8, "max_position_embeddings": 4096, "vocab_size": 32000, "rms_norm_eps": 1e-5)";

TEST(HuggingFaceLayouts, LettersSayWhichLayerSeesAll) {
  const std::string begin = R"({"model_type": "exaone4", "sliding_window": 512, )" + kSizes;
  EXPECT_EQ(of(begin + R"(, "sliding_window_pattern": "LLLG"})").model["transformer"]["global_every"], 4);
  EXPECT_THAT(faults_of(begin + R"(, "sliding_window_pattern": "LGLL"})"), HasSubstr("/sliding_window_pattern"));
}

TEST(HuggingFaceLayouts, LayersThatAreNotOfAttentionAreFaults) {
  EXPECT_THAT(
      faults_of(R"({"model_type": "llama", "layer_types": ["full_attention", "linear_attention"], )" + kSizes + "}"),
      AllOf(HasSubstr("/layer_types/1"), HasSubstr("linear_attention")));
}

TEST(HuggingFaceLayouts, OneExpertIsNone) {
  EXPECT_FALSE(of(R"({"model_type": "hunyuan_v1_dense", "num_experts": 1, )" + kSizes + "}")
                   .model["transformer"]
                   .contains("experts"));
}

TEST(HuggingFaceLayouts, AnUnknownDecoderWithLlamasKeysIsTakenForOne) {
  const std::string decoder = R"({"model_type": "newcomer", "architectures": ["NewcomerForCausalLM"], )";
  const ImportedModel model = of(decoder + kSizes + "}");
  EXPECT_THAT(model.notes, Contains(AllOf(HasSubstr("\"newcomer\" is not known"), HasSubstr("Llama's kin"))));
  EXPECT_EQ(model.model["transformer"]["layers"], 8);
  // What it says of other layers, or that it is no decoder, keeps it a fault.
  EXPECT_THAT(faults_of(decoder + R"("mamba_d_state": 16, )" + kSizes + "}"), HasSubstr("state-space layers"));
  EXPECT_THAT(faults_of(R"({"model_type": "newcomer", "architectures": ["NewcomerModel"], )" + kSizes + "}"),
              HasSubstr("expected one of"));
}

TEST(HuggingFaceLayouts, LanguageModelsAreFoundInTheirSections) {
  const std::string text = R"({"model_type": "qwen2", )" + kSizes + "}";
  for (const std::string& whole :
       {R"({"model_type": "internvl_chat", "llm_config": )" + text + "}",
        R"({"model_type": "deepseek_vl_v2", "language_config": )" + text + "}",
        R"({"model_type": "qwen2_5_omni", "thinker_config": {"model_type": "t", "text_config": )" + text + "}}"}) {
    const ImportedModel model = of(whole);
    EXPECT_EQ(model.model["transformer"]["hidden"], 1024) << whole;
    EXPECT_THAT(model.notes, Contains(HasSubstr("the language model alone"))) << whole;
  }
  EXPECT_THAT(faults_of(R"({"model_type": "internvl_chat", "llm_config": {"model_type": "qwen2"}})"),
              Not(HasSubstr("/hidden_size")));
}

TEST(HuggingFaceLayouts, OtherFilesAreCalledWhatTheyAre) {
  EXPECT_THAT(faults_of(R"({"peft_type": "LORA", "r": 8})"), HasSubstr("adapter"));
  EXPECT_THAT(faults_of(R"({"model_type": "convnextv2", "image_size": 224})"), HasSubstr("patches of images"));
  EXPECT_THAT(faults_of(R"({"model_type": "clip", "text_config": {"model_type": "clip_text_model"}})"),
              HasSubstr("patches of images"));
}

// What the class sets would stand in for the size that was meant.
TEST(HuggingFaceLayouts, MisspeltKeysAreFaults) {
  const std::string others = R"("num_hidden_layers": 2, "num_attention_heads": 8, "vocab_size": 1000)";
  for (const char* type : {"llama", "qwen3"}) {
    const std::string found = faults_of(R"({"model_type": ")" + std::string(type) +
                                        R"(", "hiden_size": 1024, "intermediate_size": 2048,
                                           "max_position_embeddings": 128, )" +
                                        others + "}");
    EXPECT_THAT(found, HasSubstr("/hiden_size: unknown key; did you mean \"hidden_size\"?")) << type;
    EXPECT_THAT(found, Not(HasSubstr("/hidden_size"))) << type;
  }
  const std::string whole = R"({"model_type": "llama", )" + kSizes;
  for (const auto& [written, meant] :
       {std::pair{"num_key_value_head", "num_key_value_heads"}, std::pair{"tie_word_embedings", "tie_word_embeddings"},
        std::pair{"attention_bais", "attention_bias"}})
    EXPECT_THAT(faults_of(whole + ", \"" + written + "\": 2}"), HasSubstr("did you mean \"" + std::string(meant)))
        << written;
  // Names of their own: another begin, another number, a short word; and the right key is there, too.
  for (const char* other : {R"("q_head_dim": 2)", R"("head_dim2": 2)", R"("use_sla": 2)",
                            R"("hidden_sizes": [1024], "hidden_act": "silu")"})
    EXPECT_EQ(faults_of(whole + ", " + other + "}"), "") << other;
}

TEST(HuggingFaceLayouts, NarrowEmbeddingsAreRead) {
  const auto shape = [](const std::string& begin) { return of(begin + kSizes + "}").model["transformer"]; };
  EXPECT_EQ(shape(R"({"model_type": "electra", "embedding_size": 128, )")["embedding_size"], 128);
  EXPECT_EQ(shape(R"({"model_type": "albert", "num_hidden_groups": 2, )")["hidden_groups"], 2);
  EXPECT_THAT(faults_of(R"({"model_type": "albert", "inner_group_num": 2, )" + kSizes + "}"),
              HasSubstr("/inner_group_num: found 2"));
  EXPECT_FALSE(shape(R"({"model_type": "opt", "word_embed_proj_dim": 1024, )").contains("embedding_size"));
}

}  // namespace
}  // namespace stepcast::import_huggingface_layouts_test
