#include "calibration/importers/models/diffusers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibration/importers/models/config_reader.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

constexpr const char* kClass = "_class_name";

/// A class of diffusers: what its file says under which key, and what its code fixes.
struct DiffusersClass {
  std::string_view name;
  std::string_view single_layers = "";   ///< key of the blocks of one stream behind those of two
  bool two_streams = false;              ///< all other blocks have two
  bool joint = false;                    ///< text and latent in one sequence
  std::string_view context_width = "";   ///< key; none: no text
  std::string_view context_length = "";  ///< key of the text's tokens
  int context_tokens = 0;                ///< where it has none, as its pipeline pads texts
  int patch = 2;                         ///< of a side, where patch_size is not there
  bool shared_modulation = false;
  bool head_norms = false;
  bool rotary = false;
  int tokens = 0;            ///< of a latent
  std::string_view of = "";  ///< what these are
  std::string_view left_out = "";
};

/// Wan by diffusers' class and by its own, which says how long its texts are.
constexpr DiffusersClass wan(std::string_view name, std::string_view context_length = "") {
  return {.name = name,
          .context_width = "text_dim",
          .context_length = context_length,
          .context_tokens = 512,
          .shared_modulation = true,
          .head_norms = true,
          .rotary = true,
          .tokens = 21 * 30 * 52,
          .of = "films of 81 frames of 832 x 480",
          .left_out = "the second product of the text's embedding, and what attends to a picture"};
}

// The classes' own files under src/diffusers/models/transformers, and their pipelines' lengths of texts. Wan writes its
// own files alike.
constexpr std::array kClasses{
    DiffusersClass{.name = "DiTTransformer2DModel",
                   .tokens = 256,
                   .of = "pictures of 256 x 256",
                   .left_out = "what the last layer gives beside the noise, and the table of classes"},
    DiffusersClass{.name = "PixArtTransformer2DModel",
                   .context_width = "caption_channels",
                   .context_tokens = 120,
                   .shared_modulation = true,
                   .tokens = 1024,
                   .of = "pictures of 512 x 512",
                   .left_out = "the second product of the text's embedding"},
    DiffusersClass{
        .name = "SD3Transformer2DModel",
        .two_streams = true,
        .joint = true,
        .context_width = "joint_attention_dim",
        .context_tokens = 154,
        .tokens = 4096,
        .of = "pictures of 1024 x 1024",
        .left_out = "the pooled text's embedding; the last block is taken to have all of its text's weights"},
    DiffusersClass{.name = "FluxTransformer2DModel",
                   .single_layers = "num_single_layers",
                   .two_streams = true,
                   .joint = true,
                   .context_width = "joint_attention_dim",
                   .context_tokens = 512,
                   .patch = 1,
                   .head_norms = true,
                   .rotary = true,
                   .tokens = 4096,
                   .of = "pictures of 1024 x 1024",
                   .left_out = "the embeddings of the pooled text and of the guidance"},
    DiffusersClass{.name = "QwenImageTransformer2DModel",
                   .two_streams = true,
                   .joint = true,
                   .context_width = "joint_attention_dim",
                   .context_tokens = 512,
                   .patch = 1,
                   .head_norms = true,
                   .rotary = true,
                   .tokens = 4096,
                   .of = "pictures of 1024 x 1024"},
    DiffusersClass{.name = "HunyuanVideoTransformer3DModel",
                   .single_layers = "num_single_layers",
                   .two_streams = true,
                   .joint = true,
                   .context_width = "text_embed_dim",
                   .context_tokens = 256,
                   .head_norms = true,
                   .rotary = true,
                   .tokens = 31 * 45 * 80,
                   .of = "films of 121 frames of 1280 x 720",
                   .left_out = "the blocks that refine the text's tokens"},
    wan("WanTransformer3DModel"),
    wan("WanModel", "text_len"),
};

const DiffusersClass* find_class(std::string_view name) {
  const auto* found =
      std::find_if(kClasses.begin(), kClasses.end(), [&](const DiffusersClass& one) { return one.name == name; });
  return found == kClasses.end() ? nullptr : found;
}

std::string known_classes() {
  std::string out;
  for (const DiffusersClass& one : kClasses) out += fmt::format("{}{}", out.empty() ? "" : ", ", one.name);
  return out;
}

class DiffusersReader {
 public:
  DiffusersReader(const Json& config, const DiffusersClass& type, std::string id, Diagnostics& diagnostics)
      : config_(config), type_(type), reader_(config, "", diagnostics), diagnostics_(diagnostics), id_(std::move(id)) {}

