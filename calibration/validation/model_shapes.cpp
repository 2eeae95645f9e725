#include "calibration/validation/model_shapes.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

#include "calibration/validation/csv_table.hpp"
#include "fields/data_directory.hpp"

namespace stepcast {

namespace {

/// What notes say that a description cannot: found words, and the reason.
struct Beyond {
  std::string_view words, reason;
};
constexpr std::array kBeyond{
    Beyond{"MLA", "multi-latent attention has no description yet"},
    Beyond{"Mamba", "state-space layers have no description yet"},
    Beyond{"encoder", "encoder-decoders have no description yet"},
    Beyond{"window", "attention windows have no description yet"},
    Beyond{"chunked", "attention windows have no description yet"},
    Beyond{"diffusion", "diffusion transformers have no description yet"},
    Beyond{"every second layer", "models whose layers alternate have no description yet"},
};

/// Columns of the table that are keys of a shape.
constexpr std::array kWholeColumns{
    "layers", "hidden",  "ffn_hidden", "heads",          "kv_heads",          "head_dim",
    "vocab",  "experts", "top_k",      "moe_ffn_hidden", "shared_expert_ffn", "dense_layers"};

/// The first row of each name; where a name has several shapes, rows of runs state the sizes in which they differ.
std::map<std::string, KnownShape> read_shapes() {
  const CsvTable table = read_csv(data_directory("calibration/data") / "llm-models.csv");
  std::map<std::string, KnownShape> out;
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    KnownShape shape;
    for (const char* column : kWholeColumns)
      if (const std::string text = row.text(column); !text.empty() && text != "0")
        shape.transformer[column] = row.required_whole(column);
    const bool llama_like = row.text("gated_mlp") == "1";
    shape.transformer["gated_mlp"] = llama_like;
    shape.transformer["positions"] = llama_like ? "rotary" : "learned";
    shape.transformer["norm"] = llama_like ? "rms_norm" : "layer_norm";
    for (const Beyond& beyond : kBeyond)
      if (row.text("notes").find(beyond.words) != std::string::npos) shape.refusal = beyond.reason;
    out.emplace(row.text("model"), std::move(shape));
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return out;
}

}  // namespace

KnownShape known_shape(const std::string& model, const Json& stated_sizes) {
  static const std::map<std::string, KnownShape> kShapes = read_shapes();
  const auto found = kShapes.find(model);
  KnownShape out;
  if (found == kShapes.end()) {
    out.refusal = fmt::format("shape of {} is not known", model);
    return out;
  }
  out = found->second;
  for (const auto& [key, value] : stated_sizes.items()) out.transformer[key] = value;
  for (const char* key : {"layers", "hidden", "ffn_hidden", "heads", "vocab"})
    if (out.refusal.empty() && !out.transformer.contains(key))
      out.refusal = fmt::format("{} of {} is not stated", key, model);
  return out;
}

}  // namespace stepcast
