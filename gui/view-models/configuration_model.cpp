#include "gui/view-models/configuration_model.hpp"

#include <QElapsedTimer>
#include <algorithm>

#include "gui/view-models/document_edit.hpp"
#include "gui/view-models/file_text.hpp"
#include "gui/view-models/form_fields.hpp"
#include "gui/view-models/qt_text.hpp"
#include "models/scenario/default_scenario.hpp"
#include "models/scenario/scenario.hpp"
#include "planner/question.hpp"
#include "report/predict.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kUndoSteps = 500;
constexpr const char* kOnScreen = "scenario";
constexpr const char* kFramework = "/strategy/framework";

/// Takes empty objects out that setting and removing values leaves behind.
void drop_if_empty(Json& document, const std::string& pointer) {
  for (std::string at = pointer; !at.empty();) {
    at.resize(at.rfind('/'));
    if (at.empty() || at == "/cluster" || at == "/workload") return;
    const Json::json_pointer here(at);
    if (!document.contains(here) || !document[here].is_object() || !document[here].empty()) return;
    const std::string parent = at.substr(0, at.rfind('/'));
    document[Json::json_pointer(parent)].erase(at.substr(at.rfind('/') + 1));
  }
}

/// Names of the calibrations of a document, as they stand; what is no name is left out.
std::vector<std::string> calibrations_of(const Json& document) {
  std::vector<std::string> out;
  const Json::json_pointer named("/cluster/calibrations");
  if (document.contains(named) && document.at(named).is_array())
    for (const Json& name : document.at(named))
      if (name.is_string()) out.push_back(name.get<std::string>());
  return out;
}

/// Files of other kinds that lie beside scenarios, and what opens them.
void refuse_other_kinds(const Json& document, const std::filesystem::path& file, Diagnostics& diagnostics) {
  if (is_plan_question(document))
    diagnostics.error("", "this is a question to the planner, not a scenario",
                      "ask it in the Plan tab, or run stepcast plan " + file.string());
  else if (document.contains("scenario") && document.contains("variants"))
    diagnostics.error("", "this is a study of several scenarios, not a scenario",
                      "run stepcast study " + file.string());
}

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string words_of(const Fault& fault) {
  return fault.suggestion.empty() ? fault.message : fault.message + "; " + fault.suggestion;
}

}  // namespace

/// A scenario as it stands in a file, the calibrations that it names findable from anywhere. Throws InputError.
ConfigurationModel::Origin ConfigurationModel::read(const std::filesystem::path& file) {
  Diagnostics diagnostics(file.string());
  Origin out{read_json(file, diagnostics), file, file, text_of_file(file), {}};
  if (diagnostics.ok() && !out.saved.is_object()) diagnostics.error("", "a scenario is an object");
  if (diagnostics.ok()) refuse_other_kinds(out.saved, file, diagnostics);
  diagnostics.throw_if_faulty();
  const std::vector<std::string> written = calibrations_of(out.saved);
  anchor_calibrations(out.saved, file);
  for (const std::string& name : calibrations_of(out.saved))
    if (!is_one_of(written, name)) out.anchored.push_back(name);
  return out;
}

ConfigurationModel::ConfigurationModel(const Catalog& catalog, QObject* parent) : QObject(parent), catalog_(&catalog) {
  document_ = origin_.saved = blank();
  evaluate();
}

Json ConfigurationModel::blank() {
  return {{"format_version", kScenarioFormatVersion}, {"cluster", Json::object()}, {"workload", Json::object()}};
}

ConfigurationModel::~ConfigurationModel() = default;

void ConfigurationModel::use_catalog(const Catalog& catalog) {
  scenario_.reset();
  catalog_ = &catalog;
  evaluate();
  Q_EMIT changed();
}

std::string ConfigurationModel::text() const { return document_.dump(2) + "\n"; }

void ConfigurationModel::set_document(Json document, const QString& what) {
  if (document == document_) return;
  remember(what);
  document_ = std::move(document);
  evaluate();
  Q_EMIT changed();
}

void ConfigurationModel::start_new() { replace(QObject::tr("new scenario"), blank(), {blank(), {}, {}, {}, {}}); }

void ConfigurationModel::open(const std::filesystem::path& file) {
  Origin origin = read(file);
  Json document = origin.saved;
  replace(QObject::tr("open %1").arg(qt(file.filename().string())), std::move(document), std::move(origin));
}