  ImportedModel read(std::optional<int> seq_len) {
    sizes();
    shape_["diffusion"] = diffusion();
    reader_.ignore({kClass,
                    "_diffusers_version",
                    "_name_or_path",
                    "eps",
                    "norm_eps",
                    "dropout",
                    "activation_fn",
                    "axes_dims_rope",
                    "guidance_embeds",
                    "pooled_projection_dim",
                    "attention_bias",
                    "out_channels",
                    "out_dim",
                    "sample_size",
                    "freq_dim",
                    "rope_max_seq_len",
                    "rope_axes_dim",
                    "rope_theta",
                    "norm_elementwise_affine",
                    "norm_type",
                    "num_embeds_ada_norm",
                    "upcast_attention",
                    "norm_num_groups",
                    "cross_attention_dim",
                    "caption_projection_dim",
                    "pos_embed_max_size",
                    "interpolation_scale",
                    "use_additional_conditions",
                    "cross_attn_norm",
                    "added_kv_proj_dim",
                    "image_dim",
                    "pos_embed_seq_len",
                    "num_refiner_layers",
                    "model_type",
                    "double_self_attention",
                    "dual_attention_layers",
                    "image_condition_type",
                    "zero_cond_t"});
    ImportedModel out;
    const int tokens = seq_len.value_or(type_.tokens);
    out.model = {{"id", id_},
                 {"title", id_},
                 {"family", "diffusion"},
                 {"transformer", shape_},
                 {"default_seq_len", tokens},
                 {"sources", {{"transformer", "config.json of " + id_}}}};
    if (!seq_len)
      out.notes.push_back(fmt::format(
          "latents of {} tokens are assumed, {} (--seq-len and workload.seq_len say otherwise)", tokens, type_.of));
    if (!type_.left_out.empty()) out.notes.push_back(fmt::format("left out: {}", type_.left_out));
    reader_.refuse_misspelt();
    if (const std::string unknown = unknown_note(reader_.unknown()); !unknown.empty()) out.notes.push_back(unknown);
    return out;
  }

 private:
  void sizes() {
    layers_ = reader_.required({"num_layers"});
    const int singles = type_.single_layers.empty() ? 0 : reader_.whole(type_.single_layers, 0).value_or(0);
    const int heads = reader_.required({"num_attention_heads", "num_heads"});
    const int hidden = reader_.whole("dim").value_or(0);
    const int head = hidden > 0 ? std::max(1, hidden / heads) : reader_.required({"attention_head_dim"});
    hidden_ = hidden > 0 ? hidden : heads * head;
    const double ratio = reader_.number("mlp_ratio").value_or(4);
    shape_ = {{"layers", layers_ + singles},
              {"hidden", hidden_},
              {"heads", heads},
              {"ffn_hidden", reader_.whole("ffn_dim").value_or(static_cast<int>(ratio * hidden_))},
              {"biases", true},
              {"norm", "layer_norm"},
              {"positions", type_.rotary ? "rotary" : "none"}};
    // A kind of norm, or null.
    const bool named = reader_.has("qk_norm") && config_.at("qk_norm") != false;
    reader_.ignore({"qk_norm"});
    if (type_.head_norms || named) shape_["qk_norm"] = true;
  }

  Json diffusion() {
    Json out{{"patch_elements", patch_elements()}};
    if (!type_.context_width.empty()) {
      const int length = type_.context_length.empty() ? 0 : reader_.whole(type_.context_length).value_or(0);
      out["context_tokens"] = length > 0 ? length : type_.context_tokens;
      // Wan's own file leaves umT5's width out.
      constexpr int kWidthOfT5 = 4096;
      out["context_width"] = reader_.whole(type_.context_width).value_or(kWidthOfT5);
      out["context"] = type_.joint ? "joint_attention" : "cross_attention";
    }
    if (type_.two_streams) out["two_stream_layers"] = layers_;
    if (!type_.single_layers.empty()) out["single_stream_vectors"] = 3;
    if (type_.shared_modulation) out["shared_modulation"] = true;
    return out;
  }

  int patch_elements() {
    const int channels = reader_.required({"in_channels", "in_dim"});
    // FLUX counts the values of a patch as channels.
    if (type_.patch == 1) {
      reader_.ignore({"patch_size"});
      return channels;
    }
    if (const auto sides = config_.find("patch_size"); sides != config_.end() && sides->is_array())
      return of_sides(*sides, channels);
    const int side = reader_.whole("patch_size").value_or(type_.patch);
    return channels * side * side * reader_.whole("patch_size_t").value_or(1);
  }

  int of_sides(const Json& sides, int channels) {
    reader_.ignore({"patch_size"});
    long out = channels;
    for (const Json& side : sides) {
      if (!side.is_number_integer() || side.get<long>() < 1 || side.get<long>() > 1000) {
        diagnostics_.error("/patch_size", fmt::format("found {}, expected whole sides", describe(sides)));
        return channels;
      }
      out *= side.get<long>();
    }
    return static_cast<int>(std::min(out, 1L << 30));
  }

  const Json& config_;
  const DiffusersClass& type_;
  ConfigReader reader_;
  Diagnostics& diagnostics_;
  std::string id_;
  Json shape_;
  int layers_ = 0, hidden_ = 0;
};

}  // namespace

bool is_diffusers(const Json& config) { return config.is_object() && config.contains(kClass); }

ImportedModel import_diffusers(const Json& config, const std::string& id, std::optional<int> seq_len,
                               Diagnostics& diagnostics) {
  const Json& name = config.at(kClass);
  const DiffusersClass* type = name.is_string() ? find_class(name.get<std::string>()) : nullptr;
  if (type == nullptr) {
    diagnostics.error("/_class_name", fmt::format("found {}, expected one of {}", describe(name), known_classes()),
                      "describe it in workload.model (docs/formats/scenario.md)");
    return {};
  }
  return DiffusersReader(config, *type, id, diagnostics).read(seq_len);
}

}  // namespace stepcast
