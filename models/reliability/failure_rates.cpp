#include "models/reliability/failure_rates.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "models/scenario/helper_kinds.hpp"
#include "models/scenario/node_kinds.hpp"
#include "units/calendar.hpp"

namespace stepcast {

namespace {

constexpr PerSecond kPer1000Days = 1.0 / (1000 * 1_days);

// Llama 3, table 5: 419 unexpected interruptions in 54 days on 16,384 H100 in 2,048 servers (reliability
// llama3-405b and llama3-cause-*). 268 of them lay in the GPUs: faulty GPU 148, HBM3 72, SRAM 19, system processor 17,
// silent corruption 6, thermal 6. The others: network, host, software, maintenance.
constexpr double kGpuInterruptions = 268, kOtherInterruptions = 151;
constexpr double kLlamaDays = 54, kLlamaGpus = 16384, kLlamaNodes = 2048;
constexpr double kPerGpu = 1000 * kGpuInterruptions / (kLlamaDays * kLlamaGpus);      // 0.303 for 1000 GPU-days
constexpr double kPerNode = 1000 * kOtherInterruptions / (kLlamaDays * kLlamaNodes);  // 1.365 for 1000 node-days
// Of the 419, software (54 bugs, 2 dependencies, 7 NCCL timeouts) leaves the node where it is.
constexpr double kReplacedShare = (419.0 - 63) / 419;

// Meta's A100 clusters: 6.5 and 2.34 failures for 1000 node-days (8 GPUs) on 16,384 and 8,192 GPUs (reliability
// meta-rsc-clusters); their mean by GPUs, with Llama 3's split between GPUs and the rest of a node.
constexpr double kRscPerNode = (6.5 * 16384 + 2.34 * 8192) / (16384 + 8192);
constexpr double kOfLlama = kRscPerNode / (8 * kPerGpu + kPerNode);
/// First year of the parts that Llama 3's figures stand for (H100); older ones go by the A100's.
constexpr int kHopperYear = 2022;

/// Middle of a band of interruptions in a month, "5-10" (%); above 20 counts as 25 (the band has no upper end).
double band_middle(const std::string& band) {
  double low = 0, high = 0;
  if (band.starts_with("<")) {
    std::from_chars(band.data() + 1, band.data() + band.size(), high);
    return high / 2;
  }
  if (band.starts_with(">")) return 25;
  const auto [end, error] = std::from_chars(band.data(), band.data() + band.size(), low);
  if (error != std::errc{} || end == band.data() + band.size()) return low;
  std::from_chars(end + 1, band.data() + band.size(), high);
  return (low + high) / 2;
}

/// Where nothing is published on an instance: the middle band of the provider's five, 10–15 % (reliability spot-bands).
constexpr double kSpotBand = 12.5;
constexpr const char* kBand = "band_percent_per_month";
/// What is published on the node as a spot instance; null where nothing is.
const ReliabilityRecord* spot_record(const Node& node, const Catalog& catalog) {
  if (node.provider.empty() || node.instance.empty()) return nullptr;
  for (const std::string& id : catalog.ids("reliability")) {
    const auto* record = catalog.find<ReliabilityRecord>(id);
    if (record->provider == node.provider && record->instance == node.instance && record->labels.contains(kBand))
      return record;
  }
  return nullptr;
}

void set_spot(FailureRates& rates, const Scenario& scenario, const Catalog& catalog) {
  const ReliabilitySpec& spec = scenario.spec.run.reliability;
  if (!spec.spot.value_or(scenario.spec.cluster.cost.basis == PriceBasis::spot)) return;
  if (spec.spot_interruptions_per_1000_node_days) {
    rates.spot = *spec.spot_interruptions_per_1000_node_days * kPer1000Days;
    rates.basis += "; spot interruptions as stated";
    return;
  }
  const ReliabilityRecord* record = spot_record(*scenario.node, catalog);
  const double band = record != nullptr ? band_middle(record->labels.at(kBand)) : kSpotBand;
  rates.spot = band / 100 / kMonth;
  rates.basis += record ? fmt::format("; spot: {:.3g} % of instances a month ({})", band, record->id)
                        : fmt::format("; spot: {:.3g} % of instances a month, the middle of AWS's bands", band);
}

/// By the kind of device, for 1000 node-days.
double usual_rate(const Scenario& scenario, std::string& basis) {
  const int devices = scenario.update == UpdateMode::federated ? 0 : scenario.node->accelerator_count;
  if (devices == 0) {
    basis = "interrupted as Llama 3's servers were, but for their GPUs";
    return kPerNode;
  }
  // A rack of trays (nvl72's compute_trays) is as many servers.
  const auto trays = scenario.node->figures.find("compute_trays");
  const double servers = trays != scenario.node->figures.end() ? trays->second : 1;
  const bool newer = scenario.accelerator->year >= kHopperYear;
  basis = newer ? "interrupted as Llama 3 was: 419 times in 54 days on 16,384 H100"
                : "interrupted as Meta's A100 clusters are: 5.1 times in 1,000 server-days";
  return (newer ? 1 : kOfLlama) * (devices * kPerGpu + servers * kPerNode);
}

double interruptions(const Scenario& scenario, const Catalog& catalog, std::string& basis) {
  const ReliabilitySpec& spec = scenario.spec.run.reliability;
  if (spec.interruptions_per_1000_node_days) {
    basis = "as stated";
    return *spec.interruptions_per_1000_node_days;
  }
  if (!spec.published.empty())
    if (const auto* record = catalog.find<ReliabilityRecord>(spec.published))
      if (const auto rate = record->interruptions_per_1000_node_days) {
        basis = "published: " + record->id;
        return *rate;
      }
  return usual_rate(scenario, basis);
}

}  // namespace

namespace {

/// Of a node of the scenario's own kind.
FailureRates rates_of_own_kind(const Scenario& scenario, const Catalog& catalog) {
  const ReliabilitySpec& spec = scenario.spec.run.reliability;
  FailureRates rates;
  rates.interruptions = interruptions(scenario, catalog, rates.basis) * kPer1000Days;
  rates.replaced_share = kReplacedShare;
  const bool federated = scenario.update == UpdateMode::federated;
  if (!federated) set_spot(rates, scenario, catalog);
  rates.slow = spec.slow_nodes_per_1000_node_days * kPer1000Days;
  const int nics = federated ? 1 : std::max(1, scenario.nics_per_node);
  rates.flaps = spec.link_flaps_per_1000_nic_days * kPer1000Days * nics;
  for (PerSecond* rate : {&rates.interruptions, &rates.spot, &rates.slow, &rates.flaps}) *rate *= spec.rate_factor;
  if (spec.rate_factor != 1) rates.basis += fmt::format(", times {:.3g}", spec.rate_factor);
  return rates;
}

/// Of the server, a machine without accelerators: a client that drops out costs its own update, and no round.
FailureRates rates_of_federation(const Scenario& scenario, const Catalog& catalog) {
  FailureRates rates = rates_of_own_kind(scenario, catalog);
  rates.basis = "the server alone: " + rates.basis;
  return rates;
}

}  // namespace

FailureRates failure_rates(const Scenario& scenario, const Catalog& catalog) {
  if (scenario.update == UpdateMode::federated) return rates_of_federation(scenario, catalog);
  const std::vector<HelperKind> helpers = helper_kinds(scenario, catalog);
  std::vector<NodeKind> kinds = node_kinds(scenario);
  FailureRates mean;
  mean.nodes = scenario.spec.cluster.nodes;
  for (const HelperKind& helper : helpers) {
    if (helper.role == HelperRole::actors) continue;
    kinds.push_back({&helper.scenario, helper.scenario.spec.cluster.nodes});
    mean.nodes += kinds.back().nodes;
  }
  for (const NodeKind& kind : kinds) {
    const FailureRates rates = rates_of_own_kind(*kind.scenario, catalog);
    const double share = static_cast<double>(kind.nodes) / mean.nodes;
    for (const auto rate :
         {&FailureRates::interruptions, &FailureRates::spot, &FailureRates::slow, &FailureRates::flaps})
      mean.*rate += rates.*rate * share;
    mean.replaced_share = rates.replaced_share;
    if (mean.basis.find(rates.basis) == std::string::npos)
      mean.basis += (mean.basis.empty() ? "" : "; other nodes ") + rates.basis;
  }
  return mean;
}

}  // namespace stepcast
