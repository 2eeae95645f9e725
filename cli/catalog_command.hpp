#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.hpp"
#include "hardware-catalog/catalog.hpp"

namespace CLI {
class App;
}

namespace stepcast {

/// `stepcast catalog list | show | validate | schema`: the hardware catalogue.
void add_catalog(CLI::App& app, Session& session);

/// The kinds with their numbers of entries; or, of one kind, a table of the figures that matter. As JSON: the ids by
/// kind, or the whole entries of one kind. Throws InputError for an unknown kind.
std::string catalog_list(const Catalog& catalog, const std::optional<std::string>& kind, bool json);

/// One entry: each figure with unit, evidence and source; or its JSON. Without a kind the first that has the id, and
/// the card names the others. Throws InputError for an unknown id, with the nearest of all kinds.
std::string catalog_show(const Catalog& catalog, const std::string& id, const std::optional<std::string>& kind,
                         bool json);

/// What a check of catalogue files found, as text or JSON.
struct CatalogCheck {
  std::string text;
  bool ok = true;
};

/// Checks files, and of directories the entries below them, each against the kind that its folder names; without any
/// the whole catalogue and its references.
CatalogCheck catalog_validate(const Catalog& catalog, const std::vector<std::filesystem::path>& named, bool json);

}  // namespace stepcast
