#include "hardware-catalog/part_checks.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>

#include "hardware-catalog/physical_range.hpp"

namespace stepcast::part_checks {

namespace {

constexpr std::array kNotFigures{"id", "sources", "evidence", "note"};
constexpr std::array kCollections{"figures", "labels", "curves"};
/// Numbers of any size: further figures, intervals of fits and what was fitted.
constexpr std::array kFreeNumbers{"figures", "labels", "curves", "intervals", "fit"};

bool among(const auto& names, const std::string& key) {
  return std::find(names.begin(), names.end(), key) != names.end();
}

struct NamedFigure {
  std::string name;
  std::string pointer;
  const Json* value;
};

/// All figures, labels and curves of an entry.
std::vector<NamedFigure> figures_of(const Json& document) {
  std::vector<NamedFigure> out;
  for (const auto& [key, value] : document.items()) {
    if (among(kNotFigures, key)) continue;
    const std::string pointer = child_pointer("", key);
    if (!among(kCollections, key)) {
      out.push_back({key, pointer, &value});
    } else if (value.is_object()) {
      for (const auto& item : value.items())
        out.push_back({item.key(), child_pointer(pointer, item.key()), &item.value()});
    }
  }
  return out;
}

void add_names(const Json& value, const std::string& name, std::set<std::string>& names) {
  names.insert(name);
  if (!value.is_object()) return;
  for (const auto& part : value.items()) add_names(part.value(), name + "." + part.key(), names);
}

/// What a source or an evidence may be stated for.
std::set<std::string> names_in(const std::vector<NamedFigure>& figures) {
  std::set<std::string> names{"all"};
  for (const NamedFigure& figure : figures) add_names(*figure.value, figure.name, names);
  return names;
}

/// A number may be 0 where that says something, and else at least what its unit allows.
void check_least_of(const Json& value, const std::string& key, const std::string& at, Diagnostics& diagnostics) {
  if (value.is_structured()) {
    for (const auto& [name, part] : value.items())
      if (!among(kFreeNumbers, name))
        check_least_of(part, value.is_array() ? key : name, child_pointer(at, name), diagnostics);
    return;
  }
  const double least = physical_range(key).least;
  if (!value.is_number() || value == 0 || std::abs(value.get<double>()) >= least) return;
  const auto told = [&](const Fault& fault) { return fault.pointer == at; };
  if (std::none_of(diagnostics.faults().begin(), diagnostics.faults().end(), told))
    diagnostics.error(at, fmt::format("found {}, expected 0 or at least {:g}", describe(value), least));
}

void check_precisions(const std::string& key, const auto& map, Diagnostics& diagnostics) {
  const auto names = names_of<Precision>();
  for (const auto& item : map)
    if (!parse_enum<Precision>(item.first))
      diagnostics.error(child_pointer(child_pointer("", key), item.first),
                        fmt::format("no precision \"{}\", {}", item.first, expected_one_of(names)),
                        did_you_mean(item.first, names));
}

void check_links(const Node& node, Diagnostics& diagnostics) {
  const NodeInterconnect& connect = node.interconnect;
  if (connect.kind == NodeTopology::hybrid_cube_mesh && connect.links.empty())
    diagnostics.error("/interconnect/links", "missing: a hybrid_cube_mesh is given link by link");
  for (std::size_t i = 0; i < connect.links.size(); ++i) {
    const std::vector<int>& link = connect.links[i];
    const auto is_accelerator = [&](int index) { return index >= 0 && index < node.accelerator_count; };
    if (link.size() != 3 || !is_accelerator(link[0]) || !is_accelerator(link[1]) || link[0] == link[1] || link[2] < 1)
      diagnostics.error(fmt::format("/interconnect/links/{}", i),
                        fmt::format("expected [accelerator, accelerator, links] with accelerators from 0 to {}",
                                    node.accelerator_count - 1));
  }
}

/// A topology of native links without their rate or number would be silent about the node's fastest network.
void check_native_links(const Node& node, Diagnostics& diagnostics) {
  const NodeInterconnect& connect = node.interconnect;
  if (connect.kind == NodeTopology::single || connect.kind == NodeTopology::pcie) return;
  // Link by link an accelerator may have none: it meets the others over PCIe.
  const BytesPerSecond rate = connect.kind == NodeTopology::hybrid_cube_mesh && !connect.links.empty()
                                  ? connect.per_link
                                  : connect.bandwidth_per_accelerator(node.accelerator_count);
  if (rate.value() <= 0)
    diagnostics.error("/interconnect",
                      fmt::format("{} without bandwidth: link_bandwidth_GBps and the number of links are needed",
                                  name_of(connect.kind)));
}

}  // namespace

void check_least(const Json& document, Diagnostics& diagnostics) {
  for (const auto& [key, value] : document.items())
    if (!among(kNotFigures, key) && !among(kFreeNumbers, key))
      check_least_of(value, key, child_pointer("", key), diagnostics);
}

void check_provenance(const Json& document, Diagnostics& diagnostics) {
  std::vector<NamedFigure> figures = figures_of(document);
  std::set<std::string> names = names_in(figures);
  // A key that is none is one fault: what it stands for is stated, and nothing is stated for it.
  for (const Fault& fault : diagnostics.faults()) {
    if (!fault.meant.empty()) names.insert(fault.meant.substr(1));
    std::erase_if(figures, [&](const NamedFigure& figure) { return figure.pointer == fault.pointer; });
  }
  for (const char* which : {"sources", "evidence"}) {
    if (!document.contains(which) || !document[which].is_object()) continue;
    const Json& stated = document[which];
    for (const NamedFigure& figure : figures)
      if (!stated.contains(figure.name) && !stated.contains("all"))
        diagnostics.error(figure.pointer, fmt::format("has no entry in {}", which), "state it by its key, or by `all`");
    for (const auto& item : stated.items())
      if (names.count(item.key()) == 0)
        diagnostics.error(child_pointer(child_pointer("", which), item.key()), "names nothing that this entry has",
                          did_you_mean(item.key(), {names.begin(), names.end()}));
  }
}

void check(const Accelerator& part, Diagnostics& diagnostics) {
  if (part.peak_TFLOPS.empty()) diagnostics.error("/peak_TFLOPS", "needs the peak of one precision at least");
  check_precisions("peak_TFLOPS", part.peak_TFLOPS, diagnostics);
  check_precisions("peak_matrix_TFLOPS", part.peak_matrix_TFLOPS, diagnostics);
  check_precisions("matmul_measured_TFLOPS", part.matmul_measured_TFLOPS, diagnostics);
  check_precisions("achievable_TFLOPS", part.achievable_TFLOPS, diagnostics);
}

void check(const Node& part, Diagnostics& diagnostics) {
  if (part.has_accelerators() == part.accelerator.empty())
    diagnostics.error("/accelerator", part.accelerator.empty()
                                          ? fmt::format("missing, yet accelerator_count is {}", part.accelerator_count)
                                          : "given, yet accelerator_count is 0");
  if (!part.has_accelerators() && (part.cpu_count < 1 || part.cpu.empty()))
    diagnostics.error("/cpu", "a node without accelerators needs cpu and cpu_count: its processors train");
  if (!part.price_like.empty() && (part.price || !part.has_accelerators()))
    diagnostics.error("/price_like", part.price ? "given beside price, which goes before it"
                                                : "compares prices per accelerator, and this node has none");
  check_links(part, diagnostics);
  check_native_links(part, diagnostics);
}

namespace {

/// Intervals are of the profile's own constants.
template <class Profile>
void check_intervals(const Profile& part, Diagnostics& diagnostics) {
  const std::vector<std::string> keys = Profile::fields().keys();
  for (const auto& item : part.intervals)
    if (!among(keys, item.first))
      diagnostics.error(child_pointer("/intervals", item.first), "names no constant that this entry has",
                        did_you_mean(item.first, keys));
}

void check_curves(const std::optional<Calibrated>& calibration, Diagnostics& diagnostics) {
  if (!calibration) return;
  for (std::size_t i = 0; i < calibration->curves.size(); ++i) {
    const MeasuredCurve& curve = calibration->curves[i];
    const std::string at = fmt::format("/calibration/curves/{}", i);
    if (curve.size_bytes.empty() || curve.size_bytes.size() != curve.time_us.size())
      diagnostics.error(at, fmt::format("has {} sizes and {} times, expected as many of each and one at least",
                                        curve.size_bytes.size(), curve.time_us.size()));
    if (std::adjacent_find(curve.size_bytes.begin(), curve.size_bytes.end(), std::greater_equal<>()) !=
        curve.size_bytes.end())
      diagnostics.error(at + "/size_bytes", "sizes must ascend");
  }
}

}  // namespace

void check(const LinkProfile& part, Diagnostics& diagnostics) {
  check_curves(part.calibration, diagnostics);
  check_intervals(part, diagnostics);
}
void check(const NetworkProfile& part, Diagnostics& diagnostics) {
  check_curves(part.calibration, diagnostics);
  check_intervals(part, diagnostics);
}
void check(const LibraryProfile& part, Diagnostics& diagnostics) { check_intervals(part, diagnostics); }

void check(const SwitchPart& part, Diagnostics& diagnostics) {
  if (!part.usual_for.empty() && !part.port_bandwidth)
    diagnostics.error("/usual_for",
                      "given without port_bandwidth_Gbps, which says of what NICs it is the usual switch");
}

void check(const Psu& part, Diagnostics& diagnostics) {
  if (part.efficiency_percent_by_load_percent.empty())
    diagnostics.error("/efficiency_percent_by_load_percent", "needs one point at least");
  for (const auto& item : part.efficiency_percent_by_load_percent) {
    const std::string& text = item.first;
    double load = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), load);
    if (error != std::errc{} || end != text.data() + text.size() || !(load >= 0 && load <= 100))
      diagnostics.error(child_pointer("/efficiency_percent_by_load_percent", text),
                        "expected a load in per cent of the rating, from 0 to 100");
  }
}

