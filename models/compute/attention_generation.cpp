#include "models/compute/attention_generation.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace stepcast {

AttentionKernel measured_generation(const ComputeProfile& profile, AttentionKernel kernel) {
  constexpr auto kNames = EnumNames<AttentionKernel>::names;
  for (auto generation = static_cast<std::size_t>(kernel); generation < kNames.size(); ++generation)
    if (profile.attention_forward_share.count(kNames[generation]) > 0) return static_cast<AttentionKernel>(generation);
  throw std::logic_error(fmt::format("compute profile {}: no attention_forward_share", profile.id));
}

}  // namespace stepcast
