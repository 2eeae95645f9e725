#include "hardware-catalog/part_of_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "hardware-catalog/parts.hpp"

namespace stepcast {

namespace {

/// The number at the end of a text, which is cut off; 0 where there is none.
int take_number(std::string_view& text) {
  const auto digits = text.find_last_not_of("0123456789") + 1;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data() + digits, text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return 0;
  text.remove_suffix(text.size() - digits);
  return number;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

std::string_view topology_of(const Json& node) {
  const auto links = node.find("interconnect");
  if (links == node.end() || !links->is_object() || !links->contains("kind") || !(*links)["kind"].is_string())
    return {};
  return (*links)["kind"].get_ref<const std::string&>();
}

/// Accelerators of a tray of a rack; 0 where it does not say.
int in_tray(const Json& rack, int accelerators) {
  const Json trays = rack.value(Json::json_pointer("/figures/compute_trays"), Json());
  const int count = trays.is_number_integer() ? trays.get<int>() : 0;
  return count > 0 ? accelerators / count : 0;
}

/// Links between accelerators that are used.
void keep_links(Json& interconnect, int used) {
  if (used == 1) {
    interconnect = {{"kind", name_of(NodeTopology::single)}};
    return;
  }
  if (interconnect["kind"] == name_of(NodeTopology::mesh) && used == 2)
    interconnect["kind"] = name_of(NodeTopology::pair);
  if (!interconnect.contains("links") || !interconnect["links"].is_array()) return;
  Json kept = Json::array();
  for (const Json& link : interconnect["links"])
    if (link.is_array() && link.size() == 3 && link[0] < used && link[1] < used) kept.push_back(link);
  interconnect["links"] = std::move(kept);
}

void share_nics(Json& node, const NodePartName& name) {
  if (!node.contains("nics") || !node["nics"].is_array()) return;
  for (Json& nic : node["nics"])
    if (nic.is_object() && nic.value("training", true) && nic.contains("count") && nic["count"].is_number_integer())
      nic["count"] = std::max(1L, nic["count"].get<long>() * name.used / name.all);
}

void share_trays(Json& rack, const NodePartName& name) {
  const double share = static_cast<double>(name.used) / name.all;
  for (const char* key : {"memory_GB", "memory_bandwidth_GBps"})
    if (rack.contains(key) && rack[key].is_number()) rack[key] = rack[key].get<double>() * share;
  if (rack.contains("cpu_count") && rack["cpu_count"].is_number_integer())
    rack["cpu_count"] = rack["cpu_count"].get<long>() * name.used / name.all;
  rack["figures"] = {{"compute_trays", name.used / in_tray(rack, name.all)}};
}

}  // namespace

std::optional<NodePartName> node_part_name(std::string_view id) {
  NodePartName out;
  out.all = take_number(id);
  if (out.all == 0 || !take_suffix(id, "-of-")) return std::nullopt;
  out.used = take_number(id);
  if (out.used == 0 || out.used >= out.all || !take_suffix(id, "-") || id.empty()) return std::nullopt;
  out.node = id;
  return out;
}

std::optional<Json> part_of_node(Json whole, const NodePartName& name) {
  if (!whole.is_object() || whole.value("accelerator_count", Json()) != name.all) return std::nullopt;
  const std::string_view kind = topology_of(whole);
  if (kind.empty() || kind.starts_with("torus")) return std::nullopt;
  const bool rack = kind == name_of(NodeTopology::nvswitch_rack);
  const int tray = rack ? in_tray(whole, name.all) : 1;
  if (tray == 0 || name.used % tray != 0) return std::nullopt;
  if (rack)
    share_trays(whole, name);
  else
    whole.erase("figures");
  share_nics(whole, name);
  keep_links(whole["interconnect"], name.used);
  if (whole.contains("price")) whole["price_like"] = name.node;
  for (const char* key : {"price", "max_power_W", "typical_power_W", "psus", "rack_units", "curves"}) whole.erase(key);
  whole["id"] = fmt::format("{}-{}-of-{}", name.node, name.used, name.all);
  whole["accelerator_count"] = name.used;
  whole["sources"] = {{"all", fmt::format("as {}, with the accelerators that a job uses", name.node)}};
  whole["evidence"] = {{"all", "recalled"}};
  whole["note"] = fmt::format("A job on {} of the {} accelerators of {}.", name.used, name.all, name.node);
  return whole;
}

}  // namespace stepcast
