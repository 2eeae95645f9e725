#pragma once

#include <QWidget>

#include "gui/view-models/exhibit.hpp"

class QChartView;
class QLabel;
class QSplitter;
class QTableView;

namespace stepcast {

class FigureTable;

/// A table of figures: sortable, with its cells' tones, copied by Ctrl+C (the selection, else all of it), exported from
/// its context menu.
QTableView* new_figure_view(FigureTable& table, const QString& accessible_name, QWidget* parent);

/// A heading, a chart and the table that says the same beside it.
class ExhibitView : public QWidget {
  Q_OBJECT
 public:
  explicit ExhibitView(QWidget* parent = nullptr);
  void show_exhibit(Exhibit exhibit);
  [[nodiscard]] const Exhibit& exhibit() const { return exhibit_; }
  /// Nothing to show yet, and why.
  void show_reason(const QString& title, const QString& why);
  [[nodiscard]] FigureTable& table() { return *table_; }
  /// Colours again after the theme changed.
  void repaint_chart();

 Q_SIGNALS:
  /// A point of a scatter, or a bar, was clicked: which series and which of its values.
  void clicked(int series, int index);

 private:
  Exhibit exhibit_;
  QLabel *title_, *remark_;
  QSplitter* split_;
  QChartView* chart_;
  FigureTable* table_;
  QTableView* view_;
};

}  // namespace stepcast
