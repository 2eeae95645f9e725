#include "gui/view-models/command_line_text.hpp"

#include <QStringList>
#include <algorithm>

#include "gui/view-models/configuration_model.hpp"
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
      if (!differences(from.value(key, Json()), value, path.empty() ? key : path + "." + key, out)) return false;
    return true;
  }
  if (to.is_object()) {
    for (const auto& [key, value] : to.items())
      if (!differences(Json(), value, path + "." + key, out)) return false;
    return true;
  }
  // A text that would parse as JSON keeps its quotes.
  const bool bare = to.is_string() && !Json::accept(to.get<std::string>());
  out << qt(path + "=" + (bare ? to.get<std::string>() : to.dump()));
  return true;
}

/// A document that is in no file.
QString passed_along(const QString& text) { return QStringLiteral("<(cat <<'DOCUMENT'\n%1DOCUMENT\n)").arg(text); }

/// The scenario as a command takes it; a setting whose path varies anyway is left out.
QStringList scenario_words(const ConfigurationModel& configuration, const QStringList& varied = {}) {
  QStringList settings;
  if (configuration.file().empty() || !differences(configuration.saved(), configuration.document(), {}, settings))
    return {passed_along(qt(configuration.text()))};
  QStringList out{quoted(qt(configuration.file().string()))};
  const auto path_of = [](const QString& setting) { return setting.section(QLatin1Char('='), 0, 0); };
  for (const QString& setting : settings) {
    const bool varies = std::any_of(varied.begin(), varied.end(),
                                    [&](const QString& other) { return path_of(other) == path_of(setting); });
    if (!varies) out << QStringLiteral("--set") << quoted(setting);
  }
  return out;
}

/// Subcommands and options that print what a tab shows of a scenario; those that are not here: a run.
QStringList verb(const QString& tab) {
  if (tab == QLatin1String("scaling")) return {QStringLiteral("scale")};
  if (tab == QLatin1String("sensitivity")) return {QStringLiteral("explain")};
  if (tab == QLatin1String("fabric")) return {QStringLiteral("fabric"), QStringLiteral("show")};
  return {QStringLiteral("run")};
}

QStringList all_quoted(const QStringList& words) {
  QStringList out;
  for (const QString& word : words) out << quoted(word);
  return out;
}

}  // namespace

QString command_line_text(const ConfigurationModel& configuration, const QString& tab, const ScreenWork& work) {
  QStringList words{QStringLiteral("stepcast")};
  QStringList rests_on;
  if (!work.calibration.isEmpty()) rests_on << QStringLiteral("--calibration") << quoted(work.calibration);
  if (tab == QLatin1String("plan") && !work.plan_question.is_null()) {
    words << QStringLiteral("plan") << passed_along(qt(work.plan_question.dump(2) + "\n")) << rests_on;
  } else if (tab == QLatin1String("sweep") && !work.sweep.isEmpty()) {
    words << QStringLiteral("sweep") << scenario_words(configuration, work.sweep) << all_quoted(work.sweep) << rests_on;
  } else if (tab == QLatin1String("calibrate")) {
    if (work.fit.isEmpty())
      words << QStringLiteral("validate") << QStringLiteral("--regret") << rests_on;
    else
      words << all_quoted(work.fit);
  } else if (tab == QLatin1String("servers") && !work.server.isEmpty()) {
    words << QStringLiteral("catalog") << QStringLiteral("show") << quoted(work.server);
  } else {
    words << verb(tab) << scenario_words(configuration);
    if (tab != QLatin1String("fabric") && tab != QLatin1String("sensitivity")) words << rests_on;
    if (tab == QLatin1String("scaling"))
      words << QStringLiteral("--nodes")
            << QStringLiteral("1,2..%1").arg(configuration.value("/cluster/nodes").is_number()
                                                 ? configuration.value("/cluster/nodes").get<int>()
                                                 : 1);
    if (tab == QLatin1String("timeline")) words << QStringLiteral("--trace") << QStringLiteral("step.json");
  }
  return words.join(QLatin1Char(' '));
}

}  // namespace stepcast
