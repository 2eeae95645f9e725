#pragma once

#include <string>

#include "calibration/validation/report/validation_scores.hpp"

namespace stepcast {

/// Tables of the page that validation_html writes, as HTML elements.
std::string html_table_of_sets(const ValidationScores& scores);
std::string html_table_of_accelerators(const SetScore& set);

/// What stands below a set's drawing: its parts, worst rows with the shares of their steps, and what is not covered.
std::string html_details(const SetScore& set);
std::string html_details(const OperatorSetScore& set);
std::string html_details(const CollectiveScore& set);

}  // namespace stepcast
