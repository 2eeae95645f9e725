#include <algorithm>

#include "hardware-catalog/communication_profiles.hpp"
#include "hardware-catalog/part_kinds.hpp"
#include "models/scenario/draft.hpp"
#include "models/scenario/framework_constants.hpp"

namespace stepcast {

namespace {

namespace fs = std::filesystem;

/// Names of the files beside one that does not exist.
std::vector<std::string> files_beside(const fs::path& file) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator entry(file.parent_path().empty() ? "." : file.parent_path(), error), end;
       !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".json") out.push_back(entry->path().filename().string());
  return out;
}

std::string anchored(const std::string& name, const fs::path& scenario) {
  const fs::path file = name;
  if (name.empty() || !file.is_relative()) return name;
  return fs::absolute(scenario.parent_path() / file).lexically_normal().string();
}

/// Kinds and ids of the catalogue entries that the scenario takes and that calibrations hold.
std::vector<std::pair<std::string_view, std::string>> entries_of(const Scenario& s) {
  std::vector<std::pair<std::string_view, std::string>> out;
  const auto add = [&out](const auto* part) {
    if (part != nullptr) out.emplace_back(kFolderOf<std::remove_cvref_t<decltype(*part)>>, part->id);
  };
  add(s.node);
  add(s.accelerator);
  add(s.cpu);
  add(s.compute);
  add(s.operators);
  add(s.storage);
  add(s.local_drive);
  add(s.link_profile);
  add(s.host_link_profile);
  if (s.spec.cluster.nodes > 1) add(s.network_profile);
  add(s.library_profile);
  if (s.framework != nullptr) out.emplace_back(kFrameworkConstants, s.framework->id);
  return out;
}

std::string joined(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out;
  for (const auto& [kind, id] : entries) out += fmt::format("{}{}/{}", out.empty() ? "" : ", ", kind, id);
  return out;
}

/// What a calibration gives the scenario, or that it gives nothing.
void remark_use(Draft& draft, const CalibrationFacts& facts) {
  const auto taken = entries_of(draft.scenario);
  std::vector<std::pair<std::string, std::string>> used;
  for (const auto& [kind, id] : facts.entries)
    if (std::find(taken.begin(), taken.end(), std::pair(std::string_view(kind), id)) != taken.end() &&
        draft.catalog.file_of(kind, id) == facts.file)
      used.emplace_back(kind, id);
  if (used.empty())
    draft.assume(fmt::format("calibration {} of {} changes nothing here: this scenario takes none of {}", facts.name,
                             facts.created, joined(facts.entries)));
  else
    draft.assume(fmt::format("calibration {} of {} gives {}", facts.name, facts.created, joined(used)));
}

}  // namespace

void anchor_calibrations(Json& document, const fs::path& scenario) {
  const Json::json_pointer named("/cluster/calibrations");
  if (!document.is_object() || !document.contains(named) || !document[named].is_array()) return;
  for (Json& name : document[named])
    if (name.is_string()) name = anchored(name.get<std::string>(), scenario);
}

const Catalog& behind_calibrations(ClusterSpec& cluster, const Catalog& catalog, Diagnostics& diagnostics) {
  if (cluster.calibrations.empty()) return catalog;
  for (std::string& name : cluster.calibrations) name = anchored(name, diagnostics.file());
  std::vector<fs::path> files;
  bool found = true;
  for (std::size_t i = 0; i < cluster.calibrations.size(); ++i) {
    files.emplace_back(cluster.calibrations[i]);
    std::error_code error;
    if (fs::is_regular_file(files.back(), error)) continue;
    found = false;
    diagnostics.error(fmt::format("/cluster/calibrations/{}", i), fmt::format("no file \"{}\"", files.back().string()),
                      did_you_mean(files.back().filename().string(), files_beside(files.back())));
  }
  if (!found) return catalog;
  try {
    return catalog.behind(files);
  } catch (const InputError& error) {
    diagnostics.add(error.faults());
    return catalog;
  }
}

void remark_calibrations(Draft& draft) {
  const Scenario& s = draft.scenario;
  for (const CalibrationFacts& facts : draft.catalog.calibrations()) {
    remark_use(draft, facts);
    for (const auto& [software, version] : s.spec.cluster.software)
      if (const auto measured = facts.versions.find(software);
          measured != facts.versions.end() && measured->second != version)
        draft.assume(fmt::format("calibration {} was measured with {} {}, this cluster has {}", facts.name, software,
                                 measured->second, version));
    const bool other = s.node != nullptr && !facts.node.empty() && facts.node != s.node->id;
    if (!other || draft.catalog.file_of("nodes", facts.node).empty()) continue;
    draft.assume(
        fmt::format("calibration {} was measured on {}, this cluster has {}", facts.name, facts.node, s.node->id));
  }
}

}  // namespace stepcast
