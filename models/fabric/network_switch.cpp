#include "models/fabric/network_switch.hpp"

#include <span>

#include "models/fabric/preset_kinds.hpp"

namespace stepcast {

namespace {

/// The usual switch for NICs up to a rate.
struct Usual {
  BytesPerSecond up_to;
  const char* id;
};

// InfiniBand: each generation's fixed-size switch of its vendor. Ethernet: the entry with most ports of the rate; 10 to
// 50 Gb/s NICs hang on split ports of the 100 Gb/s one. Slingshot and Omni-Path have one switch each.
constexpr Usual kInfinibandSwitches[] = {{40_Gbps, "is5030"},  {56_Gbps, "sx6036"},  {100_Gbps, "sb7800"},
                                         {200_Gbps, "qm8700"}, {400_Gbps, "qm9700"}, {800_Gbps, "q3400"}};
constexpr Usual kEthernetSwitches[] = {{1_Gbps, "sn2201"},   {100_Gbps, "sn4600c"}, {200_Gbps, "sn4600"},
                                       {400_Gbps, "sn5400"}, {800_Gbps, "sn5600"},  {1600_Gbps, "tomahawk6-64x1600"}};
constexpr Usual kSlingshotSwitches[] = {{200_Gbps, "slingshot-rosetta"}};
constexpr Usual kOmniPathSwitches[] = {{100_Gbps, "opa-edge-48"}};

std::span<const Usual> usual_of(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::infiniband:
      return kInfinibandSwitches;
    case NetworkKind::slingshot:
      return kSlingshotSwitches;
    case NetworkKind::omni_path:
      return kOmniPathSwitches;
    // What carries Elastic Fabric Adapter traffic is not published; an Ethernet switch of its rate stands for it.
    case NetworkKind::efa:
    case NetworkKind::ethernet_rdma:
    case NetworkKind::ethernet_tcp:
    case NetworkKind::ici:
      break;
  }
  return kEthernetSwitches;
}

const char* usual_switch(NetworkKind kind, BytesPerSecond rate) {
  const auto all = usual_of(kind);
  // Rates come from decimal figures in files: a hair above one is that one.
  for (const Usual& usual : all)
    if (rate <= usual.up_to * (1 + 1e-9)) return usual.id;
  return all.back().id;
}

}  // namespace

const SwitchPart* network_switch(const FabricSpec& spec, NetworkKind kind, BytesPerSecond nic_bandwidth,
                                 const Catalog& catalog, const std::string& pointer, Diagnostics& diagnostics) {
  if (is_torus(spec.preset)) return nullptr;
  const std::string id = spec.switch_id.empty() ? usual_switch(kind, nic_bandwidth) : spec.switch_id;
  try {
    return catalog.find<SwitchPart>(id, pointer + "/switch", diagnostics);
  } catch (const InputError& error) {
    diagnostics.add(error.faults());
    return nullptr;
  }
}

}  // namespace stepcast
