#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "calibration/profile/calibration_profile.hpp"
#include "hardware-catalog/part_kinds.hpp"

namespace stepcast {

/// Puts a catalogue entry with fitted figures into a calibration, which states `keys` as what it has measured. Keys
/// that stand at their defaults without a source of their own are left out: a default is no figure.
template <class Entry>
void put_entry(CalibrationProfile& profile, Entry entry, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    entry.provenance.sources[key] = fmt::format("calibration {} of {}", profile.name, profile.created);
    entry.provenance.evidence[key] = Evidence::measured;
  }
  const Entry fresh{};
  Json document = Entry::fields().write(entry);
  for (const auto& field : Entry::fields().entries()) {
    const bool stated = field.rules.required || entry.provenance.sources.contains(field.key);
    if (!stated && field.write(entry) == field.write(fresh)) document.erase(field.key);
  }
  profile.catalogue[std::string(kFolderOf<Entry>)][entry.id] = std::move(document);
}

}  // namespace stepcast
