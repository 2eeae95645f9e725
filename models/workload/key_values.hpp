#pragma once

#include "models/workload/model.hpp"

namespace stepcast {

/// Bytes that all layers keep of one token's keys and values while a sequence is generated (multi-latent attention: of
/// their latent and the rotary part).
double key_value_bytes(const TransformerShape& shape, double bytes_per_element);

}  // namespace stepcast
