#include "hardware-catalog/catalog_location.hpp"

#include <cstdlib>
#include <vector>

#include "hardware-catalog/catalog.hpp"

namespace stepcast {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "hardware-catalog";

std::vector<fs::path> candidates() {
  std::vector<fs::path> out;
  if (const char* share = std::getenv("STEPCAST_SHARE"); share && *share) return {fs::path(share) / kFolder};
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) out.push_back(program.parent_path() / "../share/stepcast" / kFolder);
#ifdef STEPCAST_SOURCE_CATALOG
  out.emplace_back(STEPCAST_SOURCE_CATALOG);
#endif
  return out;
}

void check_version(const fs::path& directory) {
  const fs::path file = directory / "catalogue.json";
  Diagnostics diagnostics(file.string());
  const Json document = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  const Json version = document.is_object() ? document.value("catalogue_version", Json{}) : Json{};
  if (version != kCatalogueVersion)
    diagnostics.error("/catalogue_version", fmt::format("found {}, expected {}", describe(version), kCatalogueVersion),
                      "program and catalogue are of different versions");
  diagnostics.throw_if_faulty();
}

}  // namespace

fs::path shipped_catalogue() {
  const std::vector<fs::path> places = candidates();
  std::string tried;
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::is_regular_file(place / "catalogue.json", error)) {
      check_version(place);
      return fs::weakly_canonical(place);
    }
    tried += (tried.empty() ? "" : ", ") + place.lexically_normal().string();
  }
  throw InputError({{"", "", fmt::format("the hardware catalogue was not found; tried {}", tried),
                     "set STEPCAST_SHARE to the folder that has hardware-catalog/"}});
}

}  // namespace stepcast
