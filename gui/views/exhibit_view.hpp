#pragma once

#include <QWidget>
#include <optional>

#include "gui/view-models/exhibit.hpp"

class QLabel;
class QSplitter;

namespace stepcast {

class ChartLegend;
class ChartPane;
class FigureTable;
class FigureView;

/// A heading, what is wrong, a chart and the table that says the same beside it, or either alone.
class ExhibitView : public QWidget {
  Q_OBJECT
 public:
  explicit ExhibitView(QWidget* parent = nullptr);
  /// One without a series or a row has nothing to show: its remark says why.
  void show_exhibit(Exhibit exhibit);
  [[nodiscard]] const Exhibit& exhibit() const { return exhibit_; }
  /// Other words above the chart, which stays as it is.
  void set_remark(const QString& remark);
  /// Nothing to show yet, and why.
  void show_reason(const QString& title, const QString& why);
  /// Pixels that chart and table can make use of; 1 when there are none.
  [[nodiscard]] int wanted_height() const;
  /// Whether a part of the chart can be marked by dragging.
  void set_markable(bool markable);
  /// Rows of the exhibit's table that are selected.
  [[nodiscard]] std::vector<std::size_t> selected_rows() const;
  [[nodiscard]] FigureTable& table() { return *table_; }
  /// Colours again after the theme changed.
  void repaint_chart();
  /// Of the width, what the user gave the table; empty while he has not chosen.
  [[nodiscard]] std::optional<double> table_share() const { return share_; }
  void set_table_share(double share);

 Q_SIGNALS:
  /// A point of a scatter, or a bar, was clicked: which series and which of its values.
  void clicked(int series, int index);
  /// A part of the chart was marked, in the values of its axes.
  void marked(const QRectF& part);
  /// Enter or a double click on a row of the table; its place in the exhibit's table.
  void row_activated(std::size_t row);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  [[nodiscard]] bool has_chart() const { return !exhibit_.chart.series.empty(); }
  void say(const QString& warning, const QString& remark);
  void make_room_for_table();

  Exhibit exhibit_;
  std::optional<double> share_;
  QLabel *title_, *warning_, *remark_;
  QSplitter* split_;
  QWidget* drawing_;  ///< the chart and its legend
  ChartLegend* legend_;
  ChartPane* chart_;
  FigureTable* table_;
  FigureView* view_;
};

}  // namespace stepcast
