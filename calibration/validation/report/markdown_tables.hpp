#pragma once

#include <string>

#include "calibration/validation/report/accuracy_page.hpp"

namespace stepcast {

/// Tables of the page that accuracy_page writes, as Markdown.
std::string markdown_sets(const ValidationScores& scores);
std::string markdown_accelerators(const SetScore& total);
/// How many rows of a set lie in their own 80 % interval, by what it rests on.
std::string markdown_intervals(const std::vector<SetScore>& sets);
/// Sound rows that state a peak, by set and framework.
std::string markdown_memory(const std::vector<SetScore>& sets);
std::string markdown_scaling(const std::vector<SetScore>& sets);
std::string markdown_ranking(const std::vector<SetScore>& sets);
/// Groups of one set, model and accelerator with the largest mean errors.
std::string markdown_worst_groups(const std::vector<SetScore>& sets);
/// Every run that calibration/never-fit.txt names.
std::string markdown_never_fit(const std::vector<SetScore>& sets);
std::string markdown_doubted(const std::vector<SetScore>& sets);
std::string markdown_not_covered(const ValidationScores& scores);
std::string markdown_observations(const std::vector<Observation>& observations);
std::string markdown_operators(const std::vector<OperatorSetScore>& sets);
/// Cross-validated errors of the operator profiles that measurements of their own made.
std::string markdown_operators_left_out(const std::vector<const OperatorProfile*>& profiles);
/// Errors of accelerators and kernels whose own measurements are left out.
std::string markdown_new_accelerators(const std::vector<LeftOutOperators>& left_out);
std::string markdown_collectives(const std::vector<CollectiveScore>& sets);
std::string markdown_collective_accelerators(const std::vector<CollectiveScore>& sets);
std::string markdown_grown(const std::vector<GrownError>& grown);

}  // namespace stepcast
