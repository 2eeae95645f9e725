#include "sim/protocol/own_program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace stepcast {

std::filesystem::path own_program(std::string_view name, const char* variable, std::string_view what) {
  namespace fs = std::filesystem;
  std::vector<fs::path> places;
  if (const char* chosen = std::getenv(variable); chosen != nullptr && *chosen != '\0') {
    places.emplace_back(chosen);
  } else {
    std::error_code error;
    const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
    places = {folder / name, folder.parent_path() / "bin" / name};
  }
  for (const fs::path& place : places)
    if (::access(place.c_str(), X_OK) == 0) return place;
  throw EnvironmentError(
      fmt::format("{} {} is not at {}; set {} to where it is", what, name, places.front().string(), variable));
}

}  // namespace stepcast
