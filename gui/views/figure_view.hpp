#pragma once

#include <QTableView>
#include <vector>

namespace stepcast {

class FigureTable;

/// A table of figures: sortable, with its cells' tones, copied by Ctrl+C (the selection, else all of it), exported from
/// its context menu. Columns are as wide as their words unless that leaves no room for others.
class FigureView : public QTableView {
 public:
  /// `table` must outlive the view.
  FigureView(FigureTable& table, const QString& accessible_name, QWidget* parent);
  /// Pixels in which nothing is cut.
  [[nodiscard]] int wanted_width();
  /// Gives columns their widths in a view of so many pixels; those that the user set stay until there are others.
  void place_columns(int width);

 private:
  void measure();

  std::vector<int> wanted_;  ///< pixels that each column's words take; empty: not measured since figures changed
  std::vector<int> placed_;  ///< pixels that columns were given
};

}  // namespace stepcast
