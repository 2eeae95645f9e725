#include <array>
#include <charconv>

#include "calibration/validation/expert_recipes.hpp"
#include "calibration/validation/model_shapes.hpp"
#include "calibration/validation/published_row.hpp"

namespace stepcast {

namespace {

constexpr std::array kSizes{"layers", "hidden", "ffn_hidden", "heads", "kv_heads", "vocab", "experts", "top_k"};

/// BERT as Devlin et al. 2018 have it: two segments, the heads of its two tasks, dropout 0.1.
void make_encoder(Json& shape, const FrameworkDefaults& defaults) {
  shape["token_types"] = 2;
  shape["pooler_and_heads"] = true;
  shape["tied_embeddings"] = true;
  shape["biases"] = true;
  shape["dropout"] = 0.1;
  shape["predicted_share"] = defaults.predicted_share;
}

/// T5 (Raffel et al. 2020, section 3.1.4, and its v1.1): tables count the blocks of one side. Of a source of 512 tokens
/// 15 % in spans of three are asked for, with a mark each: 114. Megatron's data sets pad them to 128 (NeMo's
/// t5 configurations, seq_length_dec).
void make_encoder_decoder(Json& shape, const FrameworkDefaults& defaults) {
  constexpr double kSource = 512, kTarget = 114, kPaddedTarget = 128;
  // A preset has both sides already.
  if (!shape.contains("encoder_layers")) {
    const long blocks = shape.at("layers");
    shape["encoder_layers"] = blocks;
    shape["layers"] = 2 * blocks;
  }
  shape["target_share"] = (defaults.profile == "jax" ? kTarget : kPaddedTarget) / kSource;
  shape["positions"] = "none";  // a bias a distance and head, which is not counted
}

/// Vocabularies that no kernel for aligned matrices multiplies are padded where the program does so.
void pad_vocabulary(Json& shape, const PublishedRow& reading) {
  const long multiple = reading.defaults->vocab_multiple * reading.row.whole("tp").value_or(1);
  const long stated = shape.value("vocab", 0L);
  shape["vocab"] = (stated + multiple - 1) / multiple * multiple;
}

/// Layers of a model that a run keeps, where its notes call it a proxy: "16-layer proxy of the flash model".
std::optional<long> proxy_layers(const CsvRow& row) {
  const std::string notes = row.text("notes");
  const std::size_t end = notes.find("-layer proxy");
  if (end == std::string::npos) return std::nullopt;
  const std::size_t begin = notes.find_last_not_of("0123456789", end - 1) + 1;
  long layers = 0;
  const auto [stop, error] = std::from_chars(notes.data() + begin, notes.data() + end, layers);
  return error == std::errc() && stop == notes.data() + end ? std::optional(layers) : std::nullopt;
}

bool is_encoder(const std::string& model) { return model.find("bert") == 0; }
bool is_encoder_decoder(const std::string& model) { return model.find("t5") == 0 || model.find("mt5") == 0; }

}  // namespace

TrainingTask task_of(const CsvRow& row) {
  const std::string notes = row.text("notes");
  if (notes.find("task=lora") != std::string::npos) return TrainingTask::adapters;
  if (notes.find("task=sft") != std::string::npos) return TrainingTask::fine_tuning;
  return TrainingTask::pre_training;
}

Json published_model(PublishedRow& reading) {
  const std::string name = reading.row.text("model");
  StatedModel stated{name, Json::object(), reading.row.number("params_B").value_or(0)};
  // Parameters of two sides tell nothing of one, which is what the sizes describe.
  if (is_encoder_decoder(name)) stated.parameters = 0;
  for (const char* column : kSizes)
    if (const std::optional<long> size = reading.row.whole(column)) stated.sizes[column] = *size;
  if (const std::optional<long> layers = proxy_layers(reading.row)) stated.sizes["layers"] = *layers;
  KnownShape shape = known_shape(stated);
  if (!shape.refusal.empty()) {
    reading.refuse(shape.refusal);
    return nullptr;
  }
  if (shape.by_size) reading.unstated("shape");
  if (reading.notes("without MTP") || reading.notes("w/o MTP") || reading.notes("no MTP")) {
    shape.transformer["mtp_layers"] = 0;
  } else if (const int blocks = unstated_predictions(name); blocks > 0) {
    shape.transformer["mtp_layers"] = blocks;
    reading.unstated(kUnstatedPredictions);
  }
  const long seq_len = reading.row.required_whole("seq_len");
  shape.transformer["max_positions"] = seq_len;
  if (reading.defaults->vocab_multiple > 1) pad_vocabulary(shape.transformer, reading);
  if (is_encoder(name)) make_encoder(shape.transformer, *reading.defaults);
  if (is_encoder_decoder(name)) make_encoder_decoder(shape.transformer, *reading.defaults);
  return {{"id", name},
          {"family", shape.transformer.contains("diffusion") ? "diffusion"
                     : is_encoder(name)                      ? "encoder"
                                                             : "decoder"},
          {"transformer", shape.transformer},
          {"default_seq_len", seq_len}};
}

}  // namespace stepcast
