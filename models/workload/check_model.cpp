#include <fmt/format.h>

#include <algorithm>

#include "models/workload/steps.hpp"

namespace stepcast {
namespace {

void check_attention(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (!shape.is_latent() && shape.head_dim == 0 && shape.hidden % shape.heads != 0)
    d.error(at + "/heads", fmt::format("{} heads do not divide hidden {}", shape.heads, shape.hidden),
            "give head_dim, or heads that divide hidden");
  if (shape.heads % shape.kv() != 0)
    d.error(at + "/kv_heads", fmt::format("{} kv_heads do not divide {} heads", shape.kv(), shape.heads));
}

/// The indexer reads the latent of queries and picks among latents of keys.
void check_sparse(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (!shape.sparse_attention) return;
  if (!shape.is_latent())
    d.error(at + "/kv_lora_rank", "missing: sparse_attention is over the latents of multi-latent attention");
  if (shape.window > 0) d.error(at + "/window", "found beside sparse_attention, with which it has no description");
}

/// What a layer with an indexer needs, and only such.
void check_indexed_entries(const CompressedAttentionShape& compressed, const std::string& at, Diagnostics& d) {
  const auto& ratios = compressed.ratios;
  const int indexed = compressed.indexed_ratio;
  if (indexed > 0 && std::find(ratios.begin(), ratios.end(), indexed) == ratios.end())
    d.error(at + "/indexed_ratio", fmt::format("found {}, which is the ratio of no layer", indexed));
  for (const auto& [key, size] :
       {std::pair{"entries", compressed.entries}, std::pair{"indexer_heads", compressed.indexer_heads},
        std::pair{"indexer_head_dim", compressed.indexer_head_dim}})
    if ((size > 0) != (indexed > 0))
      d.error(fmt::format("{}/{}", at, key), indexed > 0
                                                 ? fmt::format("missing: layers of ratio {} have an indexer", indexed)
                                                 : "found, but indexed_ratio names no layers with an indexer");
}

/// One head of keys, which are values, for all queries; every layer has the window, and most have entries beside it.
void check_compressed(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (!shape.compressed_attention) return;
  const CompressedAttentionShape& compressed = *shape.compressed_attention;
  const std::string section = at + "/compressed_attention";
  if (compressed.ratios.size() != static_cast<std::size_t>(shape.layers))
    d.error(section + "/ratios",
            fmt::format("found {} of them, expected {}, one a layer", compressed.ratios.size(), shape.layers));
  check_indexed_entries(compressed, section, d);
  if (shape.heads % compressed.output_groups != 0)
    d.error(section + "/output_groups",
            fmt::format("{} groups do not divide {} heads", compressed.output_groups, shape.heads));
  if (compressed.output_groups > 1 && compressed.output_rank == 0)
    d.error(section + "/output_rank", "missing: width that each of output_groups is projected to");
  if (shape.kv() != 1)
    d.error(at + "/kv_heads", fmt::format("found {}, but all heads have one head of entries", shape.kv()), "1");
  if (shape.window == 0) d.error(at + "/window", "missing: beside its entries a query sees the last tokens");
  if (shape.qk_rope_head_dim > shape.head_size())
    d.error(at + "/qk_rope_head_dim",
            fmt::format("found {}, more than a head's {}", shape.qk_rope_head_dim, shape.head_size()));
  for (const auto& [key, there] :
       {std::pair{"kv_lora_rank", shape.is_latent()}, std::pair{"sparse_attention", shape.sparse_attention.has_value()},
        std::pair{"global_every", shape.global_every > 0}, std::pair{"qk_norm", shape.qk_norm},
        std::pair{"window_kind", shape.window_kind != WindowKind::sliding},
        std::pair{"attention_output_gate", shape.attention_output_gate},
        std::pair{"layer_pattern", !shape.layer_pattern.empty()}, std::pair{"hidden_groups", shape.hidden_groups > 0},
        std::pair{"encoder_layers", shape.encoder_layers > 0}, std::pair{"diffusion", shape.diffusion.has_value()}})
    if (there) d.error(at + "/" + key, "found beside compressed_attention, with which it has no description");
}

/// An encoder's result has one stream, and a diffusion transformer's halves have gates.
void check_streams(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (shape.residual_streams == 1) return;
  for (const auto& [key, there] :
       {std::pair{"encoder_layers", shape.encoder_layers > 0}, std::pair{"diffusion", shape.diffusion.has_value()}})
    if (there) d.error(at + "/" + key, "found beside residual_streams, with which it has no description");
}

/// The gate comes with the queries of one product, which latent and cross attention have not.
void check_gate(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (!shape.attention_output_gate) return;
  for (const auto& [key, there] :
       {std::pair{"kv_lora_rank", shape.is_latent()}, std::pair{"encoder_layers", shape.encoder_layers > 0},
        std::pair{"diffusion", shape.diffusion.has_value()}})
    if (there) d.error(at + "/" + key, "found beside attention_output_gate, with which it has no description");
}

/// The sizes of multi-latent attention come together.
void check_latent(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (!shape.is_latent()) {
    const bool of_entries = shape.compressed_attention.has_value();
    if ((!of_entries && (shape.q_lora_rank > 0 || shape.qk_rope_head_dim > 0)) || shape.qk_nope_head_dim > 0)
      d.error(at + "/kv_lora_rank", "found sizes of multi-latent attention, expected kv_lora_rank of at least 1");
    return;
  }
  if (shape.qk_nope_head_dim + shape.qk_rope_head_dim < 1)
    d.error(at + "/qk_nope_head_dim", "missing: multi-latent attention needs the size of a head's query and key");
  if (shape.v_head_dim < 1)
    d.error(at + "/v_head_dim", "missing: multi-latent attention needs the size of a head's value");
  if (shape.kv() != shape.heads)
    d.error(at + "/kv_heads",
            fmt::format("found {}, but in multi-latent attention every one of the {} heads has keys of its own",
                        shape.kv(), shape.heads),
            "leave kv_heads out");
}

void check_window(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (shape.window == 0 && shape.global_every > 0)
    d.error(at + "/window", "missing: global_every says which layers see past the window");
  const bool of_global =
      shape.global_heads > 0 || shape.global_head_dim > 0 || shape.global_kv_heads > 0 || shape.global_keys_are_values;
  if (of_global && (shape.window == 0 || shape.global_every == 0))
    d.error(at + "/global_every", "missing: sizes of heads of layers that see past a window, but none does");
  if (of_global && shape.is_latent())
    d.error(at + "/kv_lora_rank", "found beside sizes of heads of layers that see past a window");
  const TransformerShape::Heads heads = shape.heads_of(true);
  if (of_global && heads.queries % heads.kv != 0)
    d.error(at + (shape.global_kv_heads > 0 ? "/global_kv_heads" : "/global_heads"),
            fmt::format("{} {} do not divide {} heads", heads.kv,
                        shape.global_kv_heads > 0 ? "global_kv_heads" : "kv_heads", heads.queries));
  if (shape.global_keys_are_values && heads.key_size != heads.value_size)
    d.error(at + "/v_head_dim", fmt::format("found {} with global_keys_are_values, expected {} as their keys",
                                            heads.value_size, heads.key_size));
  if (shape.window == 0 && shape.window_kind != WindowKind::sliding)
    d.error(at + "/window", "missing: window_kind says how the window lies");
}

/// Groups of equal size, and in those of a token as many experts as it visits.
void check_expert_groups(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  const int groups = shape.expert_groups;
  if (shape.experts % groups != 0)
    return d.error(at + "/expert_groups", fmt::format("{} does not divide the {} experts", groups, shape.experts));
  if (shape.groups_per_token > groups)
    return d.error(at + "/groups_per_token",
                   fmt::format("found {}, expected 1 to {} (expert_groups)", shape.groups_per_token, groups));
  const int reached = shape.groups_per_token * (shape.experts / groups);
  if (shape.top_k > reached)
    d.error(at + "/groups_per_token",
            fmt::format("{} groups have {} experts, but top_k is {}", shape.groups_per_token, reached, shape.top_k));
}

void check_experts(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (shape.experts == 0) {
    if (shape.top_k > 0 || shape.moe_ffn_hidden > 0 || shape.shared_expert_ffn > 0 || shape.dense_layers > 0 ||
        shape.moe_every > 1 || shape.expert_groups > 1 || shape.groups_per_token > 1)
      d.error(at + "/experts", "found settings of a mixture of experts, expected experts of at least 1");
    return;
  }
  if (shape.top_k < 1 || shape.top_k > shape.experts)
    d.error(at + "/top_k", fmt::format("found {}, expected 1 to {} (experts)", shape.top_k, shape.experts));
  else
    check_expert_groups(shape, at, d);
  if (shape.dense_layers > shape.layers)
    d.error(at + "/dense_layers", fmt::format("found {}, more than the {} layers", shape.dense_layers, shape.layers));
}

void check_latent_experts(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (shape.moe_latent > 0 && shape.experts == 0)
    d.error(at + "/moe_latent", fmt::format("found {}, but there are no experts", shape.moe_latent));
}

/// Heads of values come in equal groups for those of keys, and what one kind alone has is found with it alone.
void check_linear_attention(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (!shape.linear_attention) return;
  const LinearAttentionShape& linear = *shape.linear_attention;
  const std::string section = at + "/linear_attention";
  if (linear.value_heads % linear.key_heads != 0)
    d.error(section + "/value_heads",
            fmt::format("found {}, no multiple of the {} key_heads", linear.value_heads, linear.key_heads));
  if (linear.kind != LinearAttentionKind::gated_delta && linear.value_heads != linear.key_heads)
    d.error(section + "/value_heads",
            fmt::format("found {}, but each head of kind {} has a key of its own", linear.value_heads,
                        name_of(linear.kind)),
            fmt::format("{}, as key_heads", linear.key_heads));
  if (linear.gate_rank > 0 && linear.kind != LinearAttentionKind::kimi_delta)
    d.error(section + "/gate_rank",
            fmt::format("found {}, but kind {} has no such latents", linear.gate_rank, name_of(linear.kind)),
            "leave gate_rank out");
}

/// A layer pattern names every layer, and nothing that the shape lacks.
void check_pattern(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  const std::string& pattern = shape.layer_pattern;
  if (shape.has_half('G') != shape.linear_attention.has_value())
    d.error(at + "/linear_attention", shape.linear_attention
                                          ? "found, but no layer of layer_pattern is G"
                                          : "missing: layers of the pattern are G, linear attention");
  if (pattern.empty()) {
    const TransformerShape none;
    if (shape.ssm_heads > 0 || shape.ssm_head_dim > 0 || shape.ssm_state > 0 || shape.ssm_groups != none.ssm_groups ||
        shape.ssm_conv != none.ssm_conv)
      d.error(at + "/layer_pattern", "missing: sizes of a Mamba-2 mixer, but no layer is said to be one");
    return;
  }
  const std::size_t unknown = pattern.find_first_not_of("MG*-E");
  if (unknown != std::string::npos)
    d.error(at + "/layer_pattern",
            fmt::format("found \"{}\" as layer {}, expected M, G, *, - or E", pattern[unknown], unknown + 1));
  if (pattern.size() != static_cast<std::size_t>(shape.layers))
    d.error(at + "/layer_pattern", fmt::format("names {} layers, expected {}", pattern.size(), shape.layers));
  if (shape.has_half('E') != (shape.experts > 0))
    d.error(at + "/experts", shape.experts > 0 ? "found experts, but no layer of the pattern is E"
                                               : "missing: layers of the pattern are E, mixtures of experts");
  if (shape.dense_layers > 0 || shape.moe_every > 1)
    d.error(at + "/layer_pattern", "found with dense_layers or moe_every; the pattern says which layers have experts");
  if (!shape.has_half('M')) return;
  for (const auto& [key, size] :
       {std::pair{"ssm_heads", shape.ssm_heads}, std::pair{"ssm_head_dim", shape.ssm_head_dim},
        std::pair{"ssm_state", shape.ssm_state}})
    if (size < 1) d.error(at + "/" + key, "missing: layers of the pattern are M, Mamba-2 mixers");
  if (shape.ssm_heads % shape.ssm_groups != 0)
    d.error(at + "/ssm_groups", fmt::format("{} groups do not divide the {} heads", shape.ssm_groups, shape.ssm_heads));
}

/// An encoder leaves layers for its decoder, and goes with whole blocks of usual attention.
void check_encoder(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (shape.encoder_layers == 0) {
    if (shape.target_share != 1) d.error(at + "/encoder_layers", "missing: target_share is of an encoder-decoder");
    return;
  }
  if (shape.encoder_layers >= shape.layers)
    d.error(at + "/encoder_layers",
            fmt::format("found {}, but the {} layers hold the decoder's too", shape.encoder_layers, shape.layers),
            "layers counts both; a network that is all encoder is of family encoder");
  for (const auto& [key, there] :
       {std::pair{"kv_lora_rank", shape.is_latent()}, std::pair{"layer_pattern", !shape.layer_pattern.empty()},
        std::pair{"mtp_layers", shape.mtp_layers > 0}})
    if (there) d.error(at + "/" + key, "found beside encoder_layers, with which it has no description");
}

void check_context(const DiffusionShape& diffusion, const std::string& at, Diagnostics& d) {
  if ((diffusion.context_tokens > 0) != (diffusion.context_width > 0))
    d.error(at + (diffusion.context_tokens > 0 ? "/context_width" : "/context_tokens"),
            "missing: a text has tokens, and what its encoder gives a width");
  if (diffusion.context == ContextKind::joint_attention && diffusion.context_tokens == 0)
    d.error(at + "/context_tokens", "missing: joint_attention is over a text");
}

void check_diffusion(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  const DiffusionShape& diffusion = *shape.diffusion;
  check_context(diffusion, at + "/diffusion", d);
  if (diffusion.two_stream_layers > 0 && diffusion.context != ContextKind::joint_attention)
    d.error(at + "/diffusion/two_stream_layers", "found with cross_attention; its text goes through no block",
            "context \"joint_attention\"");
  if (diffusion.two_stream_layers > shape.layers)
    d.error(at + "/diffusion/two_stream_layers",
            fmt::format("found {}, more than the {} layers", diffusion.two_stream_layers, shape.layers));
  for (const auto& [key, vectors] : {std::pair{"modulation_vectors", diffusion.modulation_vectors},
                                     std::pair{"single_stream_vectors", diffusion.single_stream_vectors}})
    if (vectors % 3 != 0)
      d.error(fmt::format("{}/diffusion/{}", at, key),
              fmt::format("found {}, expected a multiple of 3: shift, scale and gate of each norm", vectors));
  for (const auto& [key, there] :
       {std::pair{"vocab", shape.vocab > 0}, std::pair{"experts", shape.experts > 0},
        std::pair{"kv_lora_rank", shape.is_latent()}, std::pair{"window", shape.window > 0},
        std::pair{"layer_pattern", !shape.layer_pattern.empty()}, std::pair{"mtp_layers", shape.mtp_layers > 0},
        std::pair{"encoder_layers", shape.encoder_layers > 0}, std::pair{"tied_embeddings", shape.tied_embeddings},
        std::pair{"pooler_and_heads", shape.pooler_and_heads}, std::pair{"embedding_size", shape.embedding_size > 0},
        std::pair{"hidden_groups", shape.hidden_groups > 0}, std::pair{"shared_kv_layers", shape.shared_kv_layers > 0},
        std::pair{"per_layer_embedding", shape.per_layer_embedding > 0},
        std::pair{"linear_attention", shape.linear_attention.has_value()}})
    if (there) d.error(fmt::format("{}/{}", at, key), "found beside diffusion, with which it has no description");
}

/// Prediction blocks would share the projections, too.
void check_embeddings(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (shape.projects_embeddings() && shape.mtp_layers > 0)
    d.error(at + "/embedding_size",
            fmt::format("found {} beside mtp_layers, with which it has no description", shape.embedding_size),
            fmt::format("{} (hidden), or mtp_layers 0", shape.hidden));
}

/// Those that take keys and values have an earlier layer that sees as much, and go with whole blocks of usual attention
/// one behind the other; so do embeddings of every layer.
void check_shared_keys(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (shape.shared_kv_ffn_hidden > 0 && shape.shared_kv_layers == 0)
    d.error(at + "/shared_kv_layers", "missing: shared_kv_ffn_hidden is of layers that take an earlier one's keys");
  const int first = shape.layers - shape.shared_kv_layers;
  const auto lenders = [&](bool windowed) {
    for (int layer = 0; layer < first; ++layer)
      if (shape.is_windowed(layer) == windowed) return true;
    return false;
  };
  for (int layer = std::max(0, first); layer < shape.layers; ++layer)
    if (!lenders(shape.is_windowed(layer))) {
      d.error(at + "/shared_kv_layers",
              fmt::format("found {}, but no layer before them {}, as layer {} does, whose keys it would take",
                          shape.shared_kv_layers, shape.is_windowed(layer) ? "has a window" : "sees all", layer + 1));
      break;
    }
  for (const auto& [key, there] :
       {std::pair{"kv_lora_rank", shape.is_latent() && shape.shared_kv_layers > 0},
        std::pair{"embedding_size", shape.projects_embeddings() && shape.per_layer_embedding > 0},
        std::pair{"layer_pattern", !shape.layer_pattern.empty()}, std::pair{"encoder_layers", shape.encoder_layers > 0},
        std::pair{"mtp_layers", shape.mtp_layers > 0}, std::pair{"hidden_groups", shape.hidden_groups > 0}})
    if (there && (shape.shared_kv_layers > 0 || shape.per_layer_embedding > 0))
      d.error(at + "/" + key, fmt::format("found beside {}, with which it has no description",
                                          shape.shared_kv_layers > 0 ? "shared_kv_layers" : "per_layer_embedding"));
}

/// Layers that share weights are alike, and their groups equal.
void check_groups(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  if (shape.hidden_groups == 0) return;
  const std::string pointer = at + "/hidden_groups";
  if (shape.layers % shape.hidden_groups != 0)
    return d.error(pointer, fmt::format("{} groups do not divide the {} layers", shape.hidden_groups, shape.layers));
  for (const auto& [key, there] :
       {std::pair{"experts", shape.experts > 0}, std::pair{"layer_pattern", !shape.layer_pattern.empty()},
        std::pair{"encoder_layers", shape.encoder_layers > 0}, std::pair{"mtp_layers", shape.mtp_layers > 0}})
    if (there) d.error(at + "/" + key, "found beside hidden_groups, with which it has no description");
}

void check_transformer(const TransformerShape& shape, const std::string& at, Diagnostics& d) {
  // A shape with a missing size has been reported by its field table.
  if (shape.layers < 1 || shape.hidden < 1 || shape.heads < 1 || shape.ffn_hidden < 1) return;
  check_gate(shape, at, d);
  check_sparse(shape, at, d);
  check_compressed(shape, at, d);
  check_streams(shape, at, d);
  if (shape.diffusion) return check_attention(shape, at, d), check_diffusion(shape, at, d);
  if (shape.vocab < 1) return d.error(at + "/vocab", "missing: a model of words has a row for each");
  check_attention(shape, at, d);
  check_latent(shape, at, d);
  check_window(shape, at, d);
  check_experts(shape, at, d);
  check_latent_experts(shape, at, d);
  check_linear_attention(shape, at, d);
  check_pattern(shape, at, d);
  check_encoder(shape, at, d);
  check_embeddings(shape, at, d);
  check_groups(shape, at, d);
  check_shared_keys(shape, at, d);
  if (shape.positions == PositionKind::learned && shape.max_positions == 0)
    d.error(at + "/max_positions", "missing: learned positions need the rows of their table");
}

void check_row(const CnnLayer& row, const std::string& at, Diagnostics& d) {
  if (row.groups < 1 || row.in_channels % row.groups != 0 || row.out_channels % row.groups != 0)
    d.error(at + "/groups",
            fmt::format("{} groups do not divide {} and {} channels", row.groups, row.in_channels, row.out_channels));
  const bool pools =
      row.kind == CnnLayerKind::pool || row.kind == CnnLayerKind::average_pool || row.kind == CnnLayerKind::global_pool;
  if (pools && row.in_channels != row.out_channels)
    d.error(at + "/out_channels",
            fmt::format("found {}, expected {} (pooling keeps the channels)", row.out_channels, row.in_channels));
  if (row.kind == CnnLayerKind::fully_connected && (row.height != 1 || row.width != 1))
    d.error(at + "/height", "a fully connected row takes 1 x 1 input; put the sizes into in_channels");
}

/// Key of the shape that a family has.
std::string_view shape_of(ModelFamily family) {
  switch (family) {
    case ModelFamily::cnn:
      return "cnn";
    case ModelFamily::compact:
      return "compact";
    case ModelFamily::recommender:
      return "recommender";
    default:
      return "transformer";
  }
}

bool has_its_shape_only(const Model& model) {
  const std::string_view wanted = shape_of(model.family);
  return model.cnn.has_value() == (wanted == "cnn") && model.compact.has_value() == (wanted == "compact") &&
         model.recommender.has_value() == (wanted == "recommender") &&
         model.transformer.has_value() == (wanted == "transformer");
}

void check_compact(const CompactShape& shape, const std::string& at, Diagnostics& d) {
  if (workload::compact_forward_flops(shape) <= 0)
    d.error(at,
            "found no FLOPs, expected at least one of gemm_GFLOPs, pointwise_GFLOPs, "
            "three_by_three_GFLOPs, window_GFLOPs, grouped_GFLOPs, depthwise_GFLOPs");
  if (shape.largest_tensor_M > shape.parameters_M)
    d.error(at + "/largest_tensor_M",
            fmt::format("found {}, expected at most parameters_M ({})", shape.largest_tensor_M, shape.parameters_M));
  double narrow = 0;
  for (const NarrowWindows& windows : shape.narrow_windows) narrow += windows.GFLOPs;
  const double windows = shape.three_by_three_GFLOPs + shape.window_GFLOPs;
  constexpr double kRounding = 1e-9;
  if (narrow > windows * (1 + kRounding))
    d.error(at + "/narrow_windows", fmt::format("found {:.6g} GFLOPs in all, expected at most three_by_three_GFLOPs + "
                                                "window_GFLOPs ({:.6g})",
                                                narrow, windows));
  double in_matrices = 0;
  for (const WeightMatrix& matrix : shape.weight_matrices) in_matrices += matrix.rows * matrix.columns * matrix.count;
  if (in_matrices > shape.parameters_M * 1e6 * (1 + kRounding))
    d.error(at + "/weight_matrices",
            fmt::format("found {:.6g} million elements in all, expected at most parameters_M ({})", in_matrices / 1e6,
                        shape.parameters_M));
}

void check_recommender(const RecommenderShape& shape, const std::string& at, Diagnostics& d) {
  if (shape.tables.empty()) d.error(at + "/tables", "found no tables, expected at least one");
  if (shape.bottom_mlp.empty() || shape.bottom_mlp.back() != shape.embedding_dim)
    d.error(at + "/bottom_mlp",
            fmt::format("found {}, expected widths that end with embedding_dim ({})",
                        shape.bottom_mlp.empty() ? std::string("none") : fmt::to_string(shape.bottom_mlp.back()),
                        shape.embedding_dim),
            "the dense vector meets the tables' vectors");
  if (shape.top_mlp.empty()) d.error(at + "/top_mlp", "found no widths, expected at least one");
  const bool crosses = shape.interaction == Interaction::cross;
  if (crosses != (shape.cross_layers > 0))
    d.error(at + "/cross_layers",
            fmt::format("found {} with interaction {}", shape.cross_layers, name_of(shape.interaction)),
            crosses ? "at least 1" : "leave it out, or interaction \"cross\"");
  if (crosses != (shape.cross_rank > 0))
    d.error(at + "/cross_rank",
            fmt::format("found {} with interaction {}", shape.cross_rank, name_of(shape.interaction)),
            crosses ? "at least 1" : "leave it out, or interaction \"cross\"");
}

}  // namespace

std::string_view kind_in_words(const Model& model) {
  if (model.recommender) return "a recommender";
  return model.compact ? "a compact network" : "a CNN";
}

void check_model(const Model& model, const std::string& pointer, Diagnostics& d) {
  if (!has_its_shape_only(model)) {
    const std::string_view wanted = shape_of(model.family);
    return d.error(child_pointer(pointer, wanted),
                   fmt::format("a model of family {} has a \"{}\" and no other shape", name_of(model.family), wanted));
  }
  if (model.compact) return check_compact(*model.compact, pointer + "/compact", d);
  if (model.recommender) return check_recommender(*model.recommender, pointer + "/recommender", d);
  if (model.transformer) {
    check_transformer(*model.transformer, pointer + "/transformer", d);
    if (model.transformer->encoder_layers > 0 && model.family != ModelFamily::decoder)
      d.error(pointer + "/family", fmt::format("found {} with encoder_layers", name_of(model.family)),
              "decoder, behind its encoder");
    if (model.transformer->diffusion.has_value() != (model.family == ModelFamily::diffusion))
      d.error(pointer + "/transformer/diffusion",
              fmt::format("{} in a model of family {}", model.transformer->diffusion ? "found" : "missing",
                          name_of(model.family)));
    if (model.default_seq_len < 1)
      d.error(pointer + "/default_seq_len", "missing: a transformer has a sequence length of at least 1",
              "or workload.seq_len beside the model");
    return;
  }
  const std::vector<CnnLayer>& rows = model.cnn->layers;
  long total = 0;
  for (const CnnLayer& row : rows) total += row.repeat;
  if (total > kMostLayers)
    d.error(pointer + "/cnn/layers",
            fmt::format("found {} rows with repeats, expected at most {}", total, kMostLayers));
  if (rows.empty()) d.error(pointer + "/cnn/layers", "found no rows, expected at least one");
  for (std::size_t i = 0; i < rows.size(); ++i) check_row(rows[i], fmt::format("{}/cnn/layers/{}", pointer, i), d);
}

}  // namespace stepcast
