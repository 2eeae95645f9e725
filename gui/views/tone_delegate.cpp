#include "gui/views/tone_delegate.hpp"

#include <QAbstractItemView>
#include <QHelpEvent>
#include <QToolTip>

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

QString ToneDelegate::tip(const QModelIndex& index, const QStyleOptionViewItem& option) const {
  QString own = index.data(Qt::ToolTipRole).toString();
  if (!own.isEmpty()) return own;
  return sizeHint(option, index).width() > option.rect.width() ? index.data().toString() : QString();
}

bool ToneDelegate::helpEvent(QHelpEvent* event, QAbstractItemView* view, const QStyleOptionViewItem& option,
                             const QModelIndex& index) {
  if (event->type() != QEvent::ToolTip) return QStyledItemDelegate::helpEvent(event, view, option, index);
  QToolTip::showText(event->globalPos(), tip(index, option), view, option.rect);
  return true;
}

}  // namespace stepcast
