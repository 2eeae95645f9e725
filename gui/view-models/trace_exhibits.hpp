#pragma once

#include "gui/view-models/exhibit.hpp"
#include "report/prediction.hpp"

namespace stepcast {

class ConfigurationModel;
struct TimelineData;

/// Power of the cluster at the meter, with the energy and carbon of the step and of the run; over the step where there
/// is a timeline, and else `why_not`.
Exhibit power_exhibit(const ConfigurationModel& configuration, const Prediction& prediction,
                      const TimelineData* timeline, const QString& why_not = {});

/// Mean and highest rate of every link that the simulation knows.
Exhibit links_exhibit(const TimelineData& timeline);

}  // namespace stepcast
