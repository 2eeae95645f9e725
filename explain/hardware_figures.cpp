#include "explain/hardware_figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/compute/host_link.hpp"
#include "models/parallelism/offload.hpp"
#include "models/storage/rates.hpp"
#include "models/storage/storage.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

using Value = std::optional<std::string>;

std::string rate_text(BytesPerSecond rate) { return fmt::format("{} GB/s", significant(rate.in(1_GBps))); }

Value flop_rate(const Scenario& s) {
  const FlopsPerSecond peak = s.accelerator ? s.accelerator->product_peak(s.precision) : FlopsPerSecond(0);
  if (peak <= FlopsPerSecond(0))
    return s.cpu && !s.accelerator
               ? Value(fmt::format("{} TFLOP/s in fp32", significant(s.cpu->peak_fp32.in(1_TFLOPS))))
               : std::nullopt;
  return fmt::format("{} TFLOP/s in {}", significant(peak.in(1_TFLOPS)), name_of(s.precision));
}
void scale_flop_rate(ChangedScenario& s, double factor) {
  if (Accelerator* part = s.accelerator()) {
    for (auto* peaks :
         {&part->peak_TFLOPS, &part->peak_matrix_TFLOPS, &part->matmul_measured_TFLOPS, &part->achievable_TFLOPS})
      for (auto& [precision, peak] : *peaks) peak *= factor;
    // Kernels of small products go by the multiprocessors' cycles; what a locked clock is a share of stays.
    if (part->tensor_peak_clock_MHz == 0) part->tensor_peak_clock_MHz = part->boost_clock_MHz;
    part->boost_clock_MHz *= factor;
  } else if (Cpu* cpu = s.cpu()) {
    cpu->peak_fp32 *= factor;
  }
}

Value memory_bandwidth(const Scenario& s) {
  if (s.accelerator) return rate_text(s.accelerator->memory_bandwidth);
  return s.cpu ? Value(rate_text(s.cpu->memory_bandwidth)) : std::nullopt;
}
void scale_memory_bandwidth(ChangedScenario& s, double factor) {
  if (Accelerator* part = s.accelerator())
    part->memory_bandwidth *= factor;
  else if (Cpu* cpu = s.cpu())
    cpu->memory_bandwidth *= factor;
}

Value native_bandwidth(const Scenario& s) {
  if (!s.accelerator || s.devices_per_node() < 2) return std::nullopt;
  const BytesPerSecond rate = s.node->interconnect.bandwidth_per_accelerator(s.node->accelerator_count);
  if (s.node->interconnect.kind == NodeTopology::pcie || rate <= BytesPerSecond(0)) return std::nullopt;
  return rate_text(rate) + " a device and direction";
}
void scale_native_bandwidth(ChangedScenario& s, double factor) {
  s.node()->interconnect.per_link *= factor;
  if (LinkProfile* links = s.links()) links->peer_rate *= factor;
}

Value native_latency(const Scenario& s) {
  if (!s.link_profile || s.devices_per_node() < 2) return std::nullopt;
  return fmt::format("{} a step, {} to start", humane(s.link_profile->ll_hop), humane(s.link_profile->launch));
}
void scale_native_latency(ChangedScenario& s, double factor) {
  LinkProfile* links = s.links();
  for (Seconds* time : {&links->launch, &links->ll_hop, &links->simple_hop, &links->peer_start,
                        &links->peer_simple_start, &links->nvls_start})
    *time *= factor;
}

Value host_link(const Scenario& s) {
  if (!s.accelerator) return std::nullopt;
  return rate_text(raw_host_link(*s.node, *s.accelerator)) + " a device and direction";
}
void scale_host_link(ChangedScenario& s, double factor) {
  Accelerator* accelerator = s.accelerator();
  accelerator->pcie_bandwidth *= factor;
  for (std::optional<HostLink>* link : {&accelerator->cpu_link, &s.node()->cpu_link})
    if (*link) (*link)->bandwidth *= factor;
}

bool has_network(const Scenario& s) { return s.spec.cluster.nodes > 1 && s.nics_per_node > 0; }

