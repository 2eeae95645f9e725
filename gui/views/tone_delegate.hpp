#pragma once

#include <QStyledItemDelegate>

namespace stepcast {

/// Draws the cells of a FigureTable in their tone; hovering over one that is cut says all of it.
class ToneDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  bool helpEvent(QHelpEvent* event, QAbstractItemView* view, const QStyleOptionViewItem& option,
                 const QModelIndex& index) override;
  /// What hovering over a cell says when it is so wide; empty: nothing that is not on screen.
  [[nodiscard]] QString tip(const QModelIndex& index, const QStyleOptionViewItem& option) const;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

}  // namespace stepcast
