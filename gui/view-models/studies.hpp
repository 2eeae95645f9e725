#pragma once

#include "gui/view-models/exhibit.hpp"
#include "report/prediction.hpp"
#include "report/scaling.hpp"

namespace stepcast {

class ConfigurationModel;

/// Throughput and efficiency over the number of servers, by the closed form; sizes that are not legal are rows that say
/// why.
Exhibit scaling_exhibit(const ConfigurationModel& configuration, ScalingMode mode);

/// How much throughput changes when one thing of the scenario does, by the closed form.
Exhibit sensitivity_exhibit(const ConfigurationModel& configuration);

/// What the run costs, by part, and by each way to pay that the catalogue has a price for.
Exhibit cost_exhibit(const ConfigurationModel& configuration, const Prediction& prediction);

}  // namespace stepcast