Value nic_bandwidth(const Scenario& s) {
  if (!has_network(s)) return std::nullopt;
  std::string out = fmt::format("{} × {} Gb/s a node", s.nics_per_node, significant(s.nic_bandwidth.in(1_Gbps)));
  // Both are scaled, and those of the servers may be what binds.
  if (s.server_node != nullptr && s.server_node->training_nics() > 0)
    out += fmt::format(", {} × {} Gb/s a parameter server's", s.server_node->training_nics(),
                       significant(s.server_node->training_bandwidth().in(1_Gbps) / s.server_node->training_nics()));
  return out;
}
void scale_nic_bandwidth(ChangedScenario& s, double factor) {
  s.scenario().nic_bandwidth *= factor;
  if (NetworkProfile* network = s.network()) network->nic_ceiling *= factor;
  if (Node* servers = s.server_node())
    for (Nic& nic : servers->nics) nic.bandwidth *= factor;
}

Value fabric_bandwidth(const Scenario& s) {
  const FabricSpec& fabric = s.spec.cluster.fabric;
  if (!has_network(s) || fabric.preset == FabricPreset::single_switch) return std::nullopt;
  std::vector<std::string> tiers;
  if (fabric.oversubscription > 1)
    tiers.push_back(fmt::format("{}:1 above the leaves", significant(fabric.oversubscription)));
  if (fabric.core_oversubscription > 1)
    tiers.push_back(fmt::format("{}:1 above the spines", significant(fabric.core_oversubscription)));
  return tiers.empty() ? std::nullopt : Value(fmt::format("{}", fmt::join(tiers, ", ")));
}
/// Of what has fewer up-links than down-links: more of them where there are as many would bring nothing.
void scale_fabric_bandwidth(ChangedScenario& s, double factor) {
  FabricSpec& fabric = s.scenario().spec.cluster.fabric;
  for (double* share : {&fabric.oversubscription, &fabric.core_oversubscription})
    if (*share > 1) *share /= factor;
}

Value site_bandwidth(const Scenario& s) {
  const auto& sites = s.spec.cluster.fabric.wan;
  if (!has_network(s) || !sites) return std::nullopt;
  return fmt::format("{} Gb/s of a site's up-link", significant(sites->bandwidth.in(1_Gbps)));
}
void scale_site_bandwidth(ChangedScenario& s, double factor) {
  s.scenario().spec.cluster.fabric.wan->bandwidth *= factor;
}

Value site_latency(const Scenario& s) {
  const auto& sites = s.spec.cluster.fabric.wan;
  if (!has_network(s) || !sites || sites->latency <= Seconds(0)) return std::nullopt;
  return humane(sites->latency) + " one way";
}
void scale_site_latency(ChangedScenario& s, double factor) { s.scenario().spec.cluster.fabric.wan->latency *= factor; }

Value network_latency(const Scenario& s) {
  if (!has_network(s) || !s.network_profile) return std::nullopt;
  return fmt::format("{} a ring step, {} to start", humane(s.network_profile->ring_hop_ll),
                     humane(s.network_profile->start));
}
void scale_network_latency(ChangedScenario& s, double factor) {
  NetworkProfile* network = s.network();
  for (Seconds* time : {&network->start, &network->tree_hop_ll, &network->tree_hop_simple, &network->ring_hop_ll,
                        &network->ring_hop_simple, &network->ring_hop_at_scale, &network->peer_start,
                        &network->peer_start_at_scale, &network->peer_simple_start})
    *time *= factor;
}

Value storage_rate(const Scenario& s) {
  if (input_per_device(s) <= Bytes(0)) return std::nullopt;
  const std::optional<BytesPerSecond> rate = node_read_rate(s);
  return rate ? Value(rate_text(*rate) + " a node") : std::nullopt;
}
void scale_storage_rate(ChangedScenario& s, double factor) {
  const auto scale = [factor](StoragePart* part) {
    if (!part) return;
    if (part->read) *part->read *= factor;
    if (part->aggregate_read) *part->aggregate_read *= factor;
  };
  scale(s.storage());
  scale(s.local_drive());
  if (Node* node = s.node(); node->local_storage && node->local_storage->read_GBps)
    *node->local_storage->read_GBps *= factor;
}