void ConfigurationModel::open_copy_of(const std::filesystem::path& file) {
  Origin origin = read(file);
  Json document = origin.saved;
  origin.file.clear();
  replace(QObject::tr("open a copy of %1").arg(qt(file.filename().string())), std::move(document), std::move(origin));
}

void ConfigurationModel::restore(Json document, const std::filesystem::path& file) {
  Origin origin{blank(), file, {}, {}, {}};
  try {
    if (!file.empty()) origin = read(file);
  } catch (const InputError&) {
    // The work is what is left of it.
  }
  replace(QObject::tr("restored work"), std::move(document), std::move(origin));
}

/// Another scenario, of another file. Where nothing was there, nothing can be had back.
void ConfigurationModel::replace(const QString& what, Json document, Origin origin) {
  const bool untouched = undo_.empty() && origin_.read_from.empty() && document_ == blank();
  remember(what);
  undo_.back().origin = std::move(origin_);
  if (untouched) undo_.clear();
  document_ = std::move(document);
  origin_ = std::move(origin);
  strategy_follows_ = false;
  rules_framework_ = nullptr;
  evaluate();
  Q_EMIT changed();
}

void ConfigurationModel::save(const std::filesystem::path& file) {
  finish_edits();
  Json written = document_;
  name_calibrations_from(written, file);
  const std::string text = written.dump(2) + "\n";
  write_file(file, text);
  std::vector<std::string> anchored;
  for (const std::string& name : calibrations_of(document_))
    if (std::filesystem::path(name).is_absolute() && !is_one_of(calibrations_of(written), name))
      anchored.push_back(name);
  origin_ = {document_, file, file, text, std::move(anchored)};
  Q_EMIT changed();
}

/// Calibrations below the folder of a file, and those that were named from where the scenario was read, are named from
/// there: folders are moved and shared.
void ConfigurationModel::name_calibrations_from(Json& document, const std::filesystem::path& file) const {
  const Json::json_pointer named("/cluster/calibrations");
  if (calibrations_of(document).empty()) return;
  const std::filesystem::path folder = std::filesystem::absolute(file).lexically_normal().parent_path();
  for (Json& name : document[named]) {
    if (!name.is_string()) continue;
    const std::filesystem::path absolute = name.get<std::string>();
    if (!absolute.is_absolute()) continue;
    const std::filesystem::path from_there = absolute.lexically_relative(folder);
    if (from_there.empty() || (*from_there.begin() == ".." && !is_one_of(origin_.anchored, absolute.string())))
      continue;
    name = from_there.string();
  }
}

bool ConfigurationModel::is_changed_on_disk() const {
  return !origin_.file.empty() && std::filesystem::exists(origin_.file) && text_of_file(origin_.file) != origin_.text;
}

void ConfigurationModel::reload() {
  finish_edits();
  open(std::filesystem::path(origin_.file));
}

void ConfigurationModel::finish_edits() {
  Q_EMIT finishing();
  end_typing();
}

Json ConfigurationModel::value(const std::string& pointer) const {
  const Json::json_pointer at(pointer);
  return document_.contains(at) ? document_.at(at) : Json(nullptr);
}

Json ConfigurationModel::effective(const std::string& pointer) const {
  const Json::json_pointer at(pointer);
  return effective_.is_object() && effective_.contains(at) ? effective_.at(at) : Json(nullptr);
}

void ConfigurationModel::set_value(const std::string& pointer, Json value) {
  if (this->value(pointer) == value) return;
  remember_field(pointer, false);
  write(pointer, std::move(value));
}

void ConfigurationModel::type_value(const std::string& pointer, Json value) {
  if (this->value(pointer) == value) return;
  remember_field(pointer, true);
  write(pointer, std::move(value));
}

void ConfigurationModel::write(const std::string& pointer, Json value) {
  if (pointer == kFramework) rules_framework_ = nullptr;
  if (value.is_null()) {
    const auto slash = pointer.rfind('/');
    document_[Json::json_pointer(pointer.substr(0, slash))].erase(pointer.substr(slash + 1));
    drop_if_empty(document_, pointer);
  } else {
    write_at(document_, pointer, std::move(value));
  }
  const bool machine = pointer == "/cluster/node" || pointer == "/cluster/nodes" || pointer == "/workload/model";
  QString remark;
  if (strategy_follows_ && machine) remark = choose_strategy_of(document_);
  evaluate();
  remark_ = remark;
  Q_EMIT changed();
}

