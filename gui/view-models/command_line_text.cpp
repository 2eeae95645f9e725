#include "gui/view-models/command_line_text.hpp"

#include <QStringList>

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

/// Subcommand and options that print what a tab shows.
QString verb(const QString& tab) {
  if (tab == QLatin1String("scaling")) return QStringLiteral("scale");
  if (tab == QLatin1String("plan")) return QStringLiteral("plan");
  return QStringLiteral("run");
}

}  // namespace

QString command_line_text(const ConfigurationModel& configuration, const QString& tab) {
  QStringList words{QStringLiteral("stepcast"), verb(tab)};
  QStringList settings;
  const bool known = !configuration.file().empty();
  if (known && differences(configuration.saved(), configuration.document(), {}, settings)) {
    words << quoted(qt(configuration.file().string()));
    for (const QString& setting : settings) words << QStringLiteral("--set") << quoted(setting);
  } else {
    words << QStringLiteral("<(cat <<'SCENARIO'\n%1SCENARIO\n)").arg(qt(configuration.text()));
  }
  if (tab == QLatin1String("scaling"))
    words << QStringLiteral("--nodes")
          << QStringLiteral("1,2..%1").arg(configuration.value("/cluster/nodes").is_number()
                                               ? configuration.value("/cluster/nodes").get<int>()
                                               : 1);
  return words.join(QLatin1Char(' '));
}

}  // namespace stepcast
