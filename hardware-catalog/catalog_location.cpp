#include "hardware-catalog/catalog_location.hpp"

#include "fields/data_directory.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

namespace {

void check_version(const std::filesystem::path& file) {
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

std::filesystem::path shipped_catalogue() {
  const std::filesystem::path folder = data_directory("hardware-catalog");
  check_version(folder / "catalogue.json");
  return std::filesystem::weakly_canonical(folder);
}

}  // namespace stepcast
