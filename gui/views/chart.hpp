#pragma once

#include <functional>

#include "gui/view-models/exhibit.hpp"

class QChart;

namespace stepcast {

/// Qt's chart of the data in the colours of the theme. `clicked` is called with series and index of a clicked value.
QChart* new_chart(const ChartData& data, const std::function<void(int series, int index)>& clicked);

}  // namespace stepcast
