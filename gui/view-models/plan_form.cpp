#include "gui/view-models/plan_form.hpp"

#include <QRegularExpression>
#include <algorithm>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"

namespace stepcast {

namespace {

/// "8, 16, 32" or "8..64" (doubling) as the question wants it.
Json counts_of(const QString& text, Diagnostics& diagnostics) {
  Json out = Json::array();
  for (const QString& part : text.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    static const QRegularExpression kRange(QStringLiteral("^\\s*(\\d+)\\s*\\.\\.\\s*(\\d+)\\s*$"));
    const auto range = kRange.match(part);
    bool number = false;
    if (range.hasMatch()) {
      for (long n = std::max(1L, range.captured(1).toLong()); n <= range.captured(2).toLong(); n *= 2) out.push_back(n);
      number = true;
    } else if (const int n = part.trimmed().toInt(&number); number) {
      out.push_back(n);
    }
    if (!number) diagnostics.error("how many", "found \"" + plain(part.trimmed()) + "\", expected a number or 8..64");
  }
  if (out.empty()) diagnostics.error("how many", "no number of servers is named", "8, 16 or 8..64");
  return out;
}

void add_limit(Json& constraints, const char* key, const QString& text, Diagnostics& diagnostics) {
  if (text.trimmed().isEmpty()) return;
  bool number = false;
  const double value = typed_number(text).toDouble(&number);
  if (number) {
    constraints[key] = value;
  } else {
    diagnostics.error(key, "found \"" + plain(text) + "\", expected a number");
  }
}

}  // namespace

Json plan_question(const PlanForm& form, const ConfigurationModel& configuration) {
  Diagnostics diagnostics("plan");
  Json out{{"name", "Plan from the window"}, {"workload", configuration.value("/workload")}};
  if (out["workload"].is_null() || out["workload"].empty())
    diagnostics.error("training", "no model is chosen", "choose one in the form on the left");
  const Json counts = counts_of(form.counts, diagnostics);
  for (const QString& server : form.servers.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    Json cluster{{"node", plain(server.trimmed())}, {"nodes", counts}};
    const Json site = configuration.value("/cluster/site");
    if (site.is_string()) cluster["site"] = site;
    out["clusters"].push_back(std::move(cluster));
  }
  if (!out.contains("clusters"))
    diagnostics.error("servers", "no server is named", "ids of the catalogue, apart by commas");
  out["objective"] = form.second_objective.isEmpty()
                         ? Json(plain(form.first_objective))
                         : Json::array({plain(form.first_objective), plain(form.second_objective)});
  Json constraints = Json::object();
  add_limit(constraints, "deadline_days", form.deadline_days, diagnostics);
  add_limit(constraints, "budget_of_run_usd", form.budget_of_run, diagnostics);
  add_limit(constraints, "budget_usd_per_month", form.budget_per_month, diagnostics);
  add_limit(constraints, "power_kW", form.power_kW, diagnostics);
  if (!constraints.empty()) out["constraints"] = std::move(constraints);
  diagnostics.throw_if_faulty();
  return out;
}

}  // namespace stepcast
