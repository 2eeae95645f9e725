#include "hardware-catalog/communication_profiles.hpp"
#include "hardware-catalog/part_table.hpp"

namespace stepcast {

using namespace part_rules;

const FieldTable<MeasuredCurve>& MeasuredCurve::fields() {
  using P = MeasuredCurve;
  static const FieldTable<P> table =
      PartTable<P>("measured curve", "Times of one collective on one set of ranks, as measured")
          .field("op", &P::op, "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv, reduce …",
                 required())
          .field("ranks", &P::ranks, "That take part", required_at_least(1))
          .field("ranks_per_node", &P::ranks_per_node, "On each node", required_at_least(1))
          .field("size_bytes", &P::size_bytes, "Sizes of the whole buffer, ascending", required_positive())
          .field("time_us", &P::time_us, "Median time of each size", required_positive());
  return table;
}

const FieldTable<HostMessageCosts>& HostMessageCosts::fields() {
  using P = HostMessageCosts;
  static const FieldTable<P> table =
      PartTable<P>("host messages", "What messages between processes in host memory cost")
          .field("library", &P::library, "openmpi-4.0, openmpi-4.1, openmpi-5, mpich or gloo", required())
          .field("latency_us", &P::latency, "Empty message between nodes, one way", at_least(0))
          .field("turnaround_us", &P::turnaround, "Added in each step of a collective", at_least(0))
          .field("inline_limit_bytes", &P::inline_limit, "Up to here data travels in the descriptor", at_least(0))
          .field("copy_start_us", &P::copy_start, "Once for a longer message", at_least(0))
          .field("eager_limit_bytes", &P::eager_limit, "Longer messages ask first", at_least(0))
          .field("eager_GBps", &P::eager, "Rate of messages up to that", positive())
          .field("rendezvous_us", &P::rendezvous, "Once for each message above", at_least(0))
          .field("rail_GBps", &P::rail, "Rate of messages above, over one NIC", positive())
          .field("stream_GBps", &P::stream, "The same over all NICs that one message uses", positive())
          .field("stripe_us", &P::stripe, "Once for a message that is spread over NICs", at_least(0))
          .field("node_GBps", &P::node, "All NICs of a node together", positive())
          .field("gap_us", &P::gap, "Between messages of one sender that waits for none", at_least(0))
          .field("local_latency_us", &P::local_latency, "Step of a collective inside a node", at_least(0))
          .field("local_gap_us", &P::local_gap, "Gap of messages inside a node", at_least(0))
          .field("local_GBps", &P::local, "Copied inside a node", positive())
          .field("reduce_GBps", &P::reduce, "Sum of two buffers", positive());
  return table;
}

const FieldTable<Calibrated>& Calibrated::fields() {
  using P = Calibrated;
  static const FieldTable<P> table =
      PartTable<P>("calibration", "Measured times, and the machine that they are true of")
          .field("name", &P::name, "Of the calibration", required())
          .field("date", &P::date, "Of the measurements", required())
          .field("accelerator", &P::accelerator, "Catalogue id; empty: processors")
          .field("devices_per_node", &P::devices_per_node, "Accelerators, or sockets", at_least(0))
          .field("nics", &P::nics, "Of a node, for training traffic", at_least(0))
          .field("nic_bandwidth_Gbps", &P::nic_bandwidth, "Of each, raw, per direction", at_least(0))
          .field("jitter_us", &P::jitter, "Mean lateness of a rank, as calls' samples tell it", at_least(0))
          .field("curves", &P::curves, "Times by collective and ranks")
          .field("host", &P::host, "Between processors: what messages cost");
  return table;
}

const FieldTable<LinkProfile>& LinkProfile::fields() {
  using P = LinkProfile;
  static const FieldTable<P> table =
      PartTable<P>("link profile", "What a class of links inside a node costs collectives beyond its raw rate")
          .field("id", &P::id, "Name of the file", required())
          .field("medium", &P::medium, "nvlink, xgmi, pcie or shared-memory", required())
          .field("year", &P::year, "Of the hardware it was measured on; 0: not stated", a_year())
          .field("generation", &P::generation, "Which of NCCL's own tables chooses algorithm and protocol in a node")
          .field("launch_us", &P::launch, "Start of a collective kernel", at_least(0))
          .field("ll_hop_us", &P::ll_hop, "One step in protocol LL", at_least(0))
          .field("simple_hop_us", &P::simple_hop, "One step in protocol Simple", at_least(0))
          .field("ring_share", &P::ring_share, "Of the raw rate that a ring of many devices reaches",
                 required_positive())
          .field("share_of_two", &P::share_of_two, "Of that, for two devices", positive())
          .field("share_of_four", &P::share_of_four, "Of that, for three or four devices", positive())
          .field("share_of_eight", &P::share_of_eight, "Of that, for more devices", positive())
          .field("ll_share", &P::ll_share, "Of the ring's rate in protocol LL", positive())
          .field("peer_share", &P::peer_share, "Of the raw rate that an all_to_all reaches", positive())
          .field("peer_rate_GBps", &P::peer_rate, "Most that one device sends to one peer; 0: no limit", at_least(0))
          .field("peer_start_us", &P::peer_start, "all_to_all: for each peer", at_least(0))
          .field("peer_simple_start_us", &P::peer_simple_start, "Once, for messages too large for LL", at_least(0))
          .field("nvls_share", &P::nvls_share, "Bus bandwidth over the raw rate when the switch adds; 0: it cannot",
                 at_least(0))
          .field("nvls_start_us", &P::nvls_start, "Latency of a collective that the switch adds", at_least(0))
          .field("calibration", &P::calibration, "Of collectives inside one node, from `stepcast calibrate fit`")
          .field("intervals", &P::intervals, "Low and high of fitted constants, by key")
          .fields_of(&P::provenance);
  return table;
}

const FieldTable<NetworkProfile>& NetworkProfile::fields() {
  using P = NetworkProfile;
  static const FieldTable<P> table =
      PartTable<P>("network profile", "What a kind of network costs collectives beyond its raw rate")
          .field("id", &P::id, "Name of the file", required())
          .field("kind", &P::kind, "Kind of NIC", required())
          .field("host_memory", &P::host_memory, "Messages between processors instead of accelerators")
          .field("wire_share", &P::wire_share, "Of the NIC's rate", required_positive())
          .field("nic_ceiling_GBps", &P::nic_ceiling, "Of one NIC whatever its rate; 0: none", at_least(0))
          .field("start_us", &P::start, "Once for a collective that leaves the node", at_least(0))
          .field("tree_hop_ll_us", &P::tree_hop_ll, "One tree level in one direction, protocol LL", at_least(0))
          .field("tree_hop_simple_us", &P::tree_hop_simple, "The same, protocol Simple", at_least(0))
          .field("ring_hop_ll_us", &P::ring_hop_ll, "One ring step between nodes, protocol LL", at_least(0))
          .field("ring_hop_simple_us", &P::ring_hop_simple, "The same, protocol Simple", at_least(0))
          .field("ring_hop_at_scale_us", &P::ring_hop_at_scale,
                 "LL ring step that many nodes tend to; 0: ring_hop_ll_us", at_least(0))
          .field("ll_share", &P::ll_share, "Of the wire in protocol LL", positive())
          .field("ll", &P::ll, "Protocol LL crosses it; false: its plugin for the library switches it off")
          .field("ll128", &P::ll128,
                 "Protocol LL128 crosses it: its NICs write whole lines and lie behind the devices' PCIe switches")
          .field("nvls_tree", &P::nvls_tree,
                 "Trees of NVLink switches cross it; false: its plugin or the cloud's settings switch them off")
          .field("two_node_tree", &P::two_node_tree,
                 "Two nodes whose devices a switch joins, and which share its NICs, run a tree over it; false: a ring")
          .field("peer_start_us", &P::peer_start, "all_to_all: for each peer on another node", at_least(0))
          .field("peer_start_at_scale_us", &P::peer_start_at_scale,
                 "The same that many nodes tend to; 0: peer_start_us", at_least(0))
          .field("small_peer_factor", &P::small_peer_factor, "Peers cost so much more for small messages", at_least(1))
          .field("small_peer_limit_bytes", &P::small_peer_limit, "Largest such message", at_least(0))
          .field("peer_simple_start_us", &P::peer_simple_start, "Once, for messages too large for LL", at_least(0))
          .field("all_to_all_share", &P::all_to_all_share, "Of the wire that an all_to_all reaches", positive())
          .field("send_share", &P::send_share, "Of one NIC that a single message reaches", positive())
          .field("loss_per_doubling", &P::loss_per_doubling,
                 "What wire and hops lose for every doubling of the nodes above eight", at_least(0))
          .field("calibration", &P::calibration, "Of collectives between nodes, from `stepcast calibrate fit`")
          .field("intervals", &P::intervals, "Low and high of fitted constants, by key")
          .fields_of(&P::provenance);
  return table;
}

const FieldTable<LibraryProfile>& LibraryProfile::fields() {
  using P = LibraryProfile;
  static const FieldTable<P> table =
      PartTable<P>("collective library", "How a library cuts messages into chunks and channels")
          .field("id", &P::id, "Name of the file", required())
          .field("fill_ring_ll", &P::fill_ring_ll, "What a full block adds to a ring's step, as a share, protocol LL",
                 at_least(0))
          .field("fill_ring_simple", &P::fill_ring_simple, "r of the pipeline fill of a ring, protocol Simple",
                 at_least(0))
          .field("fill_tree_ll", &P::fill_tree_ll, "The same of a tree level, protocol LL", at_least(0))
          .field("fill_tree_simple", &P::fill_tree_simple, "The same of a tree", at_least(0))
          .field("fill_nvls", &P::fill_nvls, "r where the switch adds", at_least(0))
          .field("fill_all_to_all", &P::fill_all_to_all, "r of an all_to_all inside the node", at_least(0))
          .field("fill_remote_all_to_all", &P::fill_remote_all_to_all, "r of an all_to_all across nodes", at_least(0))
          .field("tree_share", &P::tree_share, "A tree's rate inside the node over a ring's", positive())
          .field("ll128_share", &P::ll128_share, "Of the ring's rate in protocol LL128", positive())
          .field("ll128_wire_share", &P::ll128_wire_share, "Of the wire in protocol LL128", positive())
          .field("ll128_hop", &P::ll128_hop, "LL128 step inside the node over an LL step", positive())
          .field("ll128_network_hop", &P::ll128_network_hop, "LL128 step between nodes over an LL step", positive())
          .field("own_share", &P::own_share,
                 "all_gather, reduce_scatter: a rank's own part costs so much of a received one", at_least(0))
          .field("narrow_factor", &P::narrow_factor, "Time of the bytes of 8-bit types where the switch adds",
                 positive())
          .field("wide_factor", &P::wide_factor, "Time of the bytes of 64-bit types", positive())
          .field("channel_GBps", &P::channel, "One channel of send and receive", positive())
          .field("send_channels", &P::send_channels, "Of a device, split over the ranks of its node", at_least(1))
          .field("send_growth_us", &P::send_growth, "A message that would take longer gets more channels", at_least(0))
          .field("small_channel_GBps", &P::small_channel, "LL rate of a point-to-point message", positive())
          .field("root_slot_us", &P::root_slot, "Broadcast: the root's time for each KiB, several nodes", at_least(0))
          .field("root_slot_in_node_us", &P::root_slot_in_node, "The same in one node", at_least(0))
          .field("root_hop", &P::root_hop, "Of a ring's hop, as the root of a small broadcast sees it", at_least(0))
          .field("chain_fill_us", &P::chain_fill, "Broadcast across nodes: latency of a hop in the fill term",
                 at_least(0))
          .field("intervals", &P::intervals, "Low and high of fitted constants, by key")
          .fields_of(&P::provenance);
  return table;
}

}  // namespace stepcast
