#include "gui/view-models/figure_table.hpp"

#include <algorithm>
#include <cmath>

#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"

namespace stepcast {

FigureCell number_cell(double value, const QString& unit) {
  if (std::isnan(value)) return {.text = QStringLiteral("—"), .number = 0, .tone = FigureCell::Tone::muted};
  return {.text = shown_number(value) + unit, .number = value, .unit = unit.trimmed()};
}

FigureCell whole_cell(double count) {
  if (std::isnan(count)) return number_cell(count);
  return {.text = shown_whole(std::lround(count)), .number = count};
}

namespace {

FigureCell with_unit(const QString& text, double number, const char* unit, FigureCell::Tone tone, double scale = 1) {
  return {.text = text, .number = number, .tone = tone, .unit = QLatin1String(unit), .scale = scale};
}

}  // namespace

FigureCell figure_cell(Seconds time, FigureCell::Tone tone) { return with_unit(shown(time), time.value(), "s", tone); }
FigureCell figure_cell(Bytes size, FigureCell::Tone tone) { return with_unit(shown(size), size.value(), "B", tone); }
FigureCell figure_cell(Watts power, FigureCell::Tone tone) { return with_unit(shown(power), power.value(), "W", tone); }
FigureCell figure_cell(Joules energy, FigureCell::Tone tone) {
  return with_unit(shown(energy), energy.value(), "J", tone);
}
FigureCell figure_cell(Dollars money, FigureCell::Tone tone) {
  return with_unit(shown(money), money.value(), "$", tone);
}
FigureCell share_cell(double share, FigureCell::Tone tone) {
  return with_unit(shown_percent(share), share, "%", tone, 100);
}
FigureCell change_cell(double share, FigureCell::Tone tone) {
  return with_unit((share >= 0 ? QStringLiteral("+") : QString()) + shown_percent(share), share, "%", tone, 100);
}

void FigureTable::set(Figures2D figures) {
  const bool same_shape = figures.headings == figures_.headings && figures.rows.size() == figures_.rows.size();
  if (same_shape && !figures.rows.empty()) {
    // The selection and the scroll bar stay where they are while figures change.
    figures_ = std::move(figures);
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    return;
  }
  beginResetModel();
  figures_ = std::move(figures);
  endResetModel();
}

int FigureTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(figures_.rows.size());
}

int FigureTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(figures_.headings.size());
}

QVariant FigureTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const auto& row = figures_.rows[static_cast<std::size_t>(index.row())];
  if (index.column() >= static_cast<int>(row.size())) return {};
  const FigureCell& cell = row[static_cast<std::size_t>(index.column())];
  const bool number = !std::isnan(cell.number);
  switch (role) {
    case Qt::DisplayRole:
      return cell.text;
    case Qt::ToolTipRole:
      return cell.tip.isEmpty() ? QVariant() : QVariant(cell.tip);
    case Qt::TextAlignmentRole:
      // Words stand where the numbers of their column do.
      return headerData(index.column(), Qt::Horizontal, role);
    case kSortRole:
      return number ? QVariant(cell.number) : QVariant(cell.text);
    case kToneRole:
      return static_cast<int>(cell.tone);
    default:
      return {};
  }
}

