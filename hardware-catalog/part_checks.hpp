#pragma once

#include <string>
#include <vector>

#include "hardware-catalog/part_kinds.hpp"

/// What must hold between the fields of one entry, and which entries it names. The overload for any type says: nothing.
namespace stepcast::part_checks {

/// Every figure has a source and an evidence, its own or the entry's `all`, and none is stated for what is not there.
void check_provenance(const Json& document, Diagnostics& diagnostics);

/// No number is nearer to 0 than its unit allows, but for 0 itself.
void check_least(const Json& document, Diagnostics& diagnostics);

template <class T>
void check(const T& /*part*/, Diagnostics& /*diagnostics*/) {}
void check(const Accelerator& part, Diagnostics& diagnostics);
void check(const Node& part, Diagnostics& diagnostics);
void check(const SwitchPart& part, Diagnostics& diagnostics);
void check(const Psu& part, Diagnostics& diagnostics);
void check(const Cooling& part, Diagnostics& diagnostics);
void check(const ComputeProfile& part, Diagnostics& diagnostics);
void check(const LinkProfile& part, Diagnostics& diagnostics);
void check(const NetworkProfile& part, Diagnostics& diagnostics);
void check(const LibraryProfile& part, Diagnostics& diagnostics);

template <class T>
std::vector<PartReference> references(const T& /*part*/) {
  return {};
}
std::vector<PartReference> references(const Accelerator& part);
std::vector<PartReference> references(const Cpu& part);
std::vector<PartReference> references(const Node& part);
std::vector<PartReference> references(const ReliabilityRecord& part);
std::vector<PartReference> references(const PowerRecord& part);

}  // namespace stepcast::part_checks
