#pragma once

#include <QWidget>
#include <vector>

#include "gui/view-models/exhibit.hpp"

namespace stepcast {

/// What the colours of a chart mean, in as many lines as that takes: no name is cut that a line has room for.
class ChartLegend : public QWidget {
  Q_OBJECT
 public:
  explicit ChartLegend(QWidget* parent = nullptr);
  /// Hidden where the chart has none.
  void show_names_of(const ChartData& chart);
  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int width) const override;
  [[nodiscard]] QSize sizeHint() const override { return {0, heightForWidth(width())}; }
  /// Names that even a line of their own has no room for.
  [[nodiscard]] int cut_names() const;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Entry {
    QString name;
    QColor color;
    bool dashed = false;
  };
  [[nodiscard]] bool is_cut(const Entry& entry, const QRect& place) const;
  /// Where each entry goes in a legend of so many pixels.
  [[nodiscard]] std::vector<QRect> places(int width) const;

  std::vector<Entry> entries_;
};

}  // namespace stepcast
