#pragma once

#include <string_view>
#include <vector>

namespace stepcast {

/// Sizes as `1,2,4..128`: whole numbers and ranges, ascending. A range goes on as the numbers before it began: by a
/// factor where that leads exactly to its end (`1,2,4..128` is 1, 2, 4, 8 … 128), else by their difference (`10,20..50`
/// is 10, 20, 30, 40, 50; `8,16,24..64` goes by 8, for three numbers with one difference mean it); with nothing before
/// it, one by one (`1..8`). `4..128*2` and `4..20+8` say how they go on, as lists of sweeps do (sweeps/values.hpp), and
/// end with the last size that is not above their end. Throws InputError on anything else, on sizes below 1 and on more
/// than 1,000 of them.
std::vector<int> parse_sizes(std::string_view text);

}  // namespace stepcast
