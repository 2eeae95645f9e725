#include "gui/views/result_tabs.hpp"

#include <QScrollArea>
#include <QTabBar>

namespace stepcast {

ResultTabs::ResultTabs(QWidget* parent) : QTabWidget(parent) {
  setDocumentMode(false);
  tabBar()->setExpanding(false);
  tabBar()->setUsesScrollButtons(true);
  setAccessibleName(tr("Results"));
  connect(this, &QTabWidget::currentChanged, this, [this] {
    refresh_current();
    Q_EMIT opened();
  });
}

void ResultTabs::add(const QString& name, const QString& title, QWidget* widget, std::function<void()> refresh,
                     bool needs_trace) {
  tabs_.push_back({name, std::move(refresh), needs_trace, true});
  // Where a window is too small for what a page says, it scrolls rather than being squeezed.
  auto* scroll = new QScrollArea(this);
  scroll->setObjectName(QStringLiteral("surface"));
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->setWidget(widget);
  widget->setAutoFillBackground(false);
  addTab(scroll, title);
}

void ResultTabs::refresh_all() {
  for (Tab& tab : tabs_) tab.stale = true;
  refresh_current();
}

void ResultTabs::refresh(const QString& name) {
  for (Tab& tab : tabs_)
    if (tab.name == name) tab.stale = true;
  refresh_current();
}

void ResultTabs::refresh_current() {
  const auto index = static_cast<std::size_t>(currentIndex());
  if (currentIndex() < 0 || index >= tabs_.size() || !tabs_[index].stale) return;
  tabs_[index].stale = false;
  if (tabs_[index].refresh) tabs_[index].refresh();
  Q_EMIT refreshed();
}

bool ResultTabs::open(const QString& name) {
  for (std::size_t i = 0; i < tabs_.size(); ++i)
    if (tabs_[i].name.compare(name, Qt::CaseInsensitive) == 0) {
      setCurrentIndex(static_cast<int>(i));
      return true;
    }
  return false;
}

QString ResultTabs::current_name() const {
  return currentIndex() < 0 ? QString() : tabs_[static_cast<std::size_t>(currentIndex())].name;
}

QStringList ResultTabs::names() const {
  QStringList out;
  for (const Tab& tab : tabs_) out << tab.name;
  return out;
}

bool ResultTabs::needs_trace() const {
  return currentIndex() >= 0 && tabs_[static_cast<std::size_t>(currentIndex())].needs_trace;
}

}  // namespace stepcast
