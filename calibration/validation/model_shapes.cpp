#include "calibration/validation/model_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <regex>

#include "calibration/validation/csv_table.hpp"
#include "calibration/validation/model_names.hpp"
#include "calibration/validation/model_readings.hpp"
#include "fields/data_directory.hpp"
#include "models/workload/operators.hpp"

namespace stepcast {

namespace {

/// What notes say that a description cannot: found words, and the reason.
struct Beyond {
  std::string_view words, reason;
};
constexpr std::array kBeyond{
    Beyond{"not stated by the source", "the source does not state the shape"},
    Beyond{"shape not found", "the source does not state the shape"},
};
/// What the table tells in words only, so that the preset of the name is asked.
constexpr std::array kInWords{"MLA", "window", "chunked", "every second layer", "Mamba", "diffusion"};

/// Columns of the table that are keys of a shape.
constexpr std::array kWholeColumns{
    "layers", "hidden",  "ffn_hidden", "heads",          "kv_heads",          "head_dim",
    "vocab",  "experts", "top_k",      "moe_ffn_hidden", "shared_expert_ffn", "dense_layers"};

template <std::size_t N>
bool holds_any(const std::string& text, const std::array<const char*, N>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

bool has_preset(const std::string& name) {
  const std::vector<std::string> ids = model_ids();
  return std::binary_search(ids.begin(), ids.end(), name);
}

/// The preset of a name as keys of a shape; a model whose particulars are known only in words is refused without one.
void take_preset(KnownShape& shape, const std::string& name, const std::string& notes) {
  if (!has_preset(name)) {
    shape.refusal = "no preset has this model's windows, latents, mixers, patches or alternating layers";
    return;
  }
  Diagnostics diagnostics(name);
  const std::shared_ptr<const Model> preset = find_model(name, "", diagnostics);
  if (!preset->is_transformer()) {
    shape.refusal = fmt::format("{} is {}", name, kind_in_words(*preset));
    return;
  }
  shape.transformer = TransformerShape::fields().write(*preset->transformer);
  if (notes.find("MTP") != std::string::npos) shape.transformer["mtp_layers"] = 1;
}

/// What the table has no column for.
void take_unlisted(Json& shape, const std::string& name) {
  if (!has_preset(name)) return;
  Diagnostics diagnostics(name);
  const std::shared_ptr<const Model> preset = find_model(name, "", diagnostics);
  if (preset->is_transformer() && preset->transformer->qk_norm) shape["qk_norm"] = true;
}

/// The first row of each name; where a name has several shapes, rows of runs state the sizes in which they differ.
std::map<std::string, KnownShape> read_shapes() {
  const CsvTable table = read_csv(data_directory("calibration/data") / "llm-models.csv");
  std::map<std::string, KnownShape> out;
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    const std::string name = row.text("model"), notes = row.text("notes");
    KnownShape shape;
    for (const char* column : kWholeColumns)
      if (const std::string text = row.text(column); !text.empty() && text != "0")
        shape.transformer[column] = row.required_whole(column);
    const std::string gated = row.text("gated_mlp");
    const double billions = row.number("params_B").value_or(0);
    if (gated.empty())
      take_style(shape.transformer, {kGpt, kUntiedGpt, kLlama, kTiedLlama}, billions);
    else if (gated == "1")
      take_style(shape.transformer, {kLlama, kTiedLlama}, billions);
    else
      take_style(shape.transformer, {kGpt, kUntiedGpt}, billions);
    take_unlisted(shape.transformer, name);
    const bool by_preset = !shape.transformer.contains("layers") && has_preset(name);
    const bool in_words = by_preset || holds_any(notes, kInWords);
    if (in_words) take_preset(shape, name, notes);
    for (const Beyond& beyond : kBeyond)
      if (!in_words && shape.refusal.empty() && notes.find(beyond.words) != std::string::npos)
        shape.refusal = beyond.reason;
    out.emplace(name, std::move(shape));
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return out;
}

/// What a GPT's table leaves out, as the family has it (Brown et al. 2020, Table 2.1): an MLP four times as wide, heads
/// of 128. Says whether anything was missing.
bool complete_gpt(Json& shape) {
  if (!shape.contains("hidden")) return false;
  const long hidden = shape.at("hidden");
  bool missing = false;
  for (const auto& [key, size] : {std::pair{"ffn_hidden", 4 * hidden}, std::pair{"heads", std::max(1L, hidden / 128)},
                                  std::pair{"vocab", 51200L}})
    if (!shape.contains(key)) {
      shape[key] = size;
      missing = true;
    }
  return missing;
}

/// A GPT of so many parameters: 12·layers·h² of them (Narayanan et al. 2021, eq. 2, without the vocabulary), with the
/// widths that GPT-3's family has at these sizes (Brown et al. 2020, Table 2.1) up to 8,192, which runs of 30 to 200 B
/// on machines of their day chose for deeper ones, then those of the paper's own models (Table 1); heads of 128.
KnownShape by_count(const StatedModel& stated) {
  struct Width {
    double parameters;
    long hidden;
  };
  constexpr std::array kWidths{Width{0.2, 768},   Width{0.5, 1024},  Width{1, 1536},   Width{2, 2048},
                               Width{5, 2560},    Width{10, 4096},   Width{25, 5120},  Width{250, 8192},
                               Width{400, 16384}, Width{700, 20480}, Width{1e9, 25600}};
  const auto* width = std::find_if(kWidths.begin(), kWidths.end(),
                                   [&](const Width& one) { return stated.parameters <= one.parameters; });
  const auto h = static_cast<double>(width->hidden);
  const long layers = std::max(1L, std::lround(stated.parameters * 1e9 / (12 * h * h)));
  KnownShape out;
  out.by_size = true;
  // Depths of such models are multiples of their pipelines, which are powers of two.
  out.transformer = {{"layers", layers > 8 ? (layers + 4) / 8 * 8 : layers},
                     {"hidden", width->hidden},
                     {"ffn_hidden", 4 * width->hidden},
                     {"heads", std::max(1L, width->hidden / 128)},
                     {"vocab", 51200}};
  set_style(out.transformer, kGpt);
  return out;
}

/// 10⁹ parameters in a name that says no more: of "gpt3-175b" 175, of "gpt-1t" 1,000.
std::optional<double> size_in_name(const std::string& name) {
  static const std::regex kPlain(R"((?:gpt3?|opt|bloom)-(\d+(?:\.\d+)?)([bt]))");
  std::smatch match;
  if (!std::regex_match(name, match, kPlain)) return std::nullopt;
  return std::stod(match[1]) * (match[2] == "t" ? 1000 : 1);
}

/// The known model of the same family and size that a GPT's name is short for: "gpt-145b" the one of 145.6 B, "bloom"
/// that of 176. Empty where there is none, or the name says that it is another.
std::string known_of_size(const StatedModel& stated, const std::map<std::string, KnownShape>& listed) {
  if (stated.name != "bloom" && !size_in_name(stated.name)) return {};
  std::vector<std::string> names = model_ids();
  for (const auto& [name, shape] : listed) names.push_back(name);
  constexpr double kSameSize = 0.01;
  double least = kSameSize;
  std::string nearest;
  for (const std::string& name : names) {
    const std::optional<double> size = size_in_name(name);
    if (!size || name.compare(0, 3, stated.name, 0, 3) != 0) continue;
    const double off = std::abs(*size / stated.parameters - 1);
    if (off >= least) continue;
    least = off;
    nearest = name;
  }
  return nearest;
}

/// Of a model that a run cut to its first layers, what is said layer by layer.
void take_first_layers(Json& shape, std::size_t layers) {
  if (!shape.contains("compressed_attention")) return;
  Json& ratios = shape["compressed_attention"]["ratios"];
  if (layers < ratios.size()) ratios.erase(ratios.begin() + static_cast<std::ptrdiff_t>(layers), ratios.end());
}

/// Sizes that runs do not cut or pad, and those of experts where a preset has them.
constexpr std::array kOwnSizes{"hidden", "heads", "experts", "top_k"};

/// Whether the sizes that a row states are those of a preset. Other sizes are another model's.
bool has_sizes_of(const Json& preset, const Json& sizes) {
  for (const char* key : kOwnSizes)
    if (sizes.contains(key) && sizes.at(key) != preset.value(key, 0L)) return false;
  if (!sizes.contains("ffn_hidden")) return true;
  return sizes.at("ffn_hidden") == preset.value("ffn_hidden", 0L) ||
         sizes.at("ffn_hidden") == preset.value("moe_ffn_hidden", 0L);
}

/// Whether a stated number of layers counts the blocks of a preset whose pattern counts halves of them apart.
bool counts_blocks_of(const Json& preset, std::string_view key, const Json& stated) {
  return key == "layers" && preset.contains("layer_pattern") && preset.value("layers", 0L) == 2 * stated.get<long>();
}

/// Whether the preset of a row's name says more of its shape than the row's sizes. Where both come to as many
/// parameters the row has said all, and how somebody trained the preset's model (dropout) is not how this run was.
bool preset_says_more(const StatedModel& stated) {
  const std::shared_ptr<const Model> preset = transformer_of(stated.name);
  if (preset == nullptr) return false;
  if (!complete_sizes(stated.sizes)) return true;
  Json shape = TransformerShape::fields().write(*preset->transformer);
  if (!has_sizes_of(shape, stated.sizes)) return false;
  for (const char* key : {"layers", "vocab"})
    if (!counts_blocks_of(shape, key, stated.sizes.at(key))) shape[key] = stated.sizes.at(key);
  const KnownShape reading = shape_by_sizes(stated);
  // Experts whose width the parameters were asked for meet them by nature.
  return reading.by_size || !reading.refusal.empty() || is_likelier(shape, reading.transformer, stated.parameters);
}

}  // namespace

KnownShape known_shape(const StatedModel& stated) {
  static const std::map<std::string, KnownShape> kShapes = read_shapes();
  const auto found = kShapes.find(stated.name);
  const bool listed = found != kShapes.end();
  if (!listed && complete_sizes(stated.sizes) && !preset_says_more(stated)) return shape_by_sizes(stated);
  const bool gpt = stated.name.find("gpt") == 0 || stated.name.find("opt") == 0 || stated.name.find("bloom") == 0;
  const bool unnamed = !listed && !has_preset(stated.name) && gpt && stated.parameters > 0;
  if (unnamed && !stated.sizes.contains("hidden")) {
    const std::string like = known_of_size(stated, kShapes);
    return like.empty() ? by_count(stated) : known_shape({like, stated.sizes, stated.parameters});
  }
  KnownShape out;
  if (listed)
    out = found->second;
  else if (has_preset(stated.name))
    take_preset(out, stated.name, "");
  else
    out.refusal = no_model(stated.name);
  if (!out.refusal.empty()) return out;
  if (stated.sizes.contains("layers")) take_first_layers(out.transformer, stated.sizes.at("layers"));
  for (const auto& [key, value] : stated.sizes.items())
    if (!(key == "kv_heads" && out.transformer.value("kv_lora_rank", 0L) > 0) &&
        !counts_blocks_of(out.transformer, key, value))
      out.transformer[key] = value;
  if (gpt && complete_gpt(out.transformer)) out.by_size = true;
  for (const char* key : kNeededSizes)
    if (out.refusal.empty() && !out.transformer.contains(key))
      out.refusal = fmt::format("{} of {} is not stated", key, stated.name);
  return out;
}

}  // namespace stepcast
