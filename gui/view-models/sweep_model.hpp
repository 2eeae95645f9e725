#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <QTemporaryDir>
#include <filesystem>
#include <stop_token>
#include <vector>

#include "fields/json_text.hpp"
#include "gui/view-models/exhibit.hpp"
#include "gui/view-models/work_progress.hpp"

class QThread;

namespace stepcast {

class ConfigurationModel;
class ResultStore;

/// What varies: one parameter, or two, with values as `stepcast sweep --set` takes them.
struct SweepForm {
  QString first_path, first_values, second_path, second_values;
  bool simulate = false;
  QString store;  ///< file to keep the results in; empty: they go with the window
};

/// A sweep at work beside the window, or a store that was opened.
class SweepModel : public QObject {
  Q_OBJECT
 public:
  explicit SweepModel(ConfigurationModel& configuration, QObject* parent = nullptr);
  ~SweepModel() override;

  /// Starts, or goes on where the same sweep was stopped. Faults come with `finished`.
  void start(const SweepForm& form);
  void stop();
  /// Shows a store of the command line. Throws InputError when it is none.
  void open(const std::filesystem::path& store);
  [[nodiscard]] bool is_running() const { return thread_ != nullptr; }
  [[nodiscard]] const WorkProgress& progress() const { return progress_; }
  /// What the last sweep was asked, as options of `stepcast sweep`; empty before the first one.
  [[nodiscard]] const QStringList& options() const { return options_; }
  /// The scenario that was swept; null before the first one.
  [[nodiscard]] const Json& swept() const { return swept_; }
  /// The scenario on screen differs from the one that was swept in more than what varies.
  [[nodiscard]] bool is_outdated() const { return outdated_; }
  /// How the last sweep ended, or what was opened.
  [[nodiscard]] const QString& status() const { return status_; }
  void set_catalog_directories(std::vector<std::string> directories) { directories_ = std::move(directories); }

  /// Figures to look at, by column of the store.
  [[nodiscard]] static QStringList columns();
  void set_column(const QString& column);

  /// Values over two parameters, for a heatmap; empty with one.
  struct Grid {
    QString x_name, y_name;
    QStringList x, y;
    std::vector<double> values;  ///< row by row; not a number: no result
    std::vector<bool> fits;      ///< row by row: the devices' memory, and the servers'
  };
  [[nodiscard]] const Grid& grid() const { return grid_; }
  [[nodiscard]] const Exhibit& exhibit() const { return exhibit_; }

 Q_SIGNALS:
  void changed();

 private:
  struct Point {
    QString x, y;
    double value;
    bool fits;
  };
  void read_store();
  void show_nothing();
  void read_rows(const ResultStore& store, std::vector<Point>& points);
  void fill_grid(const std::vector<Point>& points);
  void draw_grid();
  [[nodiscard]] QString remark_on(const std::vector<Point>& points, long all) const;
  void look_at_configuration();
  /// While rows come: reads them again, but never so often that the window would do little else.
  void read_store_now_and_then();

  ConfigurationModel& configuration_;
  QTemporaryDir folder_;
  std::filesystem::path store_;
  QString status_, column_;
  QStringList options_;
  Json swept_;
  std::vector<std::string> varied_;  ///< pointers of what the sweep sets itself
  bool outdated_ = false;
  WorkProgress progress_;
  QElapsedTimer since_read_;
  qint64 reading_took_ = 0;  ///< milliseconds
  std::vector<std::string> directories_;
  QThread* thread_ = nullptr;
  std::stop_source stop_;
  Grid grid_;
  Exhibit exhibit_;
  int count_ = 0;
};

}  // namespace stepcast
