#pragma once

#include <vector>

#include "models/scenario/update_spec.hpp"

namespace stepcast {

/// Share of all parameters that each server holds, for tensors of so many elements in their order of creation.
///
/// `by_variable`: whole tensors in turn (TensorFlow's round-robin placement). `large_arrays`: tensors of `bound`
/// elements and more are cut evenly, the i-th of the others lies on server 9973·i mod M (MXNet, kvstore_dist.h).
std::vector<double> server_shares(ServerSharding sharding, const std::vector<double>& tensors, int servers,
                                  double bound);

/// What each of so many places (nodes, members of a fabric level) holds of servers that are dealt out over them in
/// turn.
std::vector<double> dealt_out(const std::vector<double>& shares, int places);

/// The largest share, which decides how long an exchange takes: 1 / M where it is even.
double busiest_share(const std::vector<double>& shares);

}  // namespace stepcast
