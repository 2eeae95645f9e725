#pragma once

#include <string_view>
#include <vector>

#include "units/quantity.hpp"

namespace stepcast {

/// Sizes of buffers as nccl-tests' users write them: `1K`, `64M`, `16G` (powers of 1,024; `KiB` does as well), lists
/// `1M,64M,1G`, ranges `1K:16G` that double, `8:1K*4` that grow by a factor and `1M:4M+1M` by a difference. A range
/// ends with the last size that is not above its end. Throws InputError on anything else, on sizes that are not whole
/// bytes, below 1 B or above 2^50 B, and on more than 1,000 of them.
std::vector<Bytes> parse_byte_sizes(std::string_view text);

}  // namespace stepcast
