#include "gui/views/tone_delegate.hpp"

#include "gui/theme/theme.hpp"
#include "gui/view-models/figure_table.hpp"

namespace stepcast {

void ToneDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  const ThemeColors& colors = theme_colors();
  switch (static_cast<FigureCell::Tone>(index.data(FigureTable::kToneRole).toInt())) {
    case FigureCell::Tone::good:
      option->palette.setColor(QPalette::Text, colors.good);
      break;
    case FigureCell::Tone::bad:
      option->palette.setColor(QPalette::Text, colors.bad);
      option->font.setBold(true);
      break;
    case FigureCell::Tone::muted:
      option->palette.setColor(QPalette::Text, colors.muted);
      break;
    case FigureCell::Tone::strong:
      option->font.setBold(true);
      break;
    case FigureCell::Tone::plain:
      break;
  }
}

}  // namespace stepcast
