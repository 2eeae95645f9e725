#include <algorithm>

#include "models/compute/attention_generation.hpp"
#include "models/fabric/check.hpp"
#include "models/fabric/findings.hpp"
#include "models/fabric/network_switch.hpp"
#include "models/fabric/plan/custom.hpp"
#include "models/fabric/plan/torus.hpp"
#include "models/fabric/preset_kinds.hpp"
#include "models/scenario/described_model.hpp"
#include "models/scenario/draft.hpp"
#include "models/scenario/framework_constants.hpp"

namespace stepcast {

namespace {

/// An entry by id; a faulty file of the catalogue is a fault of this input too.
template <class T>
const T* entry(Draft& draft, const std::string& id, const std::string& pointer) {
  try {
    return draft.catalog.find<T>(id, pointer, draft.diagnostics);
  } catch (const InputError& error) {
    draft.diagnostics.add(error.faults());
    return nullptr;
  }
}

/// The compute profile of processors; processors name no family of their own.
constexpr const char* kProcessorProfile = "cpu";

void resolve_node(Draft& draft) {
  Scenario& s = draft.scenario;
  if (!draft.sound({"/cluster/node"})) return;
  s.node = entry<Node>(draft, draft.spec().cluster.node, "/cluster/node");
  if (s.node == nullptr) return;
  const Node& node = *s.node;
  if (node.has_accelerators()) s.accelerator = entry<Accelerator>(draft, node.accelerator, "/cluster/node");
  if (!node.cpu.empty()) s.cpu = entry<Cpu>(draft, node.cpu, "/cluster/node");
  if (!node.has_accelerators() && s.cpu == nullptr && node.cpu.empty())
    draft.fault(
        "/cluster/node",
        fmt::format("node \"{}\" has no accelerator and its processor is not known: nothing can train", node.id));
  if (!node.has_accelerators()) {
    s.compute = entry<ComputeProfile>(draft, kProcessorProfile, "/cluster/node");
  } else if (s.accelerator != nullptr) {
    s.compute = entry<ComputeProfile>(draft, s.accelerator->family, "/cluster/node");
    s.operators = draft.catalog.find<OperatorProfile>(s.accelerator->family);
  }
  if (node.psus && !node.psus->efficiency.empty()) s.psu = entry<Psu>(draft, node.psus->efficiency, "/cluster/node");
  if (node.local_storage && !node.local_storage->device.empty())
    s.local_drive = entry<StoragePart>(draft, node.local_storage->device, "/cluster/node");
}

void resolve_surroundings(Draft& draft) {
  Scenario& s = draft.scenario;
  const ClusterSpec& cluster = draft.spec().cluster;
  if (!cluster.storage.empty()) s.storage = entry<StoragePart>(draft, cluster.storage, "/cluster/storage");
  if (!cluster.site.empty()) s.site = entry<Site>(draft, cluster.site, "/cluster/site");
  if (!cluster.cooling.empty()) {
    s.cooling = entry<Cooling>(draft, cluster.cooling, "/cluster/cooling");
  } else if (s.node != nullptr && !s.node->cooling.empty()) {
    s.cooling = entry<Cooling>(draft, s.node->cooling, "/cluster/node");
  }
}

void resolve_model(Draft& draft) {
  if (!draft.sound({"/workload/model"})) return;
  const ModelChoice& choice = draft.spec().workload.model;
  const std::size_t before = draft.diagnostics.faults().size();
  std::shared_ptr<const Model> model = choice.described;
  if (model) {
    model = with_length(std::move(model), draft.spec().workload.seq_len);
    check_model(*model, "/workload/model", draft.diagnostics);
  } else {
    model = find_model(choice.preset, "/workload/model", draft.diagnostics);
  }
  if (draft.diagnostics.faults().size() == before) draft.scenario.model = std::move(model);
}

void resolve_framework(Draft& draft) {
  Scenario& s = draft.scenario;
  std::string& id = s.spec.strategy.framework;
  if (!draft.sound({"/strategy/framework"})) return;
  if (id.empty()) {
    if (s.node == nullptr || (s.node->has_accelerators() && s.accelerator == nullptr)) return;
    id = usual_framework(s.spec.strategy, s.accelerator != nullptr ? s.accelerator->vendor : std::string());
    draft.assume(fmt::format("framework {} (none was named)", id));
  }
  try {
    s.framework = with_framework_constants(find_framework(id, "/strategy/framework", draft.diagnostics), draft.catalog,
                                           draft.diagnostics);
  } catch (const InputError& error) {
    draft.diagnostics.add(error.faults());
  }
}

/// The framework without what it does for parameters in fp32.
void take_parameters_in_16_bit(Draft& draft) {
  Scenario& s = draft.scenario;
  if (!draft.spec().strategy.parameters_in_16_bit || !s.framework) return;
  FrameworkProfile own = *s.framework;
  own.automatic_mixed_precision = own.gradients_in_fp32 = own.model_gradients_kept = false;
  own.micro_batch_bytes_per_parameter = 0;
  s.framework = std::make_shared<const FrameworkProfile>(std::move(own));
}

/// The framework with the kernels of attention that the strategy names.
void take_attention_kernel(Draft& draft) {
  Scenario& s = draft.scenario;
  const std::optional<AttentionKernel> kernel = draft.spec().strategy.attention_kernel;
  if (!kernel || !s.framework || s.compute == nullptr) return;
  const AttentionKernel measured = measured_generation(*s.compute, *kernel);
  if (*kernel != AttentionKernel::unfused && measured != *kernel)
    draft.assume(fmt::format("attention at the rate of {} kernels: {} has no figure of {}", name_of(measured),
                             s.compute->id, name_of(*kernel)));
  FrameworkProfile own = *s.framework;
  own.attention_kernel = *kernel;
  s.framework = std::make_shared<const FrameworkProfile>(std::move(own));
}

/// The NICs of a custom fabric are as fast as its cables let them be.
void take_cabled_rate(Draft& draft, int nodes) {
  Scenario& s = draft.scenario;
  const BytesPerSecond rate = cabled_nic_rate(draft.spec().cluster.fabric, nodes, s.nics_per_node, s.nic_bandwidth);
  if (rate < s.nic_bandwidth)
    draft.assume(fmt::format("NICs at {:g} Gb/s instead of {:g}: a cable from a node carries no more", rate.in(1_Gbps),
                             s.nic_bandwidth.in(1_Gbps)));
  s.nic_bandwidth = rate;
}

}  // namespace

void resolve_references(Draft& draft) {
  resolve_node(draft);
  resolve_surroundings(draft);
  resolve_model(draft);
  resolve_framework(draft);
  take_attention_kernel(draft);
  take_parameters_in_16_bit(draft);
}

void resolve_network(Draft& draft) {
  if (!draft.cluster_known() || !draft.sound({"/cluster/fabric"})) return;
  Scenario& s = draft.scenario;
  take_wraps(s.spec.cluster.fabric, s.accelerator);
  const FabricSpec& fabric = draft.spec().cluster.fabric;
  const int own = s.node->training_nics();
  const auto nic = std::find_if(s.node->nics.begin(), s.node->nics.end(), [](const Nic& n) { return n.training; });
  s.nics_per_node = fabric.nics_per_node.value_or(own);
  s.nic_bandwidth = fabric.nic_bandwidth.value_or(own > 0 ? s.node->training_bandwidth() / own : BytesPerSecond(0));
  s.network = fabric.network.value_or(nic != s.node->nics.end() ? nic->kind : NetworkKind::ethernet_tcp);
  const int nodes = draft.spec().cluster.nodes;
  take_cabled_rate(draft, nodes);
  if (!fabric.switch_id.empty() || (nodes > 1 && s.nics_per_node > 0 && s.nic_bandwidth > BytesPerSecond(0)))
    s.network_switch =
        network_switch(fabric, s.network, s.nic_bandwidth, draft.catalog, "/cluster/fabric", draft.diagnostics);
  check_fabric(fabric, nodes, s.nics_per_node, s.nic_bandwidth, s.network_switch, "/cluster/fabric", draft.diagnostics);
  if (nodes == 1) return;
  if (s.network == NetworkKind::ici && !is_torus(fabric.preset))
    draft.assume(
        fmt::format("a {} of switches joins the nodes, though the chips' own links (ici) form a torus: "
                    "fabric.preset torus-2d or torus-3d",
                    name_of(fabric.preset)));
  for (std::string& words : ratios_without_effect(
           fabric, fabric_levels(fabric, nodes, s.nics_per_node, s.nic_bandwidth, s.network_switch), nodes))
    draft.assume(std::move(words));
  const std::string lacks = fmt::format("node \"{}\" lists no NIC for training traffic", s.node->id);
  if (s.nics_per_node == 0)
    draft.fault("/cluster/fabric/nics_per_node",
                fmt::format("missing: {}, and {} nodes need one to meet", lacks, nodes),
                "state nics_per_node and nic_bandwidth_Gbps");
  if (s.nics_per_node > 0 && s.nic_bandwidth <= BytesPerSecond(0))
    draft.fault("/cluster/fabric/nic_bandwidth_Gbps", fmt::format("missing: {}", lacks), "state nic_bandwidth_Gbps");
}

}  // namespace stepcast
