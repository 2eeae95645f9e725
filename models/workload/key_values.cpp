#include "models/workload/key_values.hpp"

namespace stepcast {

double key_value_bytes(const TransformerShape& shape, double bytes_per_element) {
  const double elements = shape.is_latent() ? shape.kv_lora_rank + shape.qk_rope_head_dim
                                            : static_cast<double>(shape.kv()) * (shape.key_size() + shape.value_size());
  return shape.layers * elements * bytes_per_element;
}

}  // namespace stepcast
