#pragma once

#include <string>

#include "report/prediction.hpp"

namespace stepcast {

/// The report for people: at most 100 columns, most important first, ends with a newline.
std::string text_report(const Prediction& prediction);

}  // namespace stepcast
