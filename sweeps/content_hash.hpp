#pragma once

#include <string>

#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// FNV-1a (64 bit, hex) over kind, id and bytes of every entry of a catalogue, in order of kind and id. Entries that
/// another of the same id replaces do not count. Calibrations that stand before the catalogue are part of it, by the
/// files of the entries and framework constants that they hold.
std::string hash_of_catalog(const Catalog& catalog);

/// The same over the data files of the models, as shipped: framework profiles, how far predictions were off, and model
/// presets.
std::string hash_of_models();

/// The same of one text.
std::string hash_of_text(std::string_view text);

}  // namespace stepcast
