#include "gui/views/busy_status.hpp"

#include <QBoxLayout>
#include <QLabel>
#include <QProgressBar>

#include "gui/view-models/work_progress.hpp"
#include "gui/views/share_bar.hpp"

namespace stepcast {

namespace {
constexpr int kHeight = 8, kShortBar = 120;  // pixels
}  // namespace

BusyStatus::BusyStatus(Qt::Orientation orientation, const QString& name, QWidget* parent) : QWidget(parent) {
  const bool vertical = orientation == Qt::Vertical;
  // It takes what its words need; a form has better use for the rest.
  if (vertical) setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  auto* layout = new QBoxLayout(vertical ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight, this);
  layout->setContentsMargins(0, 0, 0, 0);
  bar_ = new QProgressBar(this);
  bar_->setTextVisible(false);
  bar_->setFixedHeight(kHeight);
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
  show_share(*bar_, progress.share());
  bar_->show();
  words_->setText(progress.words());
}

void BusyStatus::show_ended(const QString& words) {
  bar_->hide();
  words_->setText(words);
}

QString BusyStatus::words() const { return words_->text(); }

}  // namespace stepcast
