#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware-catalog/operator_profile.hpp"

namespace stepcast {

/// A family of accelerators as its constants are carried to another, or to it.
struct OperatorFamily {
  const Accelerator* part = nullptr;         ///< that stands for it
  const OperatorProfile* profile = nullptr;  ///< null: no operator of it was measured
  const ComputeProfile* compute = nullptr;   ///< what steps use; null: none
  double flops_per_cycle = 0;                ///< in 16 bit, of a multiprocessor at the boost clock; 0: not known
};

/// The key of a profile that its constants of a part are measured under ("attention.cudnn.fp8"), or the nearest that
/// contains it; then what the profile says of all.
std::string stated_key(const Provenance& provenance, std::string key);
/// Whether measurements of the family itself made the constants.
bool measured_on_family(const OperatorProfile& profile, const std::string& key);

/// Says in a profile that the constants under a key are not its family's own.
void note_estimate(OperatorProfile& profile, const std::string& key, std::string source);

/// Share of the peak that products sustain in steps, in a table's format; null where the profile is null or has none.
std::optional<double> sustained_in(const ComputeProfile* compute, std::string_view format);

/// The profile of a family with every operator that can be said something about: what it has itself; then what the
/// nearest family has that measured it, by the ratio of what both have; then what steps use. What is not its own says
/// in its provenance whose it is and how it was carried over, with evidence `estimated`
/// (docs/models/operators.md, siblings).
OperatorProfile completed_profile(const OperatorFamily& own, const std::vector<OperatorFamily>& nearest);

}  // namespace stepcast
