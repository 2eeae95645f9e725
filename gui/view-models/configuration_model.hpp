#pragma once

#include <QObject>
#include <QString>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fields/json_text.hpp"
#include "report/prediction.hpp"

namespace stepcast {

class Catalog;
struct FormField;
struct Scenario;

/// The scenario on screen: the document as it would be written to a file, what is wrong with it, and the closed form's
/// prediction, which is there when `changed` is emitted. Every change can be undone.
class ConfigurationModel : public QObject {
  Q_OBJECT
 public:
  /// `catalog` must outlive the model.
  explicit ConfigurationModel(const Catalog& catalog, QObject* parent = nullptr);
  ~ConfigurationModel() override;

  [[nodiscard]] const Catalog& catalog() const { return *catalog_; }
  /// After the user added hardware of his own.
  void use_catalog(const Catalog& catalog);

  [[nodiscard]] const Json& document() const { return document_; }
  /// Takes what is typed into fields and not yet entered. Who reads the document because the user said so asks for
  /// this first: keys move no focus.
  void finish_edits();
  /// The document as it was last opened or saved; null when it never was.
  [[nodiscard]] const Json& saved() const { return origin_.saved; }
  /// What a new scenario starts from: nothing is chosen.
  [[nodiscard]] static Json blank();
  /// The document as the text of a file.
  [[nodiscard]] std::string text() const;
  /// Replaces the whole scenario; what was there can be had back by undo.
  void set_document(Json document, const QString& what);
  /// A scenario of no file, with nothing chosen. Saving it asks for a name; undo brings back what was there.
  void start_new();
  /// Unsaved work of an earlier run, and the file that it was changed from; an empty name: it was of none. Where the
  /// file is gone, all of it counts as unsaved.
  void restore(Json document, const std::filesystem::path& file);
  /// A scenario from a file: it becomes the saved state. Throws InputError when the file is no JSON.
  void open(const std::filesystem::path& file);
  /// The same, but of no file: saving it asks for a name.
  void open_copy_of(const std::filesystem::path& file);
  /// Writes the file whole or not at all. Throws InputError.
  void save(const std::filesystem::path& file);
  /// Somebody else wrote the file since it was opened or saved here.
  [[nodiscard]] bool is_changed_on_disk() const;
  /// Opens the file again as it is now; undo brings back what was there. Throws InputError.
  void reload();
  /// Where it is saved; empty: nowhere yet.
  [[nodiscard]] const std::filesystem::path& file() const { return origin_.file; }
  /// Where `saved` can be read; empty: in no file.
  [[nodiscard]] const std::filesystem::path& read_from() const { return origin_.read_from; }
  [[nodiscard]] bool is_modified() const { return document_ != origin_.saved; }

  /// What the document says at a pointer; null when it says nothing.
  [[nodiscard]] Json value(const std::string& pointer) const;
  /// What holds there after defaults; null when the scenario is faulty or nothing is known.
  [[nodiscard]] Json effective(const std::string& pointer) const;
  /// Sets a value; null takes it out.
  void set_value(const std::string& pointer, Json value);
  /// The same while somebody types: changes of one field are undone together until `end_typing`, another change or
  /// saving.
  void type_value(const std::string& pointer, Json value);
  void end_typing() { typed_.clear(); }
  /// Chooses a strategy for everything else that the scenario says, by the rules of `stepcast run --model`; a batch
  /// only where it has none, and the framework unless the user stated one. Where none is legal or fits memory, `remark`
  /// says so and nothing changes.
  void choose_strategy();
  /// What is to be said of the last change; empty: nothing.
  [[nodiscard]] const QString& remark() const { return remark_; }
  /// Whether the strategy is chosen anew whenever servers or model change.
  [[nodiscard]] bool strategy_follows() const { return strategy_follows_; }
  void set_strategy_follows(bool follows);

  struct LegalValue {
    Json value;
    QString text;
    QString why_not;  ///< empty: legal
  };
  /// Values that a field can take, each tried with the scenario as it stands.
  [[nodiscard]] std::vector<LegalValue> legal_values(const FormField& field) const;

  [[nodiscard]] bool is_valid() const { return prediction_.has_value(); }
  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }
  [[nodiscard]] QString fault_text(const std::string& pointer) const;
  /// What the simulator has against the scenario, which the closed form can predict. Until the next change.
  void refuse(std::vector<Fault> faults);
  [[nodiscard]] const std::vector<Fault>& refusal() const { return refused_; }
  /// Null when the scenario is faulty.
  [[nodiscard]] const Scenario* scenario() const { return scenario_.get(); }
  /// The closed form's; null when the scenario is faulty.
  [[nodiscard]] const Prediction* closed_form() const { return prediction_ ? &*prediction_ : nullptr; }
  /// Milliseconds that the last change took from the new value to the new prediction.
  [[nodiscard]] double last_milliseconds() const { return last_milliseconds_; }
  /// Counts changes: a forecast of an older one is out of date.
  [[nodiscard]] long generation() const { return generation_; }

  [[nodiscard]] bool can_undo() const { return !undo_.empty(); }
  [[nodiscard]] bool can_redo() const { return !redo_.empty(); }
  [[nodiscard]] QString undo_text() const { return undo_.empty() ? QString() : undo_.back().what; }
  [[nodiscard]] QString redo_text() const { return redo_.empty() ? QString() : redo_.back().what; }
  void undo();
  void redo();

 Q_SIGNALS:
  void changed();
  /// The simulator refused the scenario.
  void refused();
  /// Editors are to enter what they hold.
  void finishing();

 private:
  /// Where a document comes from.
  struct Origin {
    Json saved;
    std::filesystem::path file, read_from;
    std::string text;                   ///< of the file, when it was read or written
    std::vector<std::string> anchored;  ///< calibrations that the file names from where it lies
  };
  struct Step {
    Json document;  ///< before it (undo) or after it (redo)
    QString what;
    std::optional<Origin> origin;  ///< of that document, where the step goes to another scenario
  };
  void remember(const QString& what);
  /// A step of undo before a change of a field, unless the one before is of the same typing.
  void remember_field(const std::string& pointer, bool typing);
  void write(const std::string& pointer, Json value);
  void replace(const QString& what, Json document, Origin origin);
  void step(std::deque<Step>& from, std::deque<Step>& to);
  [[nodiscard]] static Origin read(const std::filesystem::path& file);
  void name_calibrations_from(Json& document, const std::filesystem::path& file) const;
  void evaluate();
  [[nodiscard]] QString choose_strategy_of(Json& document);

  const Catalog* catalog_;
  Json document_, effective_;
  Origin origin_;
  std::string typed_;  ///< the field that is typed into
  std::deque<Step> undo_, redo_;
  bool strategy_follows_ = false;
  Json rules_framework_;  ///< that the rules wrote, not the user; null: none
  QString remark_;
  std::vector<Fault> faults_, refused_;
  std::unique_ptr<Scenario> scenario_;
  std::optional<Prediction> prediction_;
  double last_milliseconds_ = 0;
  long generation_ = 0;
};

}  // namespace stepcast
