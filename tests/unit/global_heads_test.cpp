#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/importers/models/huggingface.hpp"
#include "models/workload/key_values.hpp"
#include "models/workload/operators.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"
#include "tests/unit/tiny_model.hpp"

// Layers that see all beside local ones, with heads of their own (Gemma 4).
namespace stepcast::global_heads_test {
namespace {

using test::faults_of;
using test::named;
using test::tiny_model;
using testing::HasSubstr;

/// Hidden 8, two heads of 4, MLP 16; the second block sees all: two heads of 8 over one of keys, which are its values.
Model tiny() {
  Model model = tiny_model();
  TransformerShape& shape = *model.transformer;
  shape.qk_norm = true;
  shape.window = 2;
  shape.global_every = 2;
  shape.global_head_dim = 8;
  shape.global_kv_heads = 1;
  shape.global_keys_are_values = true;
  return model;
}

// Local: 4·8² + 2·8·16 = 512 multiply-adds a token. Global: queries and results 8·2·(8 + 8), keys 8·8, MLP 256: 576.
TEST(GlobalHeads, BlocksByHand) {
  const Model model = tiny();
  const LayerWork local = layer_work(model, LayerRole::dense_block, 0, 1, 4, {});
  const LayerWork global = layer_work(model, LayerRole::dense_block, 1, 1, 4, {});
  EXPECT_EQ(local.parameters, 512 + 2 * 4 + 2 * 8);
  EXPECT_EQ(global.parameters, 576 + 2 * 8 + 2 * 8);
  EXPECT_DOUBLE_EQ(named(global.forward, "qkv").op.n, 2 * 8 + 8);
  EXPECT_DOUBLE_EQ(named(global.forward, "proj").op.k, 2 * 8);
  // Under a mask half of 4·4 scores in two heads, keys and values of 8 each.
  EXPECT_DOUBLE_EQ(named(global.forward, "attention").op.flops.value(), 2 * 2 * 16 * (8 + 8) / 2);
  EXPECT_DOUBLE_EQ(named(global.forward, "qk_norm").op.bytes.value(), 2 * 4 * (16 + 8) * 2);
}

// The window of 2 leaves 12 of 16 scores (2·2·4 − 2²), half of them masked as all are.
TEST(GlobalHeads, TheModelCountsBothKinds) {
  const Model model = tiny();
  EXPECT_EQ(parameter_count(model), (512 + 24) + (576 + 32) + 2 * 80 + 8);
  const double local = 2 * 4 * 512 + 2 * 12 * (8 + 8) / 2.0, global = 2 * 4 * 576 + 2 * 16 * 2 * (8 + 8) / 2.0;
  EXPECT_DOUBLE_EQ(model_flops_per_sample(model, 4, {}).value(), 3 * (local + global + 2 * 4 * 8 * 10));
  EXPECT_DOUBLE_EQ(key_value_bytes(*model.transformer, 2), 2 * (2 * (4 + 4) + 1 * (8 + 8)));
}

// Four heads of 8 where the others have two of 4: queries and results 8·4·(8 + 8), keys 8·8, MLP 256.
TEST(GlobalHeads, AsManyAsTheyHave) {
  Model model = tiny();
  model.transformer->global_heads = 4;
  const LayerWork global = layer_work(model, LayerRole::dense_block, 1, 1, 4, {});
  EXPECT_EQ(global.parameters, 832 + 2 * 8 + 2 * 8);
  EXPECT_DOUBLE_EQ(named(global.forward, "qkv").op.n, 4 * 8 + 8);
  EXPECT_DOUBLE_EQ(named(global.forward, "proj").op.k, 4 * 8);
  EXPECT_DOUBLE_EQ(named(global.forward, "attention").op.flops.value(), 4 * 2 * 16 * (8 + 8) / 2);
  EXPECT_EQ(layer_work(model, LayerRole::dense_block, 0, 1, 4, {}).parameters, 512 + 24);
  EXPECT_EQ(parameter_count(model), (512 + 24) + (832 + 32) + 2 * 80 + 8);
  const double local = 2 * 4 * 512 + 2 * 12 * (8 + 8) / 2.0, seeing = 2 * 4 * 832 + 2 * 16 * 4 * (8 + 8) / 2.0;
  EXPECT_DOUBLE_EQ(model_flops_per_sample(model, 4, {}).value(), 3 * (local + seeing + 2 * 4 * 8 * 10));
  EXPECT_EQ(model.transformer->common_heads(), 2);
}

// Two heads with keys of 4 and values of 2: queries and keys 2·8·8, values and results 2·8·4, MLP 256.
TEST(GlobalHeads, ValuesNarrowerThanKeys) {
  Model model = tiny();
  TransformerShape& shape = *model.transformer;
  shape.window = shape.global_every = shape.global_head_dim = shape.global_kv_heads = 0;
  shape.global_keys_are_values = false;
  shape.v_head_dim = 2;
  const LayerWork block = layer_work(model, LayerRole::dense_block, 0, 1, 4, {});
  EXPECT_EQ(block.parameters, 128 + 64 + 256 + 2 * 4 + 2 * 8);
  EXPECT_DOUBLE_EQ(named(block.forward, "qkv").op.n, 8 + 8 + 4);
  EXPECT_DOUBLE_EQ(named(block.forward, "proj").op.k, 4);
  EXPECT_DOUBLE_EQ(named(block.forward, "attention").op.flops.value(), 2 * 2 * 16 * (4 + 2) / 2);
  EXPECT_DOUBLE_EQ(key_value_bytes(shape, 2), 2 * 2 * (2 * (4 + 2)));
}

TEST(GlobalHeads, FaultsOfAShape) {
  EXPECT_EQ(faults_of("gemma4-31b", [](Model&) {}), "");
  EXPECT_EQ(faults_of("gemma4-31b", [](Model& m) { m.transformer->global_kv_heads = 5; }),
            "/transformer/global_kv_heads: 5 global_kv_heads do not divide 32 heads\n");
  EXPECT_EQ(faults_of("gemma4-2b", [](Model& m) { m.transformer->global_heads = 12; }), "");
  EXPECT_EQ(faults_of("gemma3-27b", [](Model& m) { m.transformer->global_heads = 20; }),
            "/transformer/global_heads: 16 kv_heads do not divide 20 heads\n");
  EXPECT_EQ(faults_of("gemma4-31b", [](Model& m) { m.transformer->v_head_dim = 128; }),
            "/transformer/v_head_dim: found 128 with global_keys_are_values, expected 512 as their keys\n");
  EXPECT_THAT(faults_of("llama3-8b", [](Model& m) { m.transformer->global_head_dim = 256; }),
              HasSubstr("/transformer/global_every: missing: sizes of heads of layers that see past a window"));
}

std::string fault_of(const Json& config) {
  try {
    import_huggingface(config, {"config.json", "model"}, std::nullopt);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

Json experts() {
  return Json::parse(R"({"model_type":"gemma4","text_config":{"model_type":"gemma4_text","attention_k_eq_v":true,
    "enable_moe_block":true,"global_head_dim":512,"head_dim":256,"hidden_size":2816,"hidden_size_per_layer_input":0,
    "intermediate_size":2112,"moe_intermediate_size":704,"num_attention_heads":16,"num_experts":128,
    "num_global_key_value_heads":2,"num_hidden_layers":30,"num_key_value_heads":8,"num_kv_shared_layers":0,
    "sliding_window":1024,"top_k_experts":8,"vocab_size":262144}})");
}

// As the preset: 25.2 G parameters, 3.8 G of which a token uses (model card).
TEST(GlobalHeads, Gemma4IsImported) {
  const ImportedModel model = import_huggingface(experts(), {"config.json", "gemma4-26b"}, 4096);
  EXPECT_NEAR(model.parameters / 1e9, 25.2, 0.1);
  EXPECT_NEAR(model.active_parameters / 1e9, 3.8, 0.1);
  Diagnostics diagnostics("preset");
  const Json preset = TransformerShape::fields().write(*find_model("gemma4-26b", "", diagnostics)->transformer);
  Json imported = model.model.at("transformer");
  for (const auto& [key, value] : preset.items()) EXPECT_EQ(imported.value(key, Json(value)), value) << key;
}

// The smallest models' files beside the presets (their config.json; MaxText's gemma4-e2b.yml has the same sizes).
TEST(GlobalHeads, Gemma4sSmallestAreImported) {
  Json e2b = Json::parse(R"({"model_type":"gemma4","text_config":{"model_type":"gemma4_text","attention_k_eq_v":false,
    "enable_moe_block":false,"global_head_dim":512,"head_dim":256,"hidden_size":1536,"hidden_size_per_layer_input":256,
    "intermediate_size":6144,"num_attention_heads":8,"num_global_key_value_heads":null,"num_hidden_layers":35,
    "num_key_value_heads":1,"num_kv_shared_layers":20,"sliding_window":512,"use_double_wide_mlp":true,
    "vocab_size":262144,"vocab_size_per_layer_input":262144}})");
  Json types = Json::array();
  for (int layer = 1; layer <= 35; ++layer) types.push_back(layer % 5 == 0 ? "full_attention" : "sliding_attention");
  e2b["text_config"]["layer_types"] = types;
  const ImportedModel small = import_huggingface(e2b, {"config.json", "e2b"}, 4096);
  EXPECT_EQ(small.parameters, parameter_count(*test::preset("gemma4-2b")));