Value drive_rate(const Scenario& s) {
  if (!offloads_to_drives(s)) return std::nullopt;
  return fmt::format("{} read and {} written a node", rate_text(*local_read_rate(s)), rate_text(*local_write_rate(s)));
}
void scale_drive_rate(ChangedScenario& s, double factor) {
  const auto scale = [factor](std::optional<BytesPerSecond>& rate) {
    if (rate) *rate *= factor;
  };
  if (StoragePart* drive = s.local_drive()) {
    scale(drive->read);
    scale(drive->write);
  }
  if (Node* node = s.node(); node->local_storage) {
    scale(node->local_storage->read_GBps);
    scale(node->local_storage->write_GBps);
  }
}

Value decode_time(const Scenario& s) {
  const std::optional<Seconds> decode = s.spec.workload.input.decode;
  return decode && *decode > Seconds(0) ? Value(humane(*decode) + " a sample") : std::nullopt;
}
void scale_decode_time(ChangedScenario& s, double factor) { *s.scenario().spec.workload.input.decode *= factor; }

Value host_time(const Scenario& s) {
  if (s.framework->host_per_layer_forward <= Seconds(0)) return std::nullopt;
  return humane(s.framework->host_per_layer_forward) + " a layer";
}
void scale_host_time(ChangedScenario& s, double factor) {
  s.framework()->host_per_layer_forward *= factor;
  s.framework()->host_per_peer *= factor;
}

Value kernel_floor(const Scenario& s) {
  if (!s.compute || s.compute->kernel_floor <= Seconds(0)) return std::nullopt;
  return humane(s.compute->kernel_floor);
}
void scale_kernel_floor(ChangedScenario& s, double factor) { s.compute()->kernel_floor *= factor; }

Value step_overhead(const Scenario& s) {
  if (s.framework->step_overhead <= Seconds(0)) return std::nullopt;
  return humane(s.framework->step_overhead);
}
void scale_step_overhead(ChangedScenario& s, double factor) { s.framework()->step_overhead *= factor; }

}  // namespace

const std::vector<HardwareFigure>& hardware_figures() {
  static const std::vector<HardwareFigure> figures{
      {"flop_rate", "FLOP rate of the devices", true, flop_rate, scale_flop_rate},
      {"memory_bandwidth", "memory bandwidth of the devices", true, memory_bandwidth, scale_memory_bandwidth},
      {"kernel_floor", "shortest kernel", false, kernel_floor, scale_kernel_floor},
      {"native_bandwidth", "bandwidth of the links inside a node", true, native_bandwidth, scale_native_bandwidth},
      {"native_latency", "latency of collectives inside a node", false, native_latency, scale_native_latency},
      {"host_link", "links of the devices to their hosts", true, host_link, scale_host_link},
      {"nic_bandwidth", "NIC bandwidth", true, nic_bandwidth, scale_nic_bandwidth},
      {"fabric_bandwidth", "bandwidth of the fabric above the leaves", true, fabric_bandwidth, scale_fabric_bandwidth},
      {"site_bandwidth", "bandwidth between sites", true, site_bandwidth, scale_site_bandwidth},
      {"site_latency", "latency between sites", false, site_latency, scale_site_latency},
      {"network_latency", "latency of the network", false, network_latency, scale_network_latency},
      {"storage_rate", "rate at which a node reads input", true, storage_rate, scale_storage_rate},
      {"drive_rate", "rate of the drives that hold the optimizer's states", true, drive_rate, scale_drive_rate},
      {"decode_time", "time in which a core makes a sample of what it read", false, decode_time, scale_decode_time},
      {"host_time", "host time to issue a layer", false, host_time, scale_host_time},
      {"step_overhead", "fixed time of a step", false, step_overhead, scale_step_overhead},
  };
  return figures;
}

}  // namespace stepcast
