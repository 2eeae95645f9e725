#pragma once

#include "gui/view-models/exhibit.hpp"
#include "report/prediction.hpp"

namespace stepcast {

class ConfigurationModel;
struct TimelineData;

/// Power of the cluster at the meter over the step, with the step's energy and carbon.
Exhibit power_exhibit(const ConfigurationModel& configuration, const Prediction& prediction,
                      const TimelineData& timeline);

/// Mean and highest rate of every link that the simulation knows.
Exhibit links_exhibit(const TimelineData& timeline);

}  // namespace stepcast
