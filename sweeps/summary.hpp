#pragma once

#include <cstdint>
#include <string>

#include "sweeps/result_store.hpp"

namespace stepcast {

/// Which configurations a summary lists.
struct Ranking {
  std::string column = "samples_per_s";
  bool largest = true;
  std::int64_t most = 5;
};

/// Counts, and the best configurations that fit memory. Throws as ResultStore does.
std::string summary_text(const ResultStore& store, const Ranking& ranking);
Json summary_json(const ResultStore& store, const Ranking& ranking);

}  // namespace stepcast
