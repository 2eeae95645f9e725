#include "gui/view-models/configuration_model.hpp"

#include <QElapsedTimer>
#include <algorithm>

#include "gui/view-models/document_edit.hpp"
#include "gui/view-models/form_fields.hpp"
#include "gui/view-models/qt_text.hpp"
#include "models/scenario/scenario.hpp"
#include "report/predict.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kUndoSteps = 500;
constexpr const char* kOnScreen = "scenario";

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

/// A scenario as it stands in a file, the calibrations that it names findable from anywhere. Throws InputError.
Json read_document(const std::filesystem::path& file) {
  Diagnostics diagnostics(file.string());
  Json document = read_json(file, diagnostics);
  if (diagnostics.ok() && !document.is_object()) diagnostics.error("", "a scenario is an object");
  diagnostics.throw_if_faulty();
  anchor_calibrations(document, file);
  return document;
}

}  // namespace

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

void ConfigurationModel::start_new() { replace(QObject::tr("new scenario"), blank(), {blank(), {}, {}}); }

void ConfigurationModel::open(const std::filesystem::path& file) {
  Json document = read_document(file);
  replace(QObject::tr("open %1").arg(qt(file.filename().string())), document, {document, file, file});
}

void ConfigurationModel::open_copy_of(const std::filesystem::path& file) {
  Json document = read_document(file);
  replace(QObject::tr("open a copy of %1").arg(qt(file.filename().string())), document, {document, {}, file});
}

void ConfigurationModel::restore(Json document, const std::filesystem::path& file) {
  Json saved = blank();
  std::filesystem::path read_from;
  try {
    if (!file.empty()) saved = read_document(file);
    read_from = file;
  } catch (const InputError&) {
    // The work is what is left of it.
  }
  replace(QObject::tr("restored work"), std::move(document), {std::move(saved), file, std::move(read_from)});
}

/// Another scenario, of another file.
void ConfigurationModel::replace(const QString& what, Json document, Origin origin) {
  remember(what);
  undo_.back().origin = std::move(origin_);
  document_ = std::move(document);
  origin_ = std::move(origin);
  strategy_follows_ = false;
  evaluate();
  Q_EMIT changed();
}

void ConfigurationModel::save(const std::filesystem::path& file) {
  finish_edits();
  write_file(file, text());
  origin_ = {document_, file, file};
  Q_EMIT changed();
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
  if (value.is_null()) {
    const auto slash = pointer.rfind('/');
    document_[Json::json_pointer(pointer.substr(0, slash))].erase(pointer.substr(slash + 1));
    drop_if_empty(document_, pointer);
  } else {
    write_at(document_, pointer, std::move(value));
  }
  const bool machine = pointer == "/cluster/node" || pointer == "/cluster/nodes" || pointer == "/workload/model";
  if (strategy_follows_ && machine) apply_chosen_strategy();
  evaluate();
  Q_EMIT changed();
}

/// Leaves the document alone where no strategy can be chosen; its faults say why.
void ConfigurationModel::apply_chosen_strategy() {
  const Json model = value("/workload/model"), node = value("/cluster/node"), nodes = value("/cluster/nodes");
  if (!model.is_string() || !node.is_string()) return;
  try {
    const int count = nodes.is_number_integer() ? nodes.get<int>() : 1;
    const Json chosen = default_scenario(model.get<std::string>(), node.get<std::string>(), count, *catalog_);
    document_["strategy"] = chosen.at("strategy");
    document_["workload"]["global_batch"] = chosen.at("workload").at("global_batch");
  } catch (const InputError&) {
  }
}

void ConfigurationModel::choose_strategy() {
  finish_edits();
  remember(QObject::tr("choice of a strategy"));
  apply_chosen_strategy();
  evaluate();
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

QString ConfigurationModel::fault_text(const std::string& pointer) const {
  QStringList texts;
  for (const Fault& fault : faults_) {
    const FormField* field = field_of_fault(fault.pointer);
    // A fault of several fields together stands at each that it names and that was set.
    const std::string key = pointer.substr(pointer.rfind('/') + 1);
    const bool named = field == nullptr && pointer.starts_with(fault.pointer) &&
                       fault.message.find(key) != std::string::npos && !value(pointer).is_null();
    if (!named && (field == nullptr || field->pointer != pointer)) continue;
    texts << qt(fault.suggestion.empty() ? fault.message : fault.message + "; " + fault.suggestion);
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
