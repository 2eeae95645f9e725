#pragma once

#include <cstdint>
#include <vector>

#include "models/scenario/update_spec.hpp"
#include "models/updates/random_draw.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// The server of a federation has ordinary host memory. Estimated.
inline constexpr BytesPerSecond kFederatedServerMemory(100e9);

/// Rounds of federated averaging.
struct FederatedJob {
  FederatedSpec spec;
  int selected = 1;        ///< clients of a round
  Seconds busy;            ///< of one client's local step, at mean speed
  Seconds compressing;     ///< of one client, once a round
  double local_steps = 1;  ///< of a client in a round
  Bytes upload, download;  ///< of the model, each client
  double parameters = 0;   ///< of the model
  Seconds aggregation;     ///< of the server, over all of a round's models
  double step_spread = 0;  ///< of a client's time in a round
  std::uint64_t seed = 1;
};

/// What secure aggregation adds for one client of n and m parameters (Bonawitz et al. 2017, Table 1 and section 8).
struct SecureAggregation {
  Bytes upload;      ///< masked parameters and key shares, instead of the parameters
  Seconds client;    ///< making masks: one key agreement and one expansion a peer
  Seconds server;    ///< unmasking, when nobody drops out
  int messages = 1;  ///< rounds of messages instead of one
};
SecureAggregation secure_aggregation(int clients, double parameters);

/// Clients that take part in a round, out of `population` and all different: the first `selected` of a shuffle that
/// depends on seed and round alone.
std::vector<std::uint64_t> clients_of_round(const RandomDraw& draw, int round, std::size_t selected,
                                            std::uint64_t population);

struct FederatedRun {
  Seconds round;
  Seconds local_work;   ///< of a client, mean
  Seconds transfer;     ///< of a client, mean, both ways and its messages
  Seconds wait;         ///< of a client, mean: for the slowest of the round
  Seconds aggregation;  ///< of the server, after the last client
  Bytes sent_per_client;
};

/// A round: the server sends the model to the clients drawn for it, each trains on its own samples, all send their
/// models back, the server averages. Clients share the server's link evenly; a round ends with its slowest client
/// (McMahan et al. 2017).
FederatedRun run_federated(const FederatedJob& job);

}  // namespace stepcast
