#pragma once

#include <string_view>
#include <vector>

#include "hardware-catalog/operator_profile.hpp"

namespace stepcast {

/// A family and the one whose constants stand in where its own were not measured.
struct SiblingFamily {
  std::string_view family;
  std::string_view sibling;  ///< empty: none comes close
  /// Whose attention kernels in 8 bit stand in, and those in 16 bit that they are compared with, where the sibling has
  /// none: the same multiprocessors on another board. Empty: the sibling's.
  std::string_view narrow_attention = {};
  /// Whose convolutions stand in for formats without constants, and after it whose stand in for that one's: the nearest
  /// generations that cuDNN's kernels were timed on. Empty: nobody's.
  std::string_view convolution = {};
};

/// Families in an order in which each comes after its sibling. The rules: the same generation of multiprocessors first,
/// then the generation before; never across makers.
const std::vector<SiblingFamily>& sibling_families();
/// Of a name that the list has.
const SiblingFamily& sibling_family(std::string_view family);

/// Takes over what `profile` does not have. Shares carry over as they are (they are relative to peaks, bandwidths and
/// power limits); the rate at the power limit follows the energy of a FLOP, which is the generation's:
/// share × peak ÷ limit stays.
void take_missing(OperatorProfile& profile, const OperatorProfile& sibling, const Accelerator& own,
                  const Accelerator& siblings);

/// Takes over the other family's attention kernels that exist in 8 bit, in every format, where `profile` has none of
/// the name; says so in its provenance.
void take_narrow_attention(OperatorProfile& profile, const OperatorProfile& other);

/// Takes over the other family's fitted convolutions of formats where `profile` has none; says so in its provenance.
void take_convolutions(OperatorProfile& profile, const OperatorProfile& other);

}  // namespace stepcast
