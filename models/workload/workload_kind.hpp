#pragma once

#include <array>
#include <string_view>

#include "fields/field_table.hpp"

namespace stepcast {

struct Model;

/// What kind of operators a network is made of: how far off predictions of one kind are says little about another.
/// `detection` and `diffusion` are convolutional and are told apart by Model::kind, since their heads, losses and
/// pipelines are others. `products`: matrix products without a transformer's description (vision transformers, MLPs).
enum class WorkloadKind {
  transformer,
  mixture_of_experts,
  state_space,
  linear_attention,
  sparse_attention,
  convolutional,
  detection,
  diffusion,
  diffusion_transformer,
  recurrent,
  recommender,
  products
};
template <>
struct EnumNames<WorkloadKind> {
  static constexpr std::array names{"transformer",           "mixture-of-experts", "state-space", "linear-attention",
                                    "sparse-attention",      "convolutional",      "detection",   "diffusion",
                                    "diffusion-transformer", "recurrent",          "recommender", "products"};
};

/// What the model's description says of itself (Model::kind), else by its operators: layers that scan, linear
/// attention, attention over what is picked or compressed, layers with experts, embedding tables, steps one after
/// another, or where most of the FLOPs are.
WorkloadKind workload_kind(const Model& model);

/// Whether a network reads images, or volumes, as far as its description tells: no sequences, and nothing that a
/// transformer's or a recommender's description reads.
bool reads_images(const Model& model);

/// For a sentence: "transformers", "convolutional networks" …
std::string_view plural_of(WorkloadKind kind);

}  // namespace stepcast
