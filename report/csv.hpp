#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/prediction.hpp"

namespace stepcast {

/// One field as RFC 4180 wants it: quoted when it must be.
std::string csv_field(std::string_view text);
/// One line of fields, with its newline.
std::string csv_line(const std::vector<std::string>& fields);

/// The columns of csv_row: the names of the JSON report, nested ones joined by dots. The same for every prediction.
std::string csv_header();
/// A prediction as one line. Unknown figures are empty.
std::string csv_row(const Prediction& prediction);

}  // namespace stepcast
