#include "models/workload/workload_kind.hpp"

#include "models/workload/model.hpp"

namespace stepcast {

namespace {

WorkloadKind kind_of_transformer(const TransformerShape& shape) {
  if (shape.diffusion) return WorkloadKind::diffusion_transformer;
  if (shape.has_half('M')) return WorkloadKind::state_space;
  if (shape.has_half('G')) return WorkloadKind::linear_attention;
  if (shape.sparse_attention || shape.compressed_attention) return WorkloadKind::sparse_attention;
  return shape.experts > 0 ? WorkloadKind::mixture_of_experts : WorkloadKind::transformer;
}

WorkloadKind kind_of_totals(const CompactShape& shape) {
  if (shape.sequential_steps > 1) return WorkloadKind::recurrent;
  const double convolved = shape.pointwise_GFLOPs + shape.three_by_three_GFLOPs + shape.window_GFLOPs +
                           shape.grouped_GFLOPs + shape.depthwise_GFLOPs;
  return convolved > shape.gemm_GFLOPs ? WorkloadKind::convolutional : WorkloadKind::products;
}

}  // namespace

WorkloadKind workload_kind(const Model& model) {
  if (model.kind) return *model.kind;
  if (model.transformer) return kind_of_transformer(*model.transformer);
  if (model.recommender) return WorkloadKind::recommender;
  return model.compact ? kind_of_totals(*model.compact) : WorkloadKind::convolutional;
}

bool reads_images(const Model& model) {
  const WorkloadKind kind = workload_kind(model);
  const bool of_images = kind != WorkloadKind::recurrent && kind != WorkloadKind::recommender;
  return model.cnn || (model.compact && of_images && model.default_seq_len == 0);
}

std::string_view plural_of(WorkloadKind kind) {
  static constexpr std::array<std::string_view, EnumNames<WorkloadKind>::names.size()> kWords{
      "transformers",
      "mixtures of experts",
      "state-space models",
      "models with linear attention",
      "models with sparse attention",
      "convolutional networks",
      "detectors",
      "diffusion models",
      "diffusion transformers",
      "recurrent networks",
      "recommenders",
      "networks of plain products"};
  return kWords[static_cast<std::size_t>(kind)];
}

}  // namespace stepcast
