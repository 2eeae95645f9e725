#pragma once

#include <QWidget>
#include <vector>

#include "gui/view-models/server_catalogue.hpp"

class QComboBox;
class QHBoxLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;
class QTextBrowser;

namespace stepcast {

class ConfigurationModel;

/// The catalogue of servers: search, filters, a list and the specification card of the one that is selected.
class ServerBrowser : public QWidget {
  Q_OBJECT
 public:
  explicit ServerBrowser(ConfigurationModel& configuration, QWidget* parent = nullptr);
  /// Reads the catalogue again (after own hardware was added).
  void reload();
  void focus_search();
  /// Id of the selected server; empty: none.
  [[nodiscard]] std::string selected() const;
  /// Selects the server of the scenario, if nothing is selected yet.
  void show_current();

 Q_SIGNALS:
  void wants_own_server(const QString& like);
  void wants_to_edit(const QString& id);
  void wants_to_remove(const QString& id);

 private:
  void build_filters(QHBoxLayout& search, QHBoxLayout& row);
  void apply_filter();
  void show_selected();
  void take_selected();
  void select(const std::string& id);

  ConfigurationModel& configuration_;
  std::vector<ServerRow> rows_;
  FigureTable* table_;
  QTableView* view_;
  QLineEdit* words_;
  QComboBox *accelerator_, *memory_, *price_;
  QLabel* count_;
  QTextBrowser* card_;
  QPushButton *use_, *edit_, *remove_;
};

}  // namespace stepcast
