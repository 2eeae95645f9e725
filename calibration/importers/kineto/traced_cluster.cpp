#include "calibration/importers/kineto/traced_cluster.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "fields/plain_text.hpp"
#include "models/collectives/calibrated.hpp"
#include "report/collective_cluster.hpp"
#include "report/collective_question.hpp"

namespace stepcast {

namespace {

/// Letters and digits that stand together, in lower case: "nvidia", "a100", "sxm4" and "40gb" of "NVIDIA
/// A100-SXM4-40GB".
std::vector<std::string> name_words(const std::string& name) {
  std::vector<std::string> out(1);
  for (const char c : lower_case(name)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out.back() += c;
    else if (!out.back().empty())
      out.emplace_back();
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

/// Words of an id that drivers spell otherwise, or not at all: the board's form and its memory.
bool tells_no_model(const std::string& word) {
  for (const char* form : {"sxm", "pcie", "nvl", "gcd", "half"})
    if (word.starts_with(form)) return true;
  return word.ends_with("gb") && std::isdigit(static_cast<unsigned char>(word.front())) != 0;
}

/// Whether a driver's name holds every word of a catalogue id that tells its model.
bool names_model(const std::vector<std::string>& device, const std::string& id) {
  const std::vector<std::string> model = name_words(id);
  return std::all_of(model.begin(), model.end(), [&](const std::string& word) {
    return tells_no_model(word) || std::find(device.begin(), device.end(), word) != device.end();
  });
}

/// Node of the catalogue with the device that a trace names, with as many of them if there is one; "" if none.
std::string guessed_node(const KinetoTrace& trace, const Catalog& catalog) {
  const std::vector<std::string> device = name_words(trace.device);
  if (device.empty()) return {};
  std::string any;
  for (const std::string& id : catalog.ids("nodes")) {
    const Node* node = catalog.find<Node>(id);
    if (!node->has_accelerators() || !names_model(device, node->accelerator)) continue;
    if (node->accelerator_count == trace.devices) return id;
    if (any.empty()) any = id;
  }
  return any;
}

/// Beyond it no buffer lies in a device.
constexpr double kLargest = 1e13;

GroupShape group_of(int ranks, int per_node) { return {ranks, std::min(ranks, per_node), 1}; }

}  // namespace

std::optional<Bytes> TracedCluster::size_that_takes(Seconds time, CollectiveKind kind, int ranks, int stride) const {
  const GroupShape group = group_of(ranks, std::max(1, devices_per_node / stride));
  const auto takes = [&](double bytes) {
    const CollectiveCost cost = collective_cost(kind, Bytes(bytes), group, interconnect);
    return (machine ? calibrated(cost, kind, Bytes(bytes), group, interconnect, *machine) : cost)
        .alone(interconnect, group);
  };
  double low = 1, high = 1;
  if (takes(low) >= time) return std::nullopt;
  while (takes(high) < time) {
    low = high;
    high *= 2;
    if (high > kLargest) return std::nullopt;
  }
  for (int i = 0; i < 60 && high - low > 1; ++i) {
    const double middle = (low + high) / 2;
    (takes(middle) < time ? low : high) = middle;
  }
  return Bytes(std::round(high));
}

std::optional<TracedCluster> traced_cluster(const KinetoTrace& trace, const std::string& node, int ranks,
                                            Precision precision, const Catalog& catalog) {
  // What ran on a processor ran on no device, whichever the trace names as there.
  const bool guess = node.empty() && !trace.on_processor;
  const std::string id = guess ? guessed_node(trace, catalog) : node;
  if (id.empty()) return std::nullopt;
  CollectiveQuestion question;
  question.cluster = id;
  CollectiveCluster found = find_cluster(question, catalog);
  TracedCluster out;
  out.node = id;
  out.devices_per_node = found.raw ? 1 : std::max(1, found.machine.devices_per_node);
  const int nodes = (ranks + out.devices_per_node - 1) / out.devices_per_node;
  out.interconnect = placed_group(found, {ranks, std::min(ranks, out.devices_per_node), nodes}).interconnect;
  if (found.raw) return out;
  out.machine = found.machine;
  if (!found.machine.accelerator || !found.machine.compute) return out;
  Scenario scenario;  // all that device_of looks at
  scenario.node = found.machine.node;
  scenario.accelerator = found.machine.accelerator;
  scenario.compute = found.machine.compute;
  scenario.precision = precision;
  if (scenario.accelerator->peak(precision) > FlopsPerSecond(0)) out.device = device_of(scenario);
  return out;
}

Precision precision_of(const KinetoTrace& trace) {
  double half = 0, brain = 0, tensor = 0, single = 0;
  for (const TraceEvent& event : trace.events) {
    if (event.kind != TraceEventKind::kernel || event.kernel != KernelKind::gemm) continue;
    const std::string name = lower_case(event.name);
    const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
    if (has("bf16") || has("bfloat"))
      brain += event.length();
    else if (has("s1688") || has("tf32"))
      tensor += event.length();
    else if (has("h16816") || has("fp16") || has("s16816") || has("hgemm") || has("f16f16") || has("half"))
      half += event.length();
    else
      single += event.length();
  }
  const double most = std::max({half, brain, tensor, single});
  if (most <= 0 || most == brain) return Precision::bf16;
  if (most == half) return Precision::fp16;
  return most == tensor ? Precision::tf32 : Precision::fp32;
}

}  // namespace stepcast
