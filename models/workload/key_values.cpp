#include "models/workload/key_values.hpp"

namespace stepcast {
namespace {

double elements_of(const TransformerShape& shape, int layer) {
  if (shape.is_latent()) return shape.kv_lora_rank + shape.qk_rope_head_dim;
  if (shape.keys_of(layer) == KeyHolding::borrowed) return 0;
  // Entries grow with the sequence, the window beside them does not.
  if (const auto& compressed = shape.compressed_attention) {
    const int ratio = shape.entry_tokens(layer);
    const double index = compressed->indexes(ratio) ? compressed->indexer_head_dim : 0;
    return ratio > 0 ? (shape.head_size() + index) / ratio : 0;
  }
  const TransformerShape::Heads heads = shape.heads_of(shape.is_global(layer));
  return static_cast<double>(heads.kv) * (heads.key_size + heads.value_size);
}

}  // namespace

double key_value_bytes(const TransformerShape& shape, double bytes_per_element) {
  double elements = 0;
  for (int layer = 0; layer < shape.layers; ++layer) elements += elements_of(shape, layer);
  return elements * bytes_per_element;
}

}  // namespace stepcast