/// A document with the strategy chosen, and what is to be said of the choice: where there is none, the document stays.
QString ConfigurationModel::choose_strategy_of(Json& document) {
  try {
    const bool stated = !value(kFramework).is_null() && value(kFramework) != rules_framework_;
    Json asked = document;
    if (!stated) asked.erase("strategy");
    ChosenStrategy chosen = with_default_strategy(asked, *catalog_);
    if (!stated) rules_framework_ = chosen.scenario.value(Json::json_pointer(kFramework), Json(nullptr));
    if (chosen.scenario == document)
      return QObject::tr("This is the strategy that the rules choose: %1.").arg(qt(chosen.why));
    document = std::move(chosen.scenario);
    return {};
  } catch (const InputError& error) {
    return QObject::tr("The strategy was left as it is: %1").arg(qt(words_of(error.faults().front())));
  }
}

void ConfigurationModel::choose_strategy() {
  finish_edits();
  Json chosen = document_;
  const QString remark = choose_strategy_of(chosen);
  if (chosen != document_) remember(QObject::tr("choice of a strategy"));
  document_ = std::move(chosen);
  evaluate();
  remark_ = remark;
  Q_EMIT changed();
}

void ConfigurationModel::set_strategy_follows(bool follows) {
  if (strategy_follows_ == follows) return;
  strategy_follows_ = follows;
  if (follows) return choose_strategy();
  Q_EMIT changed();
}

void ConfigurationModel::evaluate() {
  QElapsedTimer timer;
  timer.start();
  ++generation_;
  remark_.clear();
  refused_.clear();
  faults_.clear();
  prediction_.reset();
  try {
    auto scenario = std::make_unique<Scenario>(resolve(document_, kOnScreen, {}, *catalog_));
    prediction_ = predict_analytic(*scenario, *catalog_, MemoryAdvice::none);
    effective_ = to_json(*scenario);
    scenario_ = std::move(scenario);
  } catch (const InputError& error) {
    faults_ = error.faults();
    scenario_.reset();
  } catch (const std::exception& error) {
    faults_ = {{kOnScreen, "", error.what(), ""}};
    scenario_.reset();
  }
  if (!scenario_) effective_ = nullptr;
  last_milliseconds_ = static_cast<double>(timer.nsecsElapsed()) / 1e6;
}

void ConfigurationModel::refuse(std::vector<Fault> faults) {
  refused_ = std::move(faults);
  Q_EMIT refused();
}

QString ConfigurationModel::fault_text(const std::string& pointer) const {
  QStringList texts;
  std::vector<Fault> all = faults_;
  all.insert(all.end(), refused_.begin(), refused_.end());
  for (const Fault& fault : all) {
    const FormField* field = field_of_fault(fault.pointer);
    // A fault of several fields together stands at each that it names and that was set.
    const std::string key = pointer.substr(pointer.rfind('/') + 1);
    const bool named = field == nullptr && pointer.starts_with(fault.pointer) &&
                       fault.message.find(key) != std::string::npos && !value(pointer).is_null();
    if (!named && (field == nullptr || field->pointer != pointer)) continue;
    texts << qt(words_of(fault));
  }
  return texts.join(QLatin1Char('\n'));
}

void ConfigurationModel::remember(const QString& what) {
  end_typing();
  redo_.clear();
  undo_.push_back({document_, what, {}});
  if (undo_.size() > kUndoSteps) undo_.pop_front();
}

void ConfigurationModel::remember_field(const std::string& pointer, bool typing) {
  if (typing && typed_ == pointer) return redo_.clear();
  const FormField* field = form_field(pointer);
  remember(QObject::tr("change of %1").arg(field ? field->label.toLower() : qt(pointer)));
  if (typing) typed_ = pointer;
}

void ConfigurationModel::undo() { step(undo_, redo_); }

void ConfigurationModel::redo() { step(redo_, undo_); }

void ConfigurationModel::step(std::deque<Step>& from, std::deque<Step>& to) {
  if (from.empty()) return;
  end_typing();
  Step step = std::move(from.back());
  from.pop_back();
  to.push_back({std::move(document_), step.what, {}});
  document_ = std::move(step.document);
  if (step.origin) {
    to.back().origin = std::move(origin_);
    origin_ = std::move(*step.origin);
  }
  evaluate();
  Q_EMIT changed();
}

}  // namespace stepcast
