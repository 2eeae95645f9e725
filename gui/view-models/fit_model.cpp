#include "gui/view-models/fit_model.hpp"

#include <QDir>
#include <QRegularExpression>
#include <QStandardPaths>

#include "calibration/profile/calibration_profile.hpp"
#include "fields/dotted_path.hpp"
#include "gui/view-models/compare_model.hpp"
#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/recent_files.hpp"
#include "hardware-catalog/catalog.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

const QString kEnding = QStringLiteral(".calib.json");

/// Every leaf below a pointer, as `--set` takes it.
void list_settings(const Json& value, const std::string& path, QStringList& out) {
  if (!value.is_object()) {
    out << qt(path + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
    return;
  }
  for (const auto& [key, below] : value.items()) list_settings(below, dotted_path(path, key), out);
}

/// A name that a file can have.
QString file_name(const QString& name) {
  static const QRegularExpression kOther(QStringLiteral("[^\\w.-]+"));
  return name.trimmed().replace(kOther, QStringLiteral("-")) + kEnding;
}

}  // namespace

FitModel::FitModel(ConfigurationModel& configuration, const CompareModel& pinned, QObject* parent)
    : QObject(parent), configuration_(configuration), pinned_(pinned) {
  connect(&effect_, &CalibrationEffect::changed, this, &FitModel::effect_changed);
  connect(&command_, &CommandProcess::finished, this, [this](int code, const QByteArray&, const QString& errors) {
    if (code != 0) {
      status_ = errors.isEmpty() ? tr("The fit ended with status %1").arg(code) : errors;
      return Q_EMIT changed();
    }
    try {
      open(output_);
    } catch (const InputError& error) {
      status_ = QString::fromUtf8(error.what());
      Q_EMIT changed();
    }
  });
}

FitModel::~FitModel() = default;

FitForm FitModel::suggested() const {
  FitForm out;
  const Json node = configuration_.value("/cluster/node");
  if (node.is_string()) out.node = qt(node.get<std::string>());
  const Json fabric = configuration_.value("/cluster/fabric");
  QStringList settings;
  if (fabric.is_object()) list_settings(fabric, "cluster.fabric", settings);
  out.fabric = settings.join(QLatin1Char(' '));
  out.name = out.node.isEmpty() ? tr("my-cluster") : out.node;
  return out;
}

QStringList FitModel::arguments(const FitForm& form, const QString& output) {
  QStringList out{QStringLiteral("calibrate"), QStringLiteral("fit")};
  out << form.files << QStringLiteral("--node") << form.node.trimmed();
  for (const QString& setting : form.fabric.split(QLatin1Char(' '), Qt::SkipEmptyParts))
    out << QStringLiteral("--set") << setting;
  if (!form.name.trimmed().isEmpty()) out << QStringLiteral("--name") << form.name.trimmed();
  if (form.refits > 0) out << QStringLiteral("--refits") << QString::number(form.refits);
  if (form.stand_in) out << QStringLiteral("--stand-in");
  return out << QStringLiteral("-o") << output;
}

void FitModel::start(const FitForm& form) {
  if (is_running()) return;
  if (form.files.isEmpty()) {
    status_ = tr("No measurements are loaded: results of the probes, or of stepcast import.");
    return Q_EMIT changed();
  }
  if (form.node.trimmed().isEmpty()) {
    status_ = tr("Which servers were measured?");
    return Q_EMIT changed();
  }
  if (!QDir().mkpath(folder())) {
    status_ = tr("%1 cannot be made").arg(folder());
    return Q_EMIT changed();
  }
  output_ = QDir(folder()).filePath(file_name(form.name.trimmed().isEmpty() ? form.node : form.name));
  status_ = tr("Fitting …");
  asked_ = arguments(form, output_);
  QStringList words;
  for (const std::string& directory : directories_) words << QStringLiteral("--catalog") << qt(directory);
  command_.start(words << asked_);
  Q_EMIT changed();
}

QStringList FitModel::command() const {
  if (!profile_) return {};
  if (file_ == QFileInfo(output_).absoluteFilePath()) return asked_;
  return {QStringLiteral("calibrate"), QStringLiteral("report"), file_, QStringLiteral("-o"),
          QFileInfo(file_).completeBaseName() + QStringLiteral(".html")};
}

void FitModel::stop() {
  if (!is_running()) return;
  command_.cancel();
  status_ = tr("Stopped");
  Q_EMIT changed();
}

QString FitModel::folder() {
  return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/calibrations");
}

QStringList FitModel::known() const {
  QStringList out = opened_;
  const QDir kept(folder());
  for (const QString& name : kept.entryList({QLatin1Char('*') + kEnding}, QDir::Files, QDir::Name))
    if (!out.contains(kept.filePath(name))) out << kept.filePath(name);
  return out;
}

bool FitModel::is_used() const {
  const auto& directories = configuration_.catalog().directories();
  return profile_ && !directories.empty() && directories.front() == std::filesystem::path(plain(file_));
}

void FitModel::ask_effect() {
  if (!profile_) return effect_.ask({});
  std::vector<NamedScenario> scenarios{{tr("on screen"), configuration_.document()}};
  for (std::size_t i = 0; i < pinned_.count(); ++i)
    scenarios.push_back({tr("pinned: %1").arg(pinned_.name(i)), pinned_.document(i)});
  for (const QString& file : recent_files()) {
    Diagnostics diagnostics(plain(file));
    try {
      Json document = read_json(plain(file), diagnostics);
      if (!diagnostics.ok() || !document.is_object()) continue;
      anchor_calibrations(document, plain(file));
      scenarios.push_back({QFileInfo(file).completeBaseName(), std::move(document)});
    } catch (const InputError&) {
      // A file that is gone or no scenario any more rests on nothing.
    }
  }
  effect_.ask({std::move(scenarios), plain(file_), directories_});
}

void FitModel::open(const QString& file) {
  if (file.isEmpty()) {
    profile_.reset();
    file_.clear();
    status_.clear();
    return Q_EMIT changed();
  }
  auto profile = std::make_unique<CalibrationProfile>(read_calibration(plain(file)));
  profile_ = std::move(profile);
  file_ = QFileInfo(file).absoluteFilePath();
  if (QFileInfo(file_).absolutePath() != QFileInfo(folder()).absoluteFilePath() && !opened_.contains(file_))
    opened_ << file_;
  status_ = tr("%1: %2 collectives and %3 other figures, measured on %4 on %5")
                .arg(qt(profile_->name), shown_whole(static_cast<long>(profile_->points.size())),
                     shown_whole(static_cast<long>(profile_->figures.size())), qt(profile_->machine.node),
                     qt(profile_->created));
  Q_EMIT changed();
}

}  // namespace stepcast
