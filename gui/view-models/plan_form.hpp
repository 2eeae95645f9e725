#pragma once

#include <QString>

#include "fields/json_text.hpp"

namespace stepcast {

class ConfigurationModel;

/// A question to the planner as the form has it, in a user's words.
struct PlanForm {
  QString servers, counts;                                           ///< ids apart by commas; "8, 16" or "8..64"
  QString first_objective, second_objective;                         ///< second: empty for none
  QString deadline_days, budget_of_run, budget_per_month, power_kW;  ///< empty: no limit
};

/// What the form asks about the workload of a configuration, as a file of questions has it. Throws InputError with
/// every fault of the form.
Json plan_question(const PlanForm& form, const ConfigurationModel& configuration);

}  // namespace stepcast