  Json e4b = e2b;
  Json& text = e4b["text_config"];
  text.update({{"hidden_size", 2560},
               {"intermediate_size", 10240},
               {"num_hidden_layers", 42},
               {"num_key_value_heads", 2},
               {"num_kv_shared_layers", 18},
               {"use_double_wide_mlp", false}});
  text.erase("layer_types");  // by default every sixth sees all
  const ImportedModel large = import_huggingface(e4b, {"config.json", "e4b"}, 4096);
  EXPECT_EQ(large.parameters, parameter_count(*test::preset("gemma4-4b")));
  for (const auto& [id, model] : {std::pair{"gemma4-2b", small}, std::pair{"gemma4-4b", large}}) {
    const Json preset = TransformerShape::fields().write(*test::preset(id)->transformer);
    for (const auto& [key, value] : model.model.at("transformer").items()) EXPECT_EQ(preset.at(key), value) << key;
  }
}

TEST(GlobalHeads, OtherWordsOfEveryLayerAreRefused) {
  Json config = experts();
  config["text_config"].update({{"hidden_size_per_layer_input", 256}, {"vocab_size_per_layer_input", 1000}});
  EXPECT_THAT(fault_of(config), HasSubstr("/text_config/vocab_size_per_layer_input: found 1000, expected 262144"));
}

}  // namespace
}  // namespace stepcast::global_heads_test
