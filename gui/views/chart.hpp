#pragma once

#include <functional>
#include <vector>

#include "gui/view-models/exhibit.hpp"

class QChart;

namespace stepcast {

/// Qt's chart of the data in the colours of the theme. `clicked` is called with series and index of a clicked value.
QChart* new_chart(const ChartData& data, const std::function<void(int series, int index)>& clicked);

/// What a logarithmic axis names between two positive ends: 1, 2 and 5 times powers of ten, fewer of them where they
/// would be too many to read, and steps in between where the ends are near each other.
std::vector<double> logarithmic_marks(double from, double to);

}  // namespace stepcast
