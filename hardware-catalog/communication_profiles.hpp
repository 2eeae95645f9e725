#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hardware-catalog/parts.hpp"

namespace stepcast {

/// Generation of devices that NCCL's own tables know (docs/sources.md); none: the faster algorithm by time.
enum class TunerGeneration { none, volta, ampere, hopper, blackwell };
template <>
struct EnumNames<TunerGeneration> {
  static constexpr std::array names{"none", "volta", "ampere", "hopper", "blackwell"};
};

/// Intervals of fitted constants, low and high, by key: what the data leave open (one standard deviation of the fit).
using Intervals = std::map<std::string, std::vector<double>>;

/// Times of one collective on one set of ranks, as measured.
struct MeasuredCurve {
  std::string op;                     ///< name of a CollectiveKind
  int ranks = 1, ranks_per_node = 1;  ///< on as many nodes as they fill
  std::vector<double> size_bytes;     ///< of the whole buffer, ascending
  std::vector<double> time_us;        ///< one for each size
  static const FieldTable<MeasuredCurve>& fields();
};

/// Fitted costs of messages between processes in host memory: the fields of HostNetwork (models/collectives/mpi.hpp).
struct HostMessageCosts {
  std::string library;  ///< name of a HostLibrary
  Seconds latency, turnaround;
  Bytes inline_limit;
  Seconds copy_start;
  Bytes eager_limit;
  BytesPerSecond eager;
  Seconds rendezvous;
  BytesPerSecond rail, stream;
  Seconds stripe;
  BytesPerSecond node;
  Seconds gap, local_latency, local_gap;
  BytesPerSecond local, reduce;
  static const FieldTable<HostMessageCosts>& fields();
};

/// What `stepcast calibrate fit` adds to a profile beside its constants: the measured times themselves, and the machine
/// that they are true of. On any other machine only the constants count.
struct Calibrated {
  std::string name;         ///< of the calibration
  std::string date;         ///< of the measurements, YYYY-MM-DD
  std::string accelerator;  ///< catalogue id; empty: processors
  int devices_per_node = 1;
  int nics = 0;                  ///< of a node
  BytesPerSecond nic_bandwidth;  ///< raw rate of one NIC
  Seconds jitter;                ///< mean lateness of a rank, as calls' samples tell it
  std::vector<MeasuredCurve> curves;
  std::optional<HostMessageCosts> host;  ///< between processors
  static const FieldTable<Calibrated>& fields();
};

/// What a class of links between the devices of a node costs collectives beyond its raw rate, measured by benchmarks of
/// nothing but collectives. Written by `stepcast fit collectives`; formulas in docs/models/collectives.md.
struct LinkProfile {
  std::string id;
  std::string medium;  ///< nvlink, xgmi, pcie, shared-memory
  int year = 0;        ///< of the hardware it was measured on
  TunerGeneration generation = TunerGeneration::none;
  Seconds launch;             ///< start of a collective kernel; belongs to the host as much as to the link
  Seconds ll_hop;             ///< one step in protocol LL
  Seconds simple_hop;         ///< one step in protocol Simple, what chunks overlap taken off
  double ring_share = 1;      ///< of the raw rate that a ring of many devices reaches, before its chunks' overhead
  double share_of_two = 1;    ///< of that, for two devices: the library opens fewer channels
  double share_of_four = 1;   ///< the same for four
  double share_of_eight = 1;  ///< the same for eight
  double ll_share = 0.5;      ///< of the ring's rate in protocol LL
  double peer_share = 1;      ///< of the raw rate that an all_to_all reaches
  BytesPerSecond peer_rate;   ///< most that one device sends to one peer (0: no limit below the links')
  Seconds peer_start;         ///< all_to_all: for each peer
  Seconds peer_simple_start;  ///< once, for messages too large for LL
  double nvls_share = 0;      ///< of the raw rate in bus bandwidth when the switch adds; 0: it cannot
  Seconds nvls_start;         ///< once, when the switch adds
  std::optional<Calibrated> calibration;  ///< of collectives inside one node
  Intervals intervals;
  Provenance provenance;
  static const FieldTable<LinkProfile>& fields();
};

/// The same of a kind of network between nodes.
struct NetworkProfile {
  std::string id;
  NetworkKind kind = NetworkKind::infiniband;
  bool host_memory = false;               ///< messages between processors (MPI) instead of accelerators
  double wire_share = 1;                  ///< of the NIC's rate
  BytesPerSecond nic_ceiling;             ///< of one NIC whatever its rate (0: none)
  Seconds start;                          ///< once for a collective that leaves the node
  Seconds tree_hop_ll, tree_hop_simple;   ///< one level between nodes, one direction
  Seconds ring_hop_ll, ring_hop_simple;   ///< one ring step between nodes
  Seconds ring_hop_at_scale;              ///< LL ring step that many nodes tend to; equal to ring_hop_ll for most
  double ll_share = 0.1;                  ///< of the wire in protocol LL
  bool ll128 = false;                     ///< protocol LL128 crosses it
  bool ll = true;                         ///< protocol LL crosses it
  bool nvls_tree = true;                  ///< trees of NVLink switches cross it
  bool two_node_tree = false;             ///< two nodes behind NVLink switches that share NICs run a tree over it
  Seconds peer_start;                     ///< all_to_all: for each peer on another node
  Seconds peer_start_at_scale;            ///< the same that many nodes tend to
  double small_peer_factor = 1;           ///< peers cost so much more while a message is at most small_peer_limit
  Bytes small_peer_limit;                 ///< size of one message, see small_peer_factor
  Seconds peer_simple_start;              ///< once, for messages too large for LL
  double all_to_all_share = 1;            ///< of the wire
  double send_share = 1;                  ///< of one NIC that a single message reaches
  double loss_per_doubling = 0;           ///< wire and hops lose so much for every doubling of the nodes above eight
  std::optional<Calibrated> calibration;  ///< of collectives between nodes
  Intervals intervals;
  Provenance provenance;
  static const FieldTable<NetworkProfile>& fields();
};

/// How a library cuts messages into chunks and channels: constants of software, alike on all hardware.
struct LibraryProfile {
  std::string id;
  /// r of the fill term 2·√(r·l·T) by algorithm and protocol (SendProtocol::fill_ring).
  double fill_ring_ll = 0, fill_ring_simple = 0, fill_tree_ll = 0, fill_tree_simple = 0, fill_nvls = 0;
  /// The same of an all_to_all, inside the node and between nodes.
  double fill_all_to_all = 0, fill_remote_all_to_all = 0;
  double tree_share = 1;             ///< of a ring's rate inside the node
  double ll128_share = 0.9;          ///< of the ring's rate in protocol LL128
  double ll128_wire_share = 0.9375;  ///< of the wire in protocol LL128: 120 of 128 bytes are data
  double ll128_hop = 1.36;           ///< over an LL hop inside the node
  double ll128_network_hop = 2.5;    ///< over an LL hop between nodes
  double own_share = 0;              ///< all_gather, reduce_scatter: a rank's own part costs so much of a received one
  double narrow_factor = 1;          ///< NVLS on 8-bit types: time of the bytes
  double wide_factor = 1;            ///< 64-bit types: time of the bytes
  BytesPerSecond channel;            ///< one channel of send and receive
  int send_channels = 32;            ///< of a device, split over the ranks of its node
  Seconds send_growth;               ///< a message that would take longer gets more channels
  BytesPerSecond small_channel;      ///< LL rate of the first channel of a point-to-point message
  Seconds root_slot;          ///< broadcast: time of the root for each KiB it must wait to hand on, several nodes
  Seconds root_slot_in_node;  ///< the same inside one node
  double root_hop = 1;        ///< of a ring's hop, as the root of a small broadcast sees it
  Seconds chain_fill;         ///< broadcast of large messages: latency of a hop in the fill term
  Intervals intervals;
  Provenance provenance;
  static const FieldTable<LibraryProfile>& fields();
};

}  // namespace stepcast