void check(const Cooling& part, Diagnostics& diagnostics) {
  if (part.pue_low && part.pue_high && *part.pue_low > *part.pue_high)
    diagnostics.error("/pue_low", fmt::format("found {}, more than pue_high {}", *part.pue_low, *part.pue_high));
}

void check(const ComputeProfile& part, Diagnostics& diagnostics) {
  if (part.gemm_sustained_share.empty())
    diagnostics.error("/gemm_sustained_share", "needs the share of one precision at least");
  check_precisions("gemm_sustained_share", part.gemm_sustained_share, diagnostics);
}

namespace {

/// Leaves out what names nothing.
std::vector<PartReference> given(std::vector<PartReference> references) {
  references.erase(
      std::remove_if(references.begin(), references.end(), [](const PartReference& r) { return r.id.empty(); }),
      references.end());
  return references;
}

template <class Record>
std::vector<PartReference> record_references(const Record& part) {
  return given({{"/accelerator", "accelerators", part.accelerator}, {"/node", "nodes", part.node}});
}

}  // namespace

std::vector<PartReference> references(const Accelerator& part) {
  return given({{"/family", "compute-profiles", part.family}});
}

std::vector<PartReference> references(const Cpu& part) { return given({{"/family", "compute-profiles", part.family}}); }

std::vector<PartReference> references(const Node& part) {
  return given({{"/accelerator", "accelerators", part.accelerator},
                {"/cpu", "cpus", part.cpu},
                {"/local_storage/device", "storage", part.local_storage ? part.local_storage->device : ""},
                {"/psus/efficiency", "psus", part.psus ? part.psus->efficiency : ""},
                {"/cooling", "cooling", part.cooling},
                {"/price_like", "nodes", part.price_like}});
}

std::vector<PartReference> references(const ReliabilityRecord& part) { return record_references(part); }
std::vector<PartReference> references(const PowerRecord& part) { return record_references(part); }

}  // namespace stepcast::part_checks
