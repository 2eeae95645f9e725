#pragma once

#include <QString>
#include <QStringList>
#include <filesystem>
#include <optional>

#include "fields/json_text.hpp"

namespace stepcast {

class Catalog;
class ConfigurationModel;

/// A question to the planner as the form has it, in a user's words.
struct PlanForm {
  /// Pointers of faults of the form's own fields; those of limits are the question's (`/constraints/power_kW`).
  static constexpr const char *kServers = "/clusters", *kCounts = "/nodes";
  QString servers, counts;                                           ///< ids apart by commas; "8, 16" or "8..64*2"
  QString first_objective, second_objective;                         ///< second: empty for none
  QString deadline_days, budget_of_run, budget_per_month, power_kW;  ///< empty: no limit
  bool any_framework = false;  ///< those of the form's alone, or whatever is usual
};

/// What the form asks about the training of a configuration, as a file of questions has it: on its fabric, storage,
/// site and cooling, under its cap and clock, in its framework, as its runs are counted. Throws InputError with every
/// fault of the form.
Json plan_question(const PlanForm& form, const ConfigurationModel& configuration);
/// What a file asks the planner; none: it holds something else, or cannot be read. Throws InputError with every fault
/// of a question.
std::optional<Json> question_in(const std::filesystem::path& file, const Catalog& catalog);
/// A question of a file in the form's words, as far as it has any; `question` is sound.
PlanForm form_of_question(const Json& question);
/// The training that it is about, as a scenario on the first of its clusters.
Json training_of_question(const Json& question);
/// What of a scenario a question rests on, beside the servers and the strategy, which the planner chooses.
Json planned_surroundings(const Json& scenario);
/// A scenario with the servers and the strategy of a planner's option, on the surroundings that it was found for.
Json with_plan(const Json& scenario, const Json& surroundings, const Json& option);
/// Settings of a scenario that questions take as they are, and those that no question has, as the form calls them.
QStringList taken_by_plans(const Json& scenario);
QStringList left_out_of_plans(const Json& scenario);

}  // namespace stepcast
