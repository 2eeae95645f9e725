#pragma once

#include <string>
#include <vector>

#include "calibration/validation/report/validation_scores.hpp"
#include "cli/session.hpp"

namespace stepcast {

/// What `stepcast validate` is asked to score.
struct ValidationRequest {
  std::vector<std::string> sets;  ///< shipped sets; empty: every one
  std::string file;               ///< instead of sets; empty: none
  std::string fidelity;           ///< name of Fidelity
  int jobs = 0;                   ///< at a time; 0: one a processor
};

/// Reads, predicts and scores. Throws InputError for a set that there is none of and for a file that cannot be read.
ValidationScores validate(const ValidationRequest& request, Session& session);

}  // namespace stepcast
