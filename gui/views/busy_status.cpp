#include "gui/views/busy_status.hpp"

#include <QBoxLayout>
#include <QLabel>
#include <QProgressBar>

#include "gui/view-models/work_progress.hpp"

namespace stepcast {

namespace {
constexpr int kBarHeight = 8, kShortBar = 120;  // pixels
/// The bar's whole: fine enough that no step of it is seen.
constexpr int kParts = 1000;
}  // namespace

BusyStatus::BusyStatus(Qt::Orientation orientation, const QString& name, QWidget* parent) : QWidget(parent) {
  const bool vertical = orientation == Qt::Vertical;
  // It takes what its words need; a form has better use for the rest.
  if (vertical) setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  auto* layout = new QBoxLayout(vertical ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight, this);
  layout->setContentsMargins(0, 0, 0, 0);
  bar_ = new QProgressBar(this);
  bar_->setTextVisible(false);
  bar_->setFixedHeight(kBarHeight);
  if (!vertical) bar_->setFixedWidth(kShortBar);
  bar_->setAccessibleName(name);
  bar_->hide();
  words_ = new QLabel(this);
  words_->setObjectName(QStringLiteral("muted"));
  words_->setWordWrap(true);
  words_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  layout->addWidget(bar_);
  layout->addWidget(words_, 1);
}

void BusyStatus::show_running(const WorkProgress& progress) {
  const bool known = progress.share() >= 0;
  bar_->setRange(0, known ? kParts : 0);
  if (known) bar_->setValue(static_cast<int>(progress.share() * kParts));
  bar_->show();
  words_->setText(progress.words());
}

void BusyStatus::show_ended(const QString& words) {
  bar_->hide();
  words_->setText(words);
}

QString BusyStatus::words() const { return words_->text(); }

}  // namespace stepcast
