#include "fields/data_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

#include "fields/diagnostics.hpp"

namespace stepcast {

namespace {

std::filesystem::path share_beside_executable() {
  std::error_code error;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path{} : executable.parent_path().parent_path() / "share" / "stepcast";
}

/// Whether a folder is there, which is asked once a process of those that are.
bool was_seen(const std::filesystem::path& folder) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  const std::lock_guard lock(mutex);
  if (seen.contains(folder.native())) return true;
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return false;
  seen.insert(folder.native());
  return true;
}

}  // namespace

std::filesystem::path data_directory(std::string_view relative) {
  // A set variable is the only place then: a typing error in it must not fall back to other data silently.
  const char* chosen = std::getenv("STEPCAST_SHARE");
  const bool given = chosen != nullptr && *chosen != '\0';
  static const std::filesystem::path kBeside = share_beside_executable();
  std::filesystem::path folder = (given ? std::filesystem::path(chosen) : kBeside) / relative;
  if (was_seen(folder)) return folder;
  throw InputError({{folder.string(), "", fmt::format("Stepcast's data folder {} is not there", relative),
                     given ? "STEPCAST_SHARE must name a folder laid out as share/stepcast"
                           : "set STEPCAST_SHARE to a folder laid out as share/stepcast"}});
}

std::vector<std::string> data_ids(std::string_view relative) {
  static std::mutex mutex;
  static std::map<std::filesystem::path, std::vector<std::string>> known;
  const std::filesystem::path folder = data_directory(relative);
  const std::lock_guard lock(mutex);
  const auto [found, fresh] = known.try_emplace(folder);
  std::vector<std::string>& ids = found->second;
  if (!fresh) return ids;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") ids.push_back(entry.path().stem().string());
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace stepcast
