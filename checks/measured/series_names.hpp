#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "checks/measured/measured_results.hpp"

namespace stepcast {

/// What a series is, in our words: which metric, and what turns its unit into ours.
struct SeriesMeaning {
  std::string_view metric;
  double factor = 1;
  bool inverse = false;  ///< steps a second
};

/// A name under which a framework writes what we predict.
struct KnownName {
  std::string_view series;
  SeriesMeaning meaning;
};
/// In the order in which they count where several are there.
std::span<const KnownName> known_names();

/// What people call a step's time or a rate: "Iteration time (ms)", "images_per_sec", "tokens/s/gpu". Nothing where a
/// name may mean another thing.
std::optional<SeriesMeaning> meaning_of(std::string_view name);

/// Megatron-LM's series of this name are TFLOP/s of a GPU; elsewhere it may be samples or tokens.
inline constexpr std::string_view kThroughput = "throughput";
/// Whether the series are what Megatron-LM writes (training.py: training_log).
bool is_of_megatron(const NamedSeries& series);

}  // namespace stepcast
