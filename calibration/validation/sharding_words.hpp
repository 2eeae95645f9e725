#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// How words say that states of a model are sharded, as a name of `strategy.sharding`: "ZeRO-1 over all", "FSDP2",
/// "HYBRID_SHARD", "DDP". Empty where they say nothing that is known.
std::string_view stated_sharding(std::string_view text);

/// Whether they name PyTorch's hybrid sharding, which by default spreads a copy over one server (PyTorch fsdp/api.py).
bool is_hybrid_shard(std::string_view text);

/// The name that a framework's profile has for a sharding: where it has FSDP and no ZeRO of its own, parameters,
/// gradients and states over all ranks, which is what ZeRO-3 is, are its FULL_SHARD.
std::string_view offered_sharding(std::string_view sharding, std::string_view profile);

/// Shardings that are understood, as they are written mostly.
std::vector<std::string> sharding_choices();

}  // namespace stepcast
