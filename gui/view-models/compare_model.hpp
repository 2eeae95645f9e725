#pragma once

#include <QObject>
#include <QString>
#include <vector>

#include "fields/json_text.hpp"
#include "gui/view-models/exhibit.hpp"
#include "report/prediction.hpp"

namespace stepcast {

class ConfigurationModel;
class ForecastModel;

/// Configurations that were pinned, to be seen side by side with what is on screen.
class CompareModel : public QObject {
  Q_OBJECT
 public:
  CompareModel(ConfigurationModel& configuration, ForecastModel& forecast, QObject* parent = nullptr);

  /// Pins what is on screen; nothing while it is faulty.
  void pin();
  void remove(std::size_t index);
  void clear();
  [[nodiscard]] std::size_t count() const { return pins_.size(); }
  [[nodiscard]] QString name(std::size_t index) const { return pins_[index].name; }
  [[nodiscard]] const Json& document(std::size_t index) const { return pins_[index].document; }
  /// Puts a pinned configuration on screen again.
  void open(std::size_t index);

  /// The configurations side by side, each as it was predicted: `run.fidelity` says in which way.
  [[nodiscard]] std::vector<Json> compared() const;

  /// Where the step goes in each, and every figure beside the first one's.
  [[nodiscard]] Exhibit exhibit() const;

 Q_SIGNALS:
  void changed();

 private:
  struct Pin {
    QString name;
    Json document;
    Prediction prediction;
    bool simulated = false;
  };
  [[nodiscard]] std::vector<Pin> with_screen() const;

  ConfigurationModel& configuration_;
  ForecastModel& forecast_;
  std::vector<Pin> pins_;
};

/// Leaves in which two scenarios differ, in words: "nodes 64 → 128, recompute none → full".
QString differences_in_words(const Json& from, const Json& to);

}  // namespace stepcast
