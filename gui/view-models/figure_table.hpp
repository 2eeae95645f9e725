#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <QStringList>
#include <limits>
#include <vector>

namespace stepcast {

/// One cell of a table of figures.
struct FigureCell {
  enum class Tone { plain, good, bad, muted, strong };
  QString text;
  double number = std::numeric_limits<double>::quiet_NaN();  ///< what it sorts by; not a number: its text
  Tone tone = Tone::plain;
  QString tip;
};

/// A number with its unit; a dash where it is not one.
FigureCell number_cell(double value, const QString& unit = {});

/// A table of figures: headings and rows of as many cells.
struct Figures2D {
  QStringList headings;
  std::vector<std::vector<FigureCell>> rows;
};

/// The table that stands beside every chart: sortable, copyable, readable to screen readers.
class FigureTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  /// Role of the number that a cell sorts by, and of its tone.
  static constexpr int kSortRole = Qt::UserRole, kToneRole = Qt::UserRole + 1;

  using QAbstractTableModel::QAbstractTableModel;
  void set(Figures2D figures);
  [[nodiscard]] const Figures2D& figures() const { return figures_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  Figures2D figures_;
};

/// The whole table as text: columns apart by tabs (for spreadsheets), by commas, or as HTML.
QString tab_separated(const Figures2D& figures);
QString comma_separated(const Figures2D& figures);
QString html_table(const Figures2D& figures, const QString& title);

}  // namespace stepcast
