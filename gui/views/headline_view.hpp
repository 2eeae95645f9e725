#pragma once

#include <QWidget>
#include <vector>

class QLabel;

namespace stepcast {

struct HeadlineFigure;

/// The figures that decide, in a row of tiles.
class HeadlineView : public QWidget {
  Q_OBJECT
 public:
  explicit HeadlineView(QWidget* parent = nullptr);
  void show_figures(const std::vector<HeadlineFigure>& figures);
  /// What a tile says, for tests and screen readers.
  [[nodiscard]] QString value(const QString& caption) const;

 private:
  struct Tile {
    QWidget* box;
    QLabel *caption, *value, *below;
    class GaugeBar* gauge;
  };
  std::vector<Tile> tiles_;
};

}  // namespace stepcast
