#include <gtest/gtest.h>

#include <cmath>

#include "models/workload/operators.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::workload_test {
namespace {

using test::preset;

std::string_view name_of_shape(const Model& model) {
  if (model.recommender) return "recommender";
  return model.transformer ? "transformer" : model.compact ? "compact" : "cnn";
}

double forward_flops(std::string_view id, int seq_len) {
  return model_flops_per_sample(*preset(id), seq_len, {.causal_halved = false, .output_layer = true}).value() / 3;
}

TEST(Presets, EveryPresetIsSoundAndNamedAsItsFile) {
  const std::vector<std::string> ids = model_ids();
  EXPECT_GE(ids.size(), 45U);
  for (const std::string& id : ids) {
    const auto model = preset(id);
    EXPECT_EQ(model->id, id);
    EXPECT_FALSE(model->title.empty()) << id;
    EXPECT_TRUE(model->sources.contains(std::string(name_of_shape(*model)))) << id;
  }
}

// Every preset with a published count names its source and comes within 0.5 % of it.
TEST(Presets, ParameterCountsMatchThePublishedOnes) {
  int published = 0;
  for (const std::string& id : model_ids()) {
    const auto model = preset(id);
    if (!model->published_parameters) continue;
    ++published;
    EXPECT_TRUE(model->sources.contains("published_parameters")) << id;
    EXPECT_NEAR(parameter_count(*model) / *model->published_parameters, 1, 0.005) << id;
  }
  EXPECT_GE(published, 45);
}

// Megatron-LM's indexed data sets have 16 bits a token while the vocabulary fits, else 32: what is said is what counts.
TEST(Presets, StoredTokensAreAsWideAsTheVocabularyNeeds) {
  int stored = 0;
  for (const std::string& id : model_ids()) {
    const auto model = preset(id);
    const auto source = model->sources.find("sample_kB");
    if (source == model->sources.end() || source->second.find("bytes a stored token") == std::string::npos) continue;
    ++stored;
    const int bytes = model->transformer->vocab > 65536 ? 4 : 2;
    EXPECT_TRUE(source->second.starts_with(std::to_string(bytes) + " bytes")) << id << ": " << source->second;
    EXPECT_EQ(model->sample_bytes.value(), bytes * model->default_seq_len) << id;
  }
  EXPECT_GE(stored, 45);
}

// To the last one, where the state dictionary of the public checkpoint is known.
TEST(Presets, CheckpointsAreCountedExactly) {
  for (const auto& [id, count] : std::map<std::string, double>{{"gpt2", 124439808},
                                                               {"gpt2-xl", 1557611200},
                                                               {"llama2-7b", 6738415616},
                                                               {"llama2-70b", 68976648192},
                                                               {"llama3-8b", 8030261248},
                                                               {"llama3-405b", 405853388800},
                                                               {"llama3.2-1b", 1235814400},
                                                               {"mixtral-8x7b", 46702792704},
                                                               {"resnet50", 25557032},
                                                               {"resnet50d", 25576264},
                                                               {"vgg16", 138357544},
                                                               {"inception-v3", 23834568}})
    EXPECT_EQ(parameter_count(*preset(id)), count) << id;
}

// BERT-Large by hand: tables (30522 + 512 + 2)·1024 + norm 2·1024 = 31,782,912; a layer 12·1024² + 13·1024 =
// 12,596,224, 24 of them 302,309,376; pooler 1024² + 1024 = 1,049,600; transform with norm and vocabulary bias 1024² +
// 1024 + 2·1024 + 30522 = 1,082,170; next-sentence head 2·1024 + 2 = 2,050.
TEST(Presets, BertCountsItsPoolerAndHeads) {
  EXPECT_EQ(parameter_count(*preset("bert-large")), 31782912 + 302309376 + 1049600 + 1082170 + 2050);
}

// One token visits 2 of 8 experts of 3·4096·14336 weights each in 32 layers: 46,702,792,704 − 32·6·176,160,768.
TEST(Presets, ActiveParametersLeaveOutUnvisitedExperts) {
  EXPECT_EQ(active_parameter_count(*preset("mixtral-8x7b")), 46702792704.0 - 32.0 * 6 * 176160768);
  EXPECT_EQ(active_parameter_count(*preset("llama3-8b")), parameter_count(*preset("llama3-8b")));
}

// Forward GFLOPs of one image or sequence, 2 per multiply-add, mask not halved: layer lists counted independently
// (timm's and torchvision's model tables for the CNNs; 24·h² + 4·s·h a token and layer, plus the head, for
// transformers).
TEST(ModelFlops, ForwardMatchesPublishedCounts) {
  for (const auto& [id, seq_len, gflops] :
       std::vector<std::tuple<std::string, int, double>>{{"resnet50", 0, 8.178},
                                                         {"resnet101", 0, 15.6},
                                                         {"resnet152", 0, 23.03},
                                                         {"vgg16", 0, 30.94},
                                                         {"inception-v3", 0, 11.46},
                                                         {"resnet34", 0, 7.328},
                                                         {"resnext101-32x8d", 0, 32.83},
                                                         {"ssd300-rn50", 0, 40.3},
                                                         {"efficientnet-b4", 0, 8.833},
                                                         {"bert-base", 128, 23.31},
                                                         {"bert-large", 128, 80.21},
                                                         {"bert-large", 512, 340.2},
                                                         {"gpt2", 1024, 291.6},
                                                         {"gpt2-xl", 1024, 3507}})
    EXPECT_NEAR(forward_flops(id, seq_len) / 1e9 / gflops, 1, 0.01) << id << " " << seq_len;
}

// GPT-3 175B, s = 2048, by hand. A layer's products: 24·s·h² = 24·2048·12288² = 7.4217e12; attention 4·s²·h =
// 4·2048²·12288 = 2.0616e11; 96 layers; logits 2·s·h·V = 2·2048·12288·51200 = 2.5770e12. Three times the forward pass.
TEST(ModelFlops, Gpt3ByHand) {
  const auto model = preset("gpt3-175b");
  const double s = 2048, h = 12288, layers = 96, vocab = 51200;
  const double products = layers * 24 * s * h * h, attention = layers * 4 * s * s * h, logits = 2 * s * h * vocab;
  const auto flops = [&](bool halved, bool output) {
    return model_flops_per_sample(*model, 2048, {.causal_halved = halved, .output_layer = output}).value();
  };
  EXPECT_NEAR(products, 96 * 7.4217e12, 96 * 1e8);
  EXPECT_DOUBLE_EQ(flops(false, true), 3 * (products + attention + logits));
  EXPECT_DOUBLE_EQ(flops(true, true), 3 * (products + attention / 2 + logits));
  EXPECT_DOUBLE_EQ(flops(true, false), 3 * (products + attention / 2));
}

// Narayanan et al. 2021 eq. 3 counts the recomputed forward pass: four passes over the blocks and three over the
// logits. 96·s·l·h²·(1 + s/6h) = 4·(24·s·l·h² + 4·s²·l·h); 96·s·l·h²·V/16lh = 6·s·h·V = 3·(2·s·h·V).
TEST(ModelFlops, Sc21FormulaIsFourPassesOverTheBlocks) {
  const auto model = preset("gpt3-175b");
  const double s = 2048, h = 12288, layers = 96, vocab = 51200;
  const double expected = 4 * (24 * s * layers * h * h + 4 * s * s * layers * h) + 3 * (2 * s * h * vocab);
  EXPECT_NEAR(sc21_flops_per_sample(*model->transformer, 2048).value() / expected, 1, 1e-12);
}

// An encoder attends both ways, so nothing is halved.
TEST(ModelFlops, OnlyDecodersAreHalved) {
  const auto bert = preset("bert-large");
  EXPECT_EQ(model_flops_per_sample(*bert, 512, {true, true}), model_flops_per_sample(*bert, 512, {false, true}));
}

TEST(ModelFlops, DocumentsAreSequencesOfTheirOwn) {
  const Model& model = *preset("llama3-8b");
  const auto flops = [&](int seq_len, int document) {
    return model_flops_per_sample(model, seq_len, {.document_len = document}).value();
  };
  EXPECT_NEAR(flops(131072, 4096) / flops(4096, 0), 32, 1e-9);
  EXPECT_EQ(flops(4096, 8192), flops(4096, 0));
}

TEST(ModelFlops, FrozenProductsHaveNoWeightGradients) {
  const Model& model = *preset("llama3-8b");
  const double trained = model_flops_per_sample(model, 1, {}).value();
  const double frozen = model_flops_per_sample(model, 1, {.frozen = true}).value();
  // Attention over one token is next to nothing beside the products.
  EXPECT_NEAR(frozen / trained, 2.0 / 3, 1e-4);
}

Diagnostics faults_of(const Model& model) {
  Diagnostics diagnostics("test");
  check_model(model, "/workload/model", diagnostics);
  return diagnostics;
}

TEST(CheckModel, NamesWhatIsWrongAndWhere) {
  Model model = *preset("mixtral-8x7b");
  EXPECT_TRUE(faults_of(model).ok());
  model.transformer->heads = 30;
  model.transformer->top_k = 9;
  const Diagnostics diagnostics = faults_of(model);
  ASSERT_EQ(diagnostics.faults().size(),
            3U);  // 30 divides neither 4096, nor is it a multiple of 8 key heads; 9 of 8 experts
  EXPECT_EQ(diagnostics.faults()[0].pointer, "/workload/model/transformer/heads");
  EXPECT_EQ(diagnostics.faults()[1].pointer, "/workload/model/transformer/kv_heads");
  EXPECT_EQ(diagnostics.faults()[2].pointer, "/workload/model/transformer/top_k");
}

TEST(CheckModel, WantsTheShapeOfItsFamily) {
  Model model = *preset("resnet50");
  model.family = ModelFamily::decoder;
  ASSERT_EQ(faults_of(model).faults().size(), 1U);
  EXPECT_EQ(faults_of(model).faults()[0].pointer, "/workload/model/transformer");
}

TEST(CheckModel, RowsOfACnnFit) {
  Model model = *preset("resnet50");
  model.cnn->layers[0].groups = 2;         // 3 input channels
  model.cnn->layers[1].out_channels = 65;  // a pool of 64
  const Diagnostics diagnostics = faults_of(model);
  ASSERT_EQ(diagnostics.faults().size(), 2U);
  EXPECT_EQ(diagnostics.faults()[0].pointer, "/workload/model/cnn/layers/0/groups");
  EXPECT_EQ(diagnostics.faults()[1].pointer, "/workload/model/cnn/layers/1/out_channels");
}

TEST(CheckModel, RefusesSizesThatNoMachineHolds) {
  Model model = *preset("resnet50");
  model.cnn->layers[2].repeat = kMostLayers;
  ASSERT_EQ(faults_of(model).faults().size(), 1U);
  EXPECT_EQ(faults_of(model).faults()[0].pointer, "/workload/model/cnn/layers");

  Diagnostics diagnostics("s.json");
  Json described = Model::fields().write(*preset("gpt2"));
  described["transformer"]["layers"] = 2000000000;
  ModelChoice choice;
  Codec<ModelChoice>::read(choice, described, "/model", "model", {}, diagnostics);
  ASSERT_EQ(diagnostics.faults().size(), 1U);
  EXPECT_EQ(diagnostics.faults()[0].pointer, "/model/transformer/layers");
}

TEST(FindModel, SuggestsTheNearestPreset) {
  Diagnostics diagnostics("s.json");
  EXPECT_EQ(find_model("gpt3-175", "/workload/model", diagnostics), nullptr);
  ASSERT_EQ(diagnostics.faults().size(), 1U);
  EXPECT_EQ(diagnostics.faults()[0].pointer, "/workload/model");
  EXPECT_NE(diagnostics.faults()[0].suggestion.find("gpt3-175b"), std::string::npos);
}

TEST(FindModel, TakesNoPathForAnId) {
  Diagnostics diagnostics("s.json");
  EXPECT_EQ(find_model("../presets/gpt2", "/workload/model", diagnostics), nullptr);
  EXPECT_FALSE(diagnostics.ok());
}

TEST(ModelChoice, ReadsAnIdOrADescription) {
  Diagnostics diagnostics("s.json");
  ModelChoice choice;
  Codec<ModelChoice>::read(choice, Json("gpt2"), "/model", "model", {}, diagnostics);
  EXPECT_EQ(choice.preset, "gpt2");

  const Json described = Model::fields().write(*preset("llama3-8b"));
  Codec<ModelChoice>::read(choice, described, "/model", "model", {}, diagnostics);
  diagnostics.throw_if_faulty();
  ASSERT_NE(choice.described, nullptr);
  EXPECT_EQ(parameter_count(*choice.described), 8030261248);
  EXPECT_EQ(Codec<ModelChoice>::write(choice, "model"), described);
}

TEST(ModelChoice, ReportsAFaultInADescription) {
  Diagnostics diagnostics("s.json");
  ModelChoice choice;
  Json described = Model::fields().write(*preset("llama3-8b"));
  described["transformer"]["haeds"] = 3;
  described["transformer"].erase("hidden");
  Codec<ModelChoice>::read(choice, described, "/model", "model", {}, diagnostics);
  ASSERT_EQ(diagnostics.faults().size(), 2U);
  EXPECT_NE(diagnostics.faults()[0].suggestion.find("heads"), std::string::npos);
  EXPECT_EQ(diagnostics.faults()[1].pointer, "/model/transformer/hidden");
}

// Norm 3 + 5, activation 2 + 3 and shortcut 3 + 3 passes over 8 · 16 · 16 elements of 16 bit; compiled, the norm's
// kernels take the others in: 3 + 5, 0 + 2 and 1 + 1. A fully connected row has no norm.
TEST(Cnn, CompilersJoinActivationAndShortcutToTheNorm) {
  Model model;
  model.family = ModelFamily::cnn;
  CnnLayer row;
  row.in_channels = row.out_channels = 8;
  row.height = row.width = 16;
  row.residual_add = true;
  CnnLayer last;
  last.kind = CnnLayerKind::fully_connected;
  last.in_channels = last.out_channels = 8;
  last.height = last.width = 1;
  model.cnn = CnnShape{};
  model.cnn->layers = {row, last, last};
  const auto passes = [&](int layer, double elements, bool compiled) {
    LayerSharding cuts;
    cuts.compiled = compiled;
    const LayerWork work = layer_work(model, LayerRole::cnn, layer, 1, 0, cuts);
    double bytes = 0;
    for (const auto* steps : {&work.forward, &work.backward_input})
      for (const LayerStep& step : *steps)
        if (step.op.kind == OperatorKind::memory) bytes += step.op.bytes.value();
    return bytes / (2 * elements);
  };
  EXPECT_EQ(passes(0, 8 * 16 * 16, false), 19);
  EXPECT_EQ(passes(0, 8 * 16 * 16, true), 12);
  EXPECT_EQ(passes(1, 8, false), 5);
  EXPECT_EQ(passes(1, 8, true), 5);
}

TEST(Cnn, RepeatCopiesRowsWhenRead) {
  const Json described = Json::parse(R"({"family": "cnn", "cnn": {"layers": [
      {"name": "stem", "in_channels": 3, "out_channels": 8, "height": 32, "width": 32, "kernel_height": 3, "kernel_width": 3},
      {"name": "body", "in_channels": 8, "out_channels": 8, "height": 32, "width": 32, "repeat": 3}]}})");
  Diagnostics diagnostics("s.json");
  ModelChoice choice;
  Codec<ModelChoice>::read(choice, described, "/model", "model", {}, diagnostics);
  diagnostics.throw_if_faulty();
  EXPECT_EQ(layer_count(*choice.described), 4);
  // 3·8·9 + 2·8 (batch norm); three times 8·8 + 2·8.
  EXPECT_EQ(parameter_count(*choice.described), 232 + 3 * 80);
}

}  // namespace
}  // namespace stepcast::workload_test