QVariant FigureTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section >= figures_.headings.size()) return {};
  if (role == Qt::DisplayRole) return figures_.headings[section];
  if (role == Qt::TextAlignmentRole) {
    const auto column = static_cast<std::size_t>(section);
    const bool numbers = std::any_of(figures_.rows.begin(), figures_.rows.end(), [&](const auto& row) {
      return column < row.size() && !std::isnan(row[column].number);
    });
    return static_cast<int>((numbers ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  return {};
}

namespace {

QString separated(const Figures2D& figures, const QString& separator, QString (*written)(const QString&)) {
  QString out;
  const auto line = [&](const QStringList& cells) {
    QStringList texts;
    for (const QString& cell : cells) texts << written(cell);
    out += texts.join(separator) + QLatin1Char('\n');
  };
  line(figures.headings);
  for (const auto& row : figures.rows) {
    QStringList cells;
    for (const FigureCell& cell : row) cells << cell.text;
    line(cells);
  }
  return out;
}

}  // namespace

namespace {

bool is_number(const FigureCell& cell) {
  return !std::isnan(cell.number) && !cell.text_says_more && cell.text != QStringLiteral("—");
}

/// The units of a column's numbers.
QStringList units_of(const Figures2D& figures, std::size_t column) {
  QStringList out;
  for (const auto& row : figures.rows)
    if (column < row.size() && is_number(row[column]) && !out.contains(row[column].unit)) out << row[column].unit;
  return out;
}

/// A cell as a spreadsheet has it.
QString bare(const FigureCell& cell, const QLocale& locale) {
  if (cell.text == QStringLiteral("—")) return {};
  if (!is_number(cell)) return cell.text;
  return locale.toString(cell.number * cell.scale, 'g', QLocale::FloatingPointShortest);
}

}  // namespace

Figures2D for_spreadsheet(const Figures2D& figures, const QLocale& locale) {
  QLocale plain_numbers = locale;
  plain_numbers.setNumberOptions(QLocale::OmitGroupSeparator);
  Figures2D out{figures.headings, {}};
  std::vector<bool> mixed;
  for (std::size_t column = 0; column < static_cast<std::size_t>(figures.headings.size()); ++column) {
    const QStringList units = units_of(figures, column);
    mixed.push_back(units.size() > 1);
    QString& heading = out.headings[static_cast<qsizetype>(column)];
    if (units.size() == 1 && !units.front().isEmpty()) heading = tr("%1, %2").arg(heading, units.front());
  }
  const bool says_units = std::find(mixed.begin(), mixed.end(), true) != mixed.end();
  if (says_units) out.headings.insert(1, tr("Unit"));
  for (const auto& row : figures.rows) {
    std::vector<FigureCell> cells;
    QString unit;
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (mixed[column] && is_number(row[column])) unit = row[column].unit;
      cells.push_back({.text = bare(row[column], plain_numbers)});
    }
    if (says_units) cells.insert(cells.begin() + 1, {.text = unit});
    out.rows.push_back(std::move(cells));
  }
  return out;
}

QString tab_separated(const Figures2D& figures) {
  return separated(figures, QStringLiteral("\t"), [](const QString& text) {
    return QString(text).replace(QLatin1Char('\t'), QLatin1Char(' ')).replace(QLatin1Char('\n'), QLatin1Char(' '));
  });
}

QString comma_separated(const Figures2D& figures) {
  return separated(figures, QStringLiteral(","), [](const QString& text) {
    if (!text.contains(QLatin1Char(',')) && !text.contains(QLatin1Char('"')) && !text.contains(QLatin1Char('\n')))
      return text;
    return QLatin1Char('"') + QString(text).replace(QLatin1String("\""), QLatin1String("\"\"")) + QLatin1Char('"');
  });
}

QString html_table(const Figures2D& figures, const QString& title) {
  const auto row = [](const QStringList& cells, const char* tag) {
    QString out = QStringLiteral("<tr>");
    for (const QString& cell : cells)
      out += QStringLiteral("<%1>%2</%1>").arg(QLatin1String(tag), cell.toHtmlEscaped());
    return out + QStringLiteral("</tr>\n");
  };
  QString out = QStringLiteral(
                    "<!doctype html><meta charset=\"utf-8\"><title>%1</title>\n"
                    "<style>body{font:14px system-ui,sans-serif;margin:2em}table{border-collapse:collapse}"
                    "td,th{padding:.3em .8em;border-bottom:1px solid #ccc;text-align:left}</style>\n"
                    "<h1>%1</h1>\n<table>\n")
                    .arg(title.toHtmlEscaped());
  out += row(figures.headings, "th");
  for (const auto& cells : figures.rows) {
    QStringList texts;
    for (const FigureCell& cell : cells) texts << cell.text;
    out += row(texts, "td");
  }
  return out + QStringLiteral("</table>\n");
}

}  // namespace stepcast
