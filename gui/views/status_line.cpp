#include "gui/views/status_line.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QTimer>
#include <QToolButton>

#include "gui/view-models/forecast_model.hpp"
#include "gui/views/share_bar.hpp"

namespace stepcast {

namespace {
constexpr int kRefreshMilliseconds = 200;
constexpr int kBarWidth = 120, kBarHeight = 10;  // pixels
}  // namespace

StatusLine::StatusLine(ForecastModel& forecast, QWidget* parent) : QWidget(parent), forecast_(forecast) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(8, 0, 0, 0);
  words_ = new QLabel(this);
  words_->setMinimumWidth(50);
  bar_ = new QProgressBar(this);
  bar_->setFixedSize(kBarWidth, kBarHeight);
  bar_->setTextVisible(false);
  bar_->setAccessibleName(tr("How far what runs is"));
  cancel_ = new QToolButton(this);
  cancel_->setText(tr("Cancel"));
  cancel_->setToolTip(tr("Stop what runs: the simulation first (Esc), then the others; the closed form stays"));
  connect(cancel_, &QToolButton::clicked, this, &StatusLine::stop);
  row->addWidget(words_, 1);
  row->addWidget(bar_);
  row->addWidget(cancel_);
  auto* tick = new QTimer(this);
  connect(tick, &QTimer::timeout, this, &StatusLine::refresh);
  tick->start(kRefreshMilliseconds);
  connect(&forecast_, &ForecastModel::state_changed, this, &StatusLine::refresh);
  refresh();
}

void StatusLine::add(Work work) { works_.push_back(std::move(work)); }

QString StatusLine::words() const { return words_->text(); }

void StatusLine::refresh() {
  QStringList parts{forecast_.status()};
  bool runs = forecast_.is_busy();
  double share = runs ? forecast_.progress().share() : -1;
  for (const Work& work : works_) {
    if (!work.runs()) continue;
    const WorkProgress progress = work.progress();
    parts << progress.words();
    if (!runs) share = progress.share();
    runs = true;
  }
  const QString words = parts.join(QStringLiteral("   ·   "));
  if (words_->text() != words) words_->setText(words);
  show_share(*bar_, share);
  bar_->setVisible(runs);
  cancel_->setVisible(runs);
}

void StatusLine::stop() {
  if (forecast_.is_busy()) return forecast_.cancel();
  for (const Work& work : works_)
    if (work.runs()) return work.stop();
}

}  // namespace stepcast
