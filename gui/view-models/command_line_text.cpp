#include "gui/view-models/command_line_text.hpp"

#include <QStringList>
#include <algorithm>
#include <initializer_list>

#include "fields/dotted_path.hpp"
#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/plan_model.hpp"
#include "gui/view-models/qt_text.hpp"

namespace stepcast {

namespace {

QString quoted(const QString& word) {
  for (const QChar c : word)
    if (!c.isLetterOrNumber() && !QStringLiteral("-_./=:,@%+").contains(c))
      return QLatin1Char('\'') + QString(word).replace(QLatin1String("'"), QLatin1String("'\\''")) + QLatin1Char('\'');
  return word;
}

/// Leaves that differ, as `path=value`. False when something was taken out, which `--set` cannot say.
bool differences(const Json& from, const Json& to, const std::string& path, QStringList& out) {
  if (from == to) return true;
  if (from.is_object() && to.is_object()) {
    for (const auto& [key, value] : from.items())
      if (!to.contains(key)) return false;
    for (const auto& [key, value] : to.items())
      if (!differences(from.value(key, Json()), value, dotted_path(path, key), out)) return false;
    return true;
  }
  if (to.is_object()) {
    for (const auto& [key, value] : to.items())
      if (!differences(Json(), value, dotted_path(path, key), out)) return false;
    return true;
  }
  // A text that would parse as JSON keeps its quotes.
  const bool bare = to.is_string() && !Json::accept(to.get<std::string>());
  out << qt(path + "=" + (bare ? to.get<std::string>() : to.dump()));
  return true;
}

/// A document that is in no file.
QString passed_along(const QString& text) { return QStringLiteral("<(cat <<'DOCUMENT'\n%1DOCUMENT\n)").arg(text); }

/// A scenario as a command takes it; a setting whose path varies anyway is left out.
QStringList scenario_words(const ConfigurationModel& configuration, const Json& document,
                           const QStringList& varied = {}) {
  QStringList settings;
  if (configuration.read_from().empty() || !differences(configuration.saved(), document, {}, settings))
    return {passed_along(qt(document.dump(2) + "\n"))};
  QStringList out{quoted(qt(configuration.read_from().string()))};
  const auto path_of = [](const QString& setting) { return setting.section(QLatin1Char('='), 0, 0); };
  for (const QString& setting : settings) {
    const bool varies = std::any_of(varied.begin(), varied.end(),
                                    [&](const QString& other) { return path_of(other) == path_of(setting); });
    if (!varies) out << QStringLiteral("--set") << quoted(setting);
  }
  return out;
}

QStringList all_quoted(const QStringList& words) {
  QStringList out;
  for (const QString& word : words) out << quoted(word);
  return out;
}

bool is_one_of(const QString& word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* other) { return word == QLatin1String(other); });
}

/// A whole command, its words quoted: with the catalogue and the calibration that its answer rests on. Where a command
/// has no option for calibrations, it is an entry of the catalogue.
QString command(const ScreenWork& work, const QStringList& words) {
  const bool has_option = is_one_of(words.front(), {"run", "scale", "sweep", "plan", "validate"});
  const bool rests_on_it = !work.calibration.isEmpty() && !is_one_of(words.front(), {"calibrate", "catalog", "fabric"});
  QStringList out{QStringLiteral("stepcast")};
  if (rests_on_it && !has_option) out << QStringLiteral("--catalog") << quoted(work.calibration);
  for (const QString& entry : work.catalog) out << QStringLiteral("--catalog") << quoted(entry);
  out << words;
  if (rests_on_it && has_option) out << QStringLiteral("--calibration") << quoted(work.calibration);
  return out.join(QLatin1Char(' '));
}

/// The tabs that show what only a simulation's timeline has.
bool shows_trace(const QString& tab) { return is_one_of(tab, {"timeline", "communication", "power"}); }

QString run_command(const ConfigurationModel& configuration, const QString& tab, const ScreenWork& work) {
  QStringList words{QStringLiteral("run")};
  words << scenario_words(configuration, configuration.document());
  if (work.closed_form) words << QStringLiteral("--fidelity") << QStringLiteral("analytic");
  if (shows_trace(tab) && !work.closed_form) words << QStringLiteral("--trace") << QStringLiteral("step.json");
  return command(work, words);
}

/// Every other one against the first.
QStringList comparisons(const ScreenWork& work) {
  QStringList out;
  for (std::size_t i = 1; i < work.compared.size(); ++i)
    out << command(work, {QStringLiteral("compare"), passed_along(qt(work.compared.front().dump(2) + "\n")),
                          passed_along(qt(work.compared[i].dump(2) + "\n"))});
  return out;
}

}  // namespace

QString command_line_text(const ConfigurationModel& configuration, const QString& tab, const ScreenWork& work) {
  const Json& document = configuration.document();
  QStringList commands;
  if (tab == QLatin1String("plan") && !work.plan_question.is_null()) {
    commands << command(work, {QStringLiteral("plan"), passed_along(qt(work.plan_question.dump(2) + "\n")),
                               QStringLiteral("--top"), QString::number(kPlanAnswers)});
  } else if (tab == QLatin1String("sweep") && !work.sweep.isEmpty()) {
    commands << command(work, QStringList{QStringLiteral("sweep")} +
                                  scenario_words(configuration, work.swept, work.sweep) + all_quoted(work.sweep));
  } else if (tab == QLatin1String("compare")) {
    commands = comparisons(work);
  } else if (tab == QLatin1String("calibrate") && !work.calibrate.isEmpty()) {
    commands << command(work, all_quoted(work.calibrate));
  } else if (tab == QLatin1String("servers") && !work.server.isEmpty()) {
    commands << command(work, {QStringLiteral("catalog"), QStringLiteral("show"), quoted(work.server)});
  } else if (tab == QLatin1String("fabric")) {
    commands << command(
        work, QStringList{QStringLiteral("fabric"), QStringLiteral("show")} + scenario_words(configuration, document));
  } else if (tab == QLatin1String("cost") && !work.server.isEmpty()) {
    commands << run_command(configuration, tab, work)
             << command(work, {QStringLiteral("catalog"), QStringLiteral("show"), quoted(work.server)});
  }
  for (const CommandStudy::Words& study : work.studies)
    commands << command(work,
                        all_quoted(study.before) + scenario_words(configuration, document) + all_quoted(study.after));
  if (commands.isEmpty()) commands << run_command(configuration, tab, work);
  return commands.join(QStringLiteral(" && "));
}

}  // namespace stepcast
