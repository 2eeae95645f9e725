#pragma once

#include <string>

#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// FNV-1a (64 bit, hex) over kind, id and bytes of every entry of a catalogue, in order of kind and id. Entries that
/// another of the same id replaces do not count.
std::string hash_of_catalog(const Catalog& catalog);

/// The same over the constants that were fitted to measured runs: framework profiles and prediction errors, as shipped.
std::string hash_of_calibration();

/// The same of one text.
std::string hash_of_text(std::string_view text);

}  // namespace stepcast
