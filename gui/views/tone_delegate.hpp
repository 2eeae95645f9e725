#pragma once

#include <QStyledItemDelegate>

namespace stepcast {

/// Draws the cells of a FigureTable in their tone.
class ToneDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

}  // namespace stepcast
