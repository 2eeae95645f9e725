#pragma once

#include <QAbstractTableModel>
#include <QLocale>
#include <QString>
#include <QStringList>
#include <limits>
#include <vector>

#include "units/quantity.hpp"

namespace stepcast {

/// One cell of a table of figures.
struct FigureCell {
  enum class Tone { plain, good, bad, muted, strong };
  QString text;
  double number = std::numeric_limits<double>::quiet_NaN();  ///< what it sorts by; not a number: its text
  Tone tone = Tone::plain;
  QString tip;
  QString unit;                 ///< of what a spreadsheet gets; empty: a plain number
  double scale = 1;             ///< what a spreadsheet gets for each 1 of the number
  bool text_says_more = false;  ///< the number is for sorting alone
};

/// A number with its unit; a dash where it is not one.
FigureCell number_cell(double value, const QString& unit = {});
/// A count, all its digits; a dash where it is not a number.
FigureCell whole_cell(double count);
/// A figure as people read it; spreadsheets get seconds, bytes, watts, joules, dollars and per cent.
FigureCell figure_cell(Seconds time, FigureCell::Tone tone = FigureCell::Tone::plain);
FigureCell figure_cell(Bytes size, FigureCell::Tone tone = FigureCell::Tone::plain);
FigureCell figure_cell(Watts power, FigureCell::Tone tone = FigureCell::Tone::plain);
FigureCell figure_cell(Joules energy, FigureCell::Tone tone = FigureCell::Tone::plain);
FigureCell figure_cell(Dollars money, FigureCell::Tone tone = FigureCell::Tone::plain);
FigureCell share_cell(double share, FigureCell::Tone tone = FigureCell::Tone::plain);
/// The same with its sign.
FigureCell change_cell(double share, FigureCell::Tone tone = FigureCell::Tone::plain);

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

/// The table for a spreadsheet: bare numbers with all their digits, their units in the headings. Where the units of a
/// column differ from row to row, a column says them. `locale`: of the decimal point.
Figures2D for_spreadsheet(const Figures2D& figures, const QLocale& locale);
/// The whole table as text: columns apart by tabs, by commas, or as HTML.
QString tab_separated(const Figures2D& figures);
QString comma_separated(const Figures2D& figures);
QString html_table(const Figures2D& figures, const QString& title);

}  // namespace stepcast
