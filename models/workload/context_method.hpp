#pragma once

#include <array>

#include "fields/field_table.hpp"

namespace stepcast {

/// How attention sees the keys and values of the other context-parallel ranks: passed round a ring under the attention
/// of the part at hand (Liu et al. 2023), gathered before it (Llama 3), or by exchanging sequence for heads (Ulysses,
/// Jacobs et al. 2023).
enum class ContextMethod { ring, all_gather, ulysses };
template <>
struct EnumNames<ContextMethod> {
  static constexpr std::array names{"ring", "all-gather", "ulysses"};
};

}  // namespace stepcast
