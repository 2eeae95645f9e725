#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/validation/model_names.hpp"
#include "calibration/validation/model_shapes.hpp"
#include "models/workload/operators.hpp"

// Models as rows of runs state them: by their name in any spelling, or by their sizes.
namespace stepcast::stated_models_test {
namespace {

using testing::HasSubstr;

TEST(ModelNames, SpellingsOfOneNameAreOne) {
  for (const auto& [text, name] : {std::pair{"Llama-3-8B", "llama3-8b"},
                                   std::pair{"meta-llama/Meta-Llama-3-8B-Instruct", "llama3-8b"},
                                   std::pair{"llama3_8b", "llama3-8b"},
                                   std::pair{"Llama 3.1 8B", "llama3-8b"},
                                   std::pair{"Llama-3.3-70B", "llama3-70b"},
                                   std::pair{"llama-2-70b-chat-hf", "llama2-70b"},
                                   std::pair{"llama-7b", "llama2-7b"},
                                   std::pair{"Qwen/Qwen2-7B", "qwen2.5-7b"},
                                   std::pair{"qwen3_235b_a22b", "qwen3-235b-a22b"},
                                   std::pair{"mixtral_8x7b", "mixtral-8x7b"},
                                   std::pair{"deepseekv2", "deepseek-v2"},
                                   std::pair{"DeepSeek-R1", "deepseek-v3"},
                                   std::pair{"GPT-3 175B", "gpt3-175b"},
                                   std::pair{"kimi_k2", "kimi-k2"},
                                   std::pair{"gemma-2-9b-it", "gemma2-9b"},
                                   std::pair{"nemotron-4-340b", "nemotron4-340b"},
                                   std::pair{"Megatron-530B", "mt-nlg-530b"},
                                   std::pair{"bert-base", "bert-base"},
                                   std::pair{"bert-base-uncased", "bert-base"},
                                   std::pair{"Mistral-7B-v0.3", "mistral-7b"},
                                   std::pair{"DeepSeek-V3-0324", "deepseek-v3"},
                                   std::pair{"Yi-1.5-34B", "yi-34b"},
                                   std::pair{"Llama-4-Scout-17B-16E-Instruct", "llama4-scout"},
                                   std::pair{"llama-33b", "llama-30b"},
                                   std::pair{"resnet-50", "resnet50"},
                                   std::pair{"Abacus-7B", "abacus-7b"},
                                   std::pair{"", ""}})
    EXPECT_EQ(model_name_of(text), name) << text;
  EXPECT_EQ(model_name_of("llama3-18b"), "llama3-18b");  // not Llama 3.1 8B
}

TEST(ModelNames, EveryPresetKeepsItsOwn) {
  for (const std::string& id : model_ids()) EXPECT_EQ(model_name_of(id), id);
}

TEST(ModelNames, OfferTheNearestOne) {
  EXPECT_EQ(known_shape({"llama3-8bb", Json::object(), 0}).refusal,
            "shape of llama3-8bb is not known: did you mean \"llama3-8b\"?");
  EXPECT_EQ(known_shape({"abacus", Json::object(), 0}).refusal, "shape of abacus is not known");
}

/// A decoder's sizes.
Json sizes(long layers, long hidden, long ffn_hidden, long heads, long kv_heads, long vocab) {
  return {{"layers", layers}, {"hidden", hidden},     {"ffn_hidden", ffn_hidden},
          {"heads", heads},   {"kv_heads", kv_heads}, {"vocab", vocab}};
}

// GPT-3, and the models of Narayanan et al. 2021, under shorter names; what has no known size is as wide as theirs.
TEST(ModelShapes, ShortNamesOfGptsAreKnownModels) {
  const auto hidden = [](const char* name, double billions) {
    return known_shape({name, Json::object(), billions}).transformer.at("hidden").get<long>();
  };
  EXPECT_EQ(hidden("gpt-175b", 175), 12288);
  EXPECT_EQ(hidden("gpt-145b", 145), 12288);
  EXPECT_EQ(hidden("gpt-310b", 310), 16384);
  EXPECT_EQ(hidden("gpt-530b", 530), 20480);
  EXPECT_EQ(hidden("gpt3-1t", 1000), 25600);
  EXPECT_EQ(hidden("bloom", 176), 14336);
  EXPECT_EQ(hidden("gpt-116b-of-mine", 116), 8192);
}

// Halves of layers are counted by the preset, whole ones by its config.json; the mixers stay.
TEST(ModelShapes, OwnSizesOfAPresetAreThePreset) {
  Json stated = sizes(48, 2048, 512, 16, 2, 151936);
  stated["experts"] = 512;
  stated["top_k"] = 10;
  EXPECT_TRUE(known_shape({"qwen3-next-80b-a3b", stated, 80}).transformer.contains("layer_pattern"));
  const KnownShape layers = known_shape({"qwen3-next-80b-a3b", {{"layers", 48}}, 0});
  EXPECT_EQ(layers.refusal, "");
  EXPECT_EQ(layers.transformer.at("layers"), 96);
}

Json with_experts(Json dense, long experts, long top_k) {
  dense["experts"] = experts;
  dense["top_k"] = top_k;
  return dense;
}

TEST(StatedSizes, HeadsAreAsLargeAsTheParametersNeed) {
  const auto head = [](const Json& stated, double billions) {
    return known_shape({"someones", stated, billions}).transformer.value("head_dim", 0);
  };
  EXPECT_EQ(head(sizes(64, 5120, 25600, 64, 8, 151936), 32.8), 128);   // Qwen3 32B; hidden / heads is 80
  EXPECT_EQ(head(sizes(28, 3072, 24576, 16, 16, 256000), 8.54), 256);  // Gemma 7B
  EXPECT_EQ(head(sizes(40, 5120, 14336, 32, 8, 131072), 12.2), 128);   // Mistral NeMo 12B
  EXPECT_EQ(head(sizes(32, 4096, 14336, 32, 8, 128256), 8.03), 0);     // Llama 3 8B: hidden / heads
  EXPECT_EQ(head(sizes(32, 4096, 11008, 32, 32, 32000), 7), 0);        // rounded
  // Heads that do not divide the width: GLM-4.5-Air by the width of its experts.
  EXPECT_EQ(head(with_experts(sizes(46, 4096, 1408, 96, 8, 151552), 128, 8), 106), 128);
}

TEST(StatedSizes, ExpertsAreNarrowerThanTheDenseWidthThatARowStates) {
  const KnownShape dense = known_shape({"someones", with_experts(sizes(28, 3584, 18944, 28, 4, 151936), 64, 8), 57.4});
  EXPECT_EQ(dense.refusal, "");
  EXPECT_NEAR(dense.transformer.at("moe_ffn_hidden").get<double>(), 2880, 64);  // 2,560 and a shared one of 20,480
  EXPECT_TRUE(dense.by_size);
  const KnownShape own = known_shape({"someones", with_experts(sizes(32, 4096, 14336, 32, 8, 32000), 8, 2), 46.7});
  EXPECT_FALSE(own.transformer.contains("moe_ffn_hidden"));  // Mixtral 8x7B states its experts'
  EXPECT_FALSE(own.by_size);
}

TEST(StatedSizes, OfOtherParametersThanTheRowStatesAreRefused) {
  const Json large = sizes(64, 5120, 27648, 40, 8, 152064);
  EXPECT_THAT(known_shape({"someones", large, 7}).refusal, HasSubstr("params_B: found 7, but the row's sizes come to"));
  EXPECT_EQ(known_shape({"someones", large, 32.8}).refusal, "");
  EXPECT_EQ(known_shape({"someones", large, 0}).refusal, "");  // none stated
}

TEST(StatedSizes, OfAPresetAreThePresets) {
  const KnownShape known = known_shape({"qwen3-32b", sizes(64, 5120, 25600, 64, 8, 151936), 0});
  EXPECT_EQ(known.transformer.at("head_dim"), 128);
  EXPECT_EQ(known.transformer.at("qk_norm"), true);
  EXPECT_EQ(known_shape({"qwen3-32b", {{"layers", 4}}, 0}).transformer.at("layers"), 4);
  // Llama 3.2 3B has one table of tokens; a row of 3.6 B parameters has two.
  const Json small = sizes(28, 3072, 8192, 24, 8, 128256);
  EXPECT_EQ(known_shape({"llama3.2-3b", small, 3.607}).transformer.at("tied_embeddings"), false);
  EXPECT_EQ(known_shape({"llama3.2-3b", small, 3.21}).transformer.at("tied_embeddings"), true);
  // Other sizes are another model's.
  EXPECT_FALSE(known_shape({"qwen3-32b", sizes(64, 4096, 25600, 32, 8, 151936), 0}).transformer.contains("head_dim"));
}

TEST(StatedModels, PopularOnesNeedNoSizes) {
  for (const auto& [text, billions] :
       {std::pair{"Qwen2.5-32B", 32.76}, std::pair{"qwen3-14b", 14.77}, std::pair{"gemma-7b", 8.54},
        std::pair{"gemma2-27b", 27.23}, std::pair{"falcon-40b", 41.8}, std::pair{"yi-34b", 34.39},
        std::pair{"gpt-neox-20b", 20.55}, std::pair{"gpt-j-6b", 6.05}, std::pair{"opt-66b", 65.7},
        std::pair{"bloom-7b1", 7.07}, std::pair{"deepseek-v2-lite", 15.71}, std::pair{"dbrx", 131.6},
        std::pair{"glm-4.5", 355.0}, std::pair{"glm-4.5-air", 106.0}, std::pair{"phi-4", 14.66}}) {
    const std::shared_ptr<const Model> model = transformer_of(model_name_of(text));
    ASSERT_NE(model, nullptr) << text;
    EXPECT_NEAR(parameter_count(*model) / (billions * 1e9), 1, 0.01) << text;
    EXPECT_EQ(known_shape({model_name_of(text), Json::object(), 0}).refusal, "") << text;
  }
}

}  // namespace
}  // namespace stepcast::stated_models_test
