#pragma once

#include <QWidget>
#include <vector>

class QGridLayout;
class QLabel;

namespace stepcast {

struct HeadlineFigure;

/// The figures that decide, in a row of tiles; in two where a window is too narrow for one.
class HeadlineView : public QWidget {
  Q_OBJECT
 public:
  explicit HeadlineView(QWidget* parent = nullptr);
  void show_figures(const std::vector<HeadlineFigure>& figures);
  /// What a tile says, for tests and screen readers.
  [[nodiscard]] QString value(const QString& caption) const;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// Pixels that so many tiles in a row need.
  [[nodiscard]] int width_of(int columns) const;
  void arrange();

  struct Tile {
    QWidget* box;
    QLabel *caption, *value, *below;
    class GaugeBar* gauge;
  };
  std::vector<Tile> tiles_;
  QGridLayout* grid_;
  int columns_ = 0;
};

}  // namespace stepcast
