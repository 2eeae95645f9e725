#pragma once

#include <string>

#include "models/collectives/machine.hpp"

namespace stepcast {

/// What variables of NCCL and RCCL in a row's remarks make of the library's own choice.
struct NcclSettings {
  std::string refusal;  ///< why the row cannot be predicted; the rest is void then
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  CollectiveProtocol protocol = CollectiveProtocol::automatic;
  bool switch_sums = true;  ///< NVLink SHARP may be chosen
};

/// A collective that a row states.
struct StatedCall {
  CollectiveKind kind;
  const GroupShape& group;
  const CollectiveMachine& machine;  ///< with its node
};

/// Reads NCCL_ALGO, NCCL_PROTO, NCCL_NVLS_ENABLE, NCCL_P2P_DISABLE, NCCL_NET and NCCL_IB_DISABLE of "NCCL_ALGO=Ring
/// NCCL_PROTO=LL, 100 iterations". Refused are values that are none, what the machine cannot run, and ways that have no
/// constants: copies between devices through the host's memory, and sockets on NICs with RDMA. A collective that has no
/// such algorithm goes by rings or the library's choice, as in NCCL. Other variables are remarks.
NcclSettings nccl_settings(const std::string& remarks, const StatedCall& call);

/// Links without switches' sums, where these may not be chosen.
void leave_out_switch_sums(Interconnect& net);

}  // namespace stepcast
