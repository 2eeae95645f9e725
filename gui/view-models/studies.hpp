#pragma once

#include "gui/view-models/command_study.hpp"
#include "gui/view-models/exhibit.hpp"
#include "report/prediction.hpp"
#include "report/scaling.hpp"

namespace stepcast {

class ConfigurationModel;

/// `stepcast scale` over sizes around the scenario's own, in closed form.
CommandStudy::Words scaling_words(const Scenario& scenario, ScalingMode mode);
/// `stepcast explain`.
CommandStudy::Words explanation_words(const Scenario& scenario);

/// Throughput and efficiency over the number of servers, as `stepcast scale --json` gives them; sizes that are not
/// legal are rows that say why. Without an answer: why there is none.
Exhibit scaling_exhibit(const Json& scaling, const QString& why_not, ScalingMode mode, int nodes_now);

/// How much throughput changes when hardware is a little better, as `stepcast explain --json` says; and when one
/// setting is another. Without an answer: why there is none.
Exhibit hardware_effects(const Json& explanation, const QString& why_not);
Exhibit setting_effects(const Json& explanation, const QString& why_not);

/// What the run costs, by part, and by each way to pay that the catalogue has a price for.
Exhibit cost_exhibit(const ConfigurationModel& configuration, const Prediction& prediction);

}  // namespace stepcast
