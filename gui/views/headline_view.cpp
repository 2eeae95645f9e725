#include "gui/views/headline_view.hpp"

#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>
#include <numeric>

#include "gui/theme/theme.hpp"
#include "gui/view-models/prediction_exhibits.hpp"
#include "gui/views/elided_label.hpp"

namespace stepcast {

namespace {
// Pixels between tiles, and those in which a tile says what it is, not only its number.
constexpr int kSpacing = 6, kLeastTile = 100;
}  // namespace

/// A thin bar filled to a share; what passes the whole is drawn over its end.
class GaugeBar : public QWidget {
 public:
  explicit GaugeBar(QWidget* parent) : QWidget(parent) { setFixedHeight(5); }
  void set(double share) {
    share_ = share;
    setVisible(share >= 0);
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme_colors().raised);
    painter.drawRoundedRect(rect(), 2, 2);
    painter.setBrush(share_ > 1 ? theme_colors().bad : theme_colors().good);
    painter.drawRoundedRect(QRectF(0, 0, width() * std::min(1.0, share_), height()), 2, 2);
  }

 private:
  double share_ = 0;
};

HeadlineView::HeadlineView(QWidget* parent) : QWidget(parent) {
  grid_ = new QGridLayout(this);
  grid_->setContentsMargins(0, 0, 0, 0);
  grid_->setSpacing(kSpacing);
  for (std::size_t i = 0; i < blank_headline().size(); ++i) {
    Tile tile;
    tile.box = new QWidget(this);
    tile.box->setObjectName(QStringLiteral("tile"));
    tile.box->setAttribute(Qt::WA_StyledBackground);
    auto* column = new QVBoxLayout(tile.box);
    column->setContentsMargins(10, 6, 8, 6);
    column->setSpacing(1);
    tile.caption = new ElidedLabel(tile.box);
    tile.caption->setObjectName(QStringLiteral("caption"));
    tile.value = new QLabel(tile.box);
    QFont large = font();
    large.setPointSizeF(13);
    large.setBold(true);
    tile.value->setFont(large);
    tile.value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    tile.below = new QLabel(tile.box);
    tile.below->setObjectName(QStringLiteral("caption"));
    tile.below->setWordWrap(true);
    tile.gauge = new GaugeBar(tile.box);
    column->addWidget(tile.caption);
    column->addWidget(tile.value);
    column->addWidget(tile.below);
    column->addWidget(tile.gauge);
    column->addStretch(1);
    // A number is never cut; words below it are wrapped.
    tile.below->setMinimumWidth(10);
    tiles_.push_back(tile);
  }
  show_figures(blank_headline());
}

int HeadlineView::width_of(int columns) const {
  std::vector<int> widths(static_cast<std::size_t>(columns), kLeastTile);
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    int& width = widths[i % widths.size()];
    width = std::max(width, tiles_[i].box->minimumSizeHint().width());
  }
  return std::accumulate(widths.begin(), widths.end(), (columns - 1) * kSpacing);
}

void HeadlineView::arrange() {
  const int all = static_cast<int>(tiles_.size()), half = (all + 1) / 2;
  const int columns = width_of(all) <= width() ? all : half;
  if (columns == columns_) return;
  columns_ = columns;
  for (int i = 0; i < all; ++i) {
    QWidget* box = tiles_[static_cast<std::size_t>(i)].box;
    grid_->removeWidget(box);
    grid_->addWidget(box, i / columns, i % columns);
    grid_->setColumnStretch(i, i < columns ? 1 : 0);
  }
  updateGeometry();
}

QSize HeadlineView::minimumSizeHint() const {
  return {width_of((static_cast<int>(tiles_.size()) + 1) / 2), QWidget::minimumSizeHint().height()};
}

void HeadlineView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange();
}

void HeadlineView::show_figures(const std::vector<HeadlineFigure>& figures) {
  const ThemeColors& colors = theme_colors();
  for (std::size_t i = 0; i < std::min(figures.size(), tiles_.size()); ++i) {
    const HeadlineFigure& figure = figures[i];
    const Tile& tile = tiles_[i];
    tile.caption->setText(figure.caption);
    tile.value->setText(figure.value);
    tile.below->setText(figure.below);
    tile.gauge->set(figure.gauge);
    QColor color = colors.text;
    if (figure.tone == FigureCell::Tone::good) color = colors.good;
    if (figure.tone == FigureCell::Tone::bad) color = colors.bad;
    if (figure.tone == FigureCell::Tone::muted) color = colors.muted;
    QPalette palette = tile.value->palette();
    if (palette.color(QPalette::WindowText) != color) {
      palette.setColor(QPalette::WindowText, color);
      tile.value->setPalette(palette);
    }
    tile.box->setToolTip(figure.explanation);
    tile.box->setAccessibleName(figure.caption);
    tile.box->setAccessibleDescription(figure.value + QStringLiteral(", ") + figure.below);
  }
  arrange();
}

QString HeadlineView::value(const QString& caption) const {
  for (const Tile& tile : tiles_)
    if (tile.caption->text() == caption) return tile.value->text();
  return {};
}

}  // namespace stepcast
