#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// Sets strategy.optimizer to what a configuration calls `name` ("AdamW", "adamw_8bit", "Lion", "Adafactor", "SGD",
/// "dist_muon"); nothing for Adam in fp32, which is the default, and a note, which says so, for what is not described
/// (Shampoo, Muon over shards that cut matrices). Reads strategy.sharding, which must be set before.
void take_optimizer(Json& strategy, const std::string& name, std::vector<std::string>& notes);

/// Sets strategy.optimizer to one that is not Adam in fp32. Where the strategy has it in host memory already
/// (offload_optimizer), a note says that processors update by Adam.
void set_optimizer(Json& strategy, std::string_view optimizer, std::vector<std::string>& notes);

}  // namespace stepcast
