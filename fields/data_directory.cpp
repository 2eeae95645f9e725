#include "fields/data_directory.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "fields/diagnostics.hpp"

namespace stepcast {

namespace {

std::filesystem::path share_beside_executable() {
  std::error_code error;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path{} : executable.parent_path().parent_path() / "share" / "stepcast";
}

}  // namespace

std::filesystem::path data_directory(std::string_view relative) {
  // A set variable is the only place then: a typing error in it must not fall back to other data silently.
  const char* chosen = std::getenv("STEPCAST_SHARE");
  const bool given = chosen != nullptr && *chosen != '\0';
  const std::filesystem::path root = given ? std::filesystem::path(chosen) : share_beside_executable();
  std::filesystem::path folder = root / relative;
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return folder;
  throw InputError({{folder.string(), "", fmt::format("Stepcast's data folder {} is not there", relative),
                     given ? "STEPCAST_SHARE must name a folder laid out as share/stepcast"
                           : "set STEPCAST_SHARE to a folder laid out as share/stepcast"}});
}

}  // namespace stepcast
