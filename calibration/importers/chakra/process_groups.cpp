#include "calibration/importers/chakra/process_groups.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/importers/chakra/translate_node.hpp"
#include "fields/json_text.hpp"
#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

namespace {

constexpr std::string_view kInit = "process_group:init";

bool is_rank(const Json& value) {
  return value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() < kMostRanks;
}

bool is_rank_list(const Json& value) { return value.is_array() && std::all_of(value.begin(), value.end(), is_rank); }

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// The list of objects inside a text that quotes it once or not at all.
Json list_inside(const std::string& text) {
  const auto from = text.find("[{"), to = text.rfind("}]");
  if (from == std::string::npos || to == std::string::npos || to < from) return nullptr;
  std::string inside = text.substr(from, to + 2 - from);
  Json list = Json::parse(inside, nullptr, false);
  if (!list.is_discarded()) return list;
  std::erase(inside, '\\');
  list = Json::parse(inside, nullptr, false);
  return list.is_discarded() ? Json(nullptr) : list;
}

}  // namespace

ProcessGroups read_process_groups(const std::filesystem::path& file) {
  Diagnostics diagnostics(file.string());
  const Json document = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  ProcessGroups out;
  if (!document.is_object())
    diagnostics.error("", fmt::format("found {}, expected an object of names with lists of ranks", describe(document)));
  else
    for (const auto& [name, ranks] : document.items())
      if (is_rank_list(ranks) && !ranks.empty())
        out[printable(name)] = ranks.get<std::vector<int>>();
      else
        diagnostics.error(child_pointer("", name), fmt::format("found {}, expected a list of ranks of 0 to {}",
                                                               describe(ranks), kMostRanks - 1));
  diagnostics.throw_if_faulty();
  return out;
}

void add_process_groups(ProcessGroups& groups, const ChakraNode& node) {
  if (node.name.find(kInit) == std::string::npos) return;
  const Json list = list_inside(node.inputs);
  if (!list.is_array()) return;
  for (const Json& entry : list) {
    if (!entry.is_object() || !entry.contains("pg_name") || !entry.contains("ranks")) continue;
    if (is_rank_list(entry["ranks"]))
      groups.emplace(printable(text_of(entry["pg_name"])), entry["ranks"].get<std::vector<int>>());
  }
}

}  // namespace stepcast
