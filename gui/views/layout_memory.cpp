#include "gui/views/layout_memory.hpp"

#include <QSettings>
#include <QSplitter>

#include "gui/views/exhibit_view.hpp"
#include "gui/views/main_window.hpp"
#include "gui/views/result_tabs.hpp"

namespace stepcast {

namespace {

const QString kGeometry = QStringLiteral("geometry"), kDocks = QStringLiteral("layout"), kTab = QStringLiteral("tab"),
              kTables = QStringLiteral("tables"), kSplitters = QStringLiteral("splitters");

QString key_of(const QString& tab, qsizetype exhibit) { return QStringLiteral("%1-%2").arg(tab).arg(exhibit); }

/// Those that are named; exhibits look after their own.
QList<QSplitter*> named_splitters(const MainWindow& window) {
  QList<QSplitter*> out;
  for (QSplitter* splitter : window.findChildren<QSplitter*>())
    if (!splitter->objectName().isEmpty()) out << splitter;
  return out;
}

}  // namespace

LayoutMemory::LayoutMemory(MainWindow& window) : QObject(&window), window_(window) {}

void LayoutMemory::restore() {
  QSettings settings;
  window_.restoreGeometry(settings.value(kGeometry).toByteArray());
  window_.restoreState(settings.value(kDocks).toByteArray());
  settings.beginGroup(kTables);
  for (const QString& key : settings.childKeys()) table_shares_[key] = settings.value(key).toDouble();
  settings.endGroup();
  settings.beginGroup(kSplitters);
  for (QSplitter* splitter : named_splitters(window_))
    splitter->restoreState(settings.value(splitter->objectName()).toByteArray());
  settings.endGroup();
  connect(&window_.tabs(), &ResultTabs::refreshed, this, &LayoutMemory::arrange_tables);
  window_.tabs().open(settings.value(kTab).toString());
  arrange_tables();
}

void LayoutMemory::arrange_tables() {
  const auto views = window_.tabs().currentWidget()->findChildren<ExhibitView*>();
  for (qsizetype i = 0; i < views.size(); ++i)
    if (const auto share = table_shares_.constFind(key_of(window_.tabs().current_name(), i));
        share != table_shares_.constEnd() && !views[i]->table_share())
      views[i]->set_table_share(*share);
}

void LayoutMemory::keep() {
  QSettings settings;
  settings.setValue(kGeometry, window_.saveGeometry());
  settings.setValue(kDocks, window_.saveState());
  settings.setValue(kTab, window_.tabs().current_name());
  const QStringList names = window_.tabs().names();
  settings.beginGroup(kTables);
  for (int tab = 0; tab < names.size(); ++tab) {
    const auto views = window_.tabs().widget(tab)->findChildren<ExhibitView*>();
    for (qsizetype i = 0; i < views.size(); ++i)
      if (const auto share = views[i]->table_share()) settings.setValue(key_of(names[tab], i), *share);
  }
  settings.endGroup();
  settings.beginGroup(kSplitters);
  for (const QSplitter* splitter : named_splitters(window_))
    settings.setValue(splitter->objectName(), splitter->saveState());
  settings.endGroup();
}

}  // namespace stepcast
