#pragma once

#include <QMainWindow>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "fields/json_text.hpp"

class QLabel;
class QPushButton;

namespace stepcast {

class CalibrateModel;
class CommandStudy;
class CompareModel;
class ConfigurationModel;
class ConfigurePanel;
class ExhibitView;
class FaultBanner;
class FitModel;
class ForecastModel;
class HeadlineView;
class LayoutMemory;
class PlanModel;
class PlanTab;
class ResultTabs;
class StatusLine;
class SweepModel;
class TimelineModel;
class Workspace;

/// The window: the form on the left, the headline and the tabs of results on the right.
class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(Workspace& workspace, QWidget* parent = nullptr);
  ~MainWindow() override;

  /// Opens a scenario, or a question to the planner with its training; a file that cannot be read is said in a message.
  /// False then.
  bool open(const std::filesystem::path& file);
  /// Opens a copy of a scenario that comes with the program; it is saved under another name.
  bool open_example(const std::filesystem::path& file);
  [[nodiscard]] ResultTabs& tabs() { return *tabs_; }
  [[nodiscard]] ConfigurePanel& configure() { return *configure_; }
  [[nodiscard]] HeadlineView& headline() { return *headline_; }
  [[nodiscard]] StatusLine& status_line() { return *status_; }
  [[nodiscard]] LayoutMemory& layout_memory() { return *layout_; }
  /// The command of stepcast that prints what is on screen.
  [[nodiscard]] QString command_line() const;
  /// Nothing runs and everything on screen is up to date.
  [[nodiscard]] bool is_settled() const;
  /// Whether closing asks about unsaved changes (not in scripts and tests).
  void set_asks(bool asks) { asks_ = asks; }
  /// Whether files that are opened and saved join the recent ones (not in scripts).
  void set_remembers(bool remembers) { remembers_ = remembers; }
  void refresh_theme();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  friend class MainMenu;
  void build_configure();
  QWidget* build_title(QWidget* parent);
  void build_status_bar();
  void add_tabs();
  void add_studies();
  void add_command_studies();
  /// Directories of the catalogue, calibrations first, for what works beside the window.
  void hand_out_catalog();
  void use_calibration(const QString& file);
  void add_exhibits(const QString& name, const QString& title, std::function<std::vector<struct Exhibit>()> make,
                    bool from_trace = false);
  void show_forecast();
  void show_state();
  void describe_own_server(const QString& like);
  void edit_own_server(const QString& id);
  void edit_server(const std::string& text, const std::string& base, const std::string& replaces);
  void remove_own_server(const QString& id);
  void show_own_servers();
  void describe_own_model();
  /// False when the user would rather not lose his changes.
  bool may_discard();
  bool save();
  bool save_as();
  bool save_over_others();
  bool save_to(const std::filesystem::path& file);
  void choose_and_open();
  void open_question(Json question, const std::filesystem::path& file);
  void note_file(const std::filesystem::path& file);
  void complain(const QString& what, const QString& why);

  Workspace& workspace_;
  ConfigurationModel& configuration_;
  ForecastModel& forecast_;
  ConfigurePanel* configure_ = nullptr;
  HeadlineView* headline_ = nullptr;
  FaultBanner* banner_ = nullptr;
  ResultTabs* tabs_ = nullptr;
  TimelineModel* timeline_ = nullptr;
  CompareModel* compare_ = nullptr;
  CalibrateModel* calibrate_ = nullptr;
  SweepModel* sweep_ = nullptr;
  PlanModel* plan_ = nullptr;
  PlanTab* plan_tab_ = nullptr;
  FitModel* fit_ = nullptr;
  CommandStudy *strong_ = nullptr, *weak_ = nullptr, *explanation_ = nullptr;
  std::vector<std::pair<QString, CommandStudy*>> studies_;  ///< by the tab that shows their answers
  QLabel *name_ = nullptr, *summary_ = nullptr, *badge_ = nullptr;
  StatusLine* status_ = nullptr;
  LayoutMemory* layout_ = nullptr;
  std::vector<std::function<bool()>> settled_;  ///< of tabs that work in the background
  bool asks_ = true, remembers_ = true;
};

}  // namespace stepcast
