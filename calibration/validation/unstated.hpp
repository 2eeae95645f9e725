#pragma once

#include <string_view>

#include "calibration/validation/measured_run.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// What runs of one framework generation do where their source does not say.
struct FrameworkDefaults {
  std::string_view name;           ///< as the data name it
  std::string_view profile;        ///< models/frameworks/profiles
  std::string_view precision;      ///< workload.precision
  std::string_view recompute;      ///< strategy.recompute
  int vocab = 0;                   ///< 0: rows state it
  int seq_len = 0;                 ///< 0: rows state it
  bool sequence_parallel = false;  ///< with tensor parallelism
};

/// The one table of what rows leave out; null for a name that it does not have.
const FrameworkDefaults* find_defaults(std::string_view framework);
/// The same; throws std::logic_error for a name that it does not have.
const FrameworkDefaults& defaults_of(std::string_view framework);

/// Gives a run whose source names no micro-batch the one that the closed form finds fastest among the powers of two
/// that divide a replica's share and fit memory: published runs were tuned (Narayanan et al. 2021, section 3.3, choose
/// theirs so). A run of which nothing fits keeps 1, and so does one whose
/// scenario is refused anyway: whoever predicts it says why.
void settle_micro_batch(MeasuredRun& run, const Catalog& catalog);

}  // namespace stepcast
