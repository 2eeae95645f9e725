#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/importers/models/huggingface.hpp"

// Transformers of diffusion models, as diffusers writes them down.
namespace stepcast::import_diffusers_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

ImportedModel import(const std::string& text, std::optional<int> seq_len = std::nullopt) {
  return import_huggingface(Json::parse(text), {"config.json", "model"}, seq_len);
}

std::string fault_of(const std::string& text) {
  try {
    import(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

struct Published {
  std::string name, config;
  double parameters;  ///< of the checkpoint, 1e9
};
void PrintTo(const Published& one, std::ostream* out) { *out << one.name; }

class Diffusers : public testing::TestWithParam<Published> {};

// Checkpoints of facebook/DiT-XL-2-256, PixArt-alpha, Stable Diffusion 3 medium, FLUX.1-dev, Qwen-Image and Wan 2.1.
TEST_P(Diffusers, CountsWhatTheCheckpointHolds) {
  const ImportedModel model = import(GetParam().config);
  EXPECT_NEAR(model.parameters / 1e9, GetParam().parameters, 0.015 * GetParam().parameters);
  EXPECT_EQ(model.model.at("family"), "diffusion");
  EXPECT_THAT(model.notes, testing::Not(Contains(HasSubstr("unknown keys"))));
}

INSTANTIATE_TEST_SUITE_P(
    Checkpoints, Diffusers,
    testing::Values(Published{"dit", R"({"_class_name":"DiTTransformer2DModel","activation_fn":"gelu-approximate",
          "attention_head_dim":72,"in_channels":4,"norm_type":"ada_norm_zero","num_attention_heads":16,
          "num_embeds_ada_norm":1000,"num_layers":28,"out_channels":8,"patch_size":2,"sample_size":32})",
                              0.675},
                    Published{"pixart", R"({"_class_name":"PixArtTransformer2DModel","attention_head_dim":72,
          "caption_channels":4096,"cross_attention_dim":1152,"in_channels":4,"num_attention_heads":16,
          "num_layers":28,"out_channels":8,"patch_size":2,"sample_size":64})",
                              0.611},
                    Published{"sd3", R"({"_class_name":"SD3Transformer2DModel","attention_head_dim":64,
          "caption_projection_dim":1536,"in_channels":16,"joint_attention_dim":4096,"num_attention_heads":24,
          "num_layers":24,"out_channels":16,"patch_size":2,"pooled_projection_dim":2048,"pos_embed_max_size":192,
          "sample_size":128})",
                              2.028},
                    Published{"flux", R"({"_class_name":"FluxTransformer2DModel","_diffusers_version":"0.30.0.dev0",
          "attention_head_dim":128,"guidance_embeds":true,"in_channels":64,"joint_attention_dim":4096,
          "num_attention_heads":24,"num_layers":19,"num_single_layers":38,"patch_size":1,
          "pooled_projection_dim":768})",
                              11.901},
                    Published{"qwen_image", R"({"_class_name":"QwenImageTransformer2DModel","attention_head_dim":128,
          "axes_dims_rope":[16,56,56],"guidance_embeds":false,"in_channels":64,"joint_attention_dim":3584,
          "num_attention_heads":24,"num_layers":60,"out_channels":16,"patch_size":2})",
                              20.43},
                    Published{"wan", R"({"_class_name":"WanTransformer3DModel","added_kv_proj_dim":null,
          "attention_head_dim":128,"cross_attn_norm":true,"eps":1e-06,"ffn_dim":13824,"freq_dim":256,
          "image_dim":null,"in_channels":16,"num_attention_heads":40,"num_layers":40,"out_channels":16,
          "patch_size":[1,2,2],"qk_norm":"rms_norm_across_heads","rope_max_seq_len":1024,"text_dim":4096})",
                              14.29},
                    Published{"wan_own",
                              R"({"_class_name":"WanModel","dim":1536,"eps":1e-06,"ffn_dim":8960,"freq_dim":256,
          "in_dim":16,"model_type":"t2v","num_heads":12,"num_layers":30,"out_dim":16,"text_len":512})",
                              1.419}),
    [](const testing::TestParamInfo<Published>& tested) { return tested.param.name; });

TEST(DiffusersConfig, ShapeOfTwoStreams) {
  const ImportedModel model = import(R"({"_class_name":"FluxTransformer2DModel","attention_head_dim":128,
    "in_channels":64,"joint_attention_dim":4096,"num_attention_heads":24,"num_layers":19,"num_single_layers":38,
    "patch_size":1,"colour":"red"})",
                                     256);
  const Json& shape = model.model.at("transformer");
  EXPECT_EQ(shape.at("layers"), 57);
  EXPECT_EQ(shape.at("qk_norm"), true);
  EXPECT_EQ(shape.at("diffusion"), Json::parse(R"({"patch_elements":64,"context_tokens":512,"context_width":4096,
    "context":"joint_attention","two_stream_layers":19,"single_stream_vectors":3})"));
  EXPECT_EQ(model.model.at("default_seq_len"), 256);
  EXPECT_THAT(model.notes, Contains("unknown keys, not used: colour"));
}

TEST(DiffusersConfig, FaultsAreNamed) {
  EXPECT_THAT(fault_of(R"({"_class_name":"CogVideoXTransformer3DModel","num_layers":42})"),
              HasSubstr("/_class_name: found \"CogVideoXTransformer3DModel\", expected one of DiTTransformer2DModel"));
  EXPECT_THAT(fault_of(R"({"_class_name":7})"), HasSubstr("/_class_name: found 7"));
  EXPECT_THAT(fault_of(R"({"_class_name":"DiTTransformer2DModel"})"), HasSubstr("/num_layers: missing"));
  EXPECT_THAT(fault_of(R"({"_class_name":"WanTransformer3DModel","attention_head_dim":128,"ffn_dim":8,"in_channels":16,
    "num_attention_heads":40,"num_layers":40,"patch_size":[1,"2",2],"text_dim":4096})"),
              HasSubstr("/patch_size: found"));
}

}  // namespace
}  // namespace stepcast::import_diffusers_test
