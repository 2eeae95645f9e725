#include "gui/views/main_menu.hpp"

#include <QApplication>
#include <QClipboard>
#include <QDesktopServices>
#include <QDockWidget>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QStatusBar>
#include <QUrl>

#include "gui/theme/theme.hpp"
#include "gui/view-models/compare_model.hpp"
#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/forecast_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/recent_files.hpp"
#include "gui/views/help.hpp"
#include "gui/views/main_window.hpp"
#include "gui/views/result_tabs.hpp"
#include "gui/views/server_browser.hpp"
#include "version.hpp"

namespace stepcast {

namespace {

/// Of tabs beyond the ninth.
constexpr std::array<std::pair<const char*, const char*>, 4> kTabKeys{
    {{"compare", "Ctrl+Shift+M"}, {"plan", "Ctrl+Shift+P"}, {"sweep", "Ctrl+Shift+E"}, {"calibrate", "Ctrl+Shift+K"}}};

/// How long the status bar confirms what nobody sees happen.
constexpr int kMessageMilliseconds = 4000;

template <class Do>
QAction* add(QMenu& menu, const QString& text, const QKeySequence& keys, Do&& what) {
  QAction* action = menu.addAction(text);
  action->setShortcut(keys);
  QObject::connect(action, &QAction::triggered, &menu, std::forward<Do>(what));
  return action;
}

/// An action that is on or off.
QAction* add_switch(QMenu& menu, const QString& text, bool on) {
  QAction* action = menu.addAction(text);
  action->setCheckable(true);
  action->setChecked(on);
  return action;
}

/// Both name the step that they would undo or repeat.
void add_undo(QMenu& edit, ConfigurationModel& model) {
  ConfigurationModel* configuration = &model;
  QAction* undo = add(edit, QObject::tr("&Undo"), QKeySequence::Undo, [=] { configuration->undo(); });
  QAction* redo = add(edit, QObject::tr("&Redo"), QKeySequence::Redo, [=] { configuration->redo(); });
  const auto name_steps = [=] {
    undo->setEnabled(configuration->can_undo());
    redo->setEnabled(configuration->can_redo());
    undo->setText(configuration->can_undo() ? QObject::tr("&Undo %1").arg(configuration->undo_text())
                                            : QObject::tr("&Undo"));
    redo->setText(configuration->can_redo() ? QObject::tr("&Redo %1").arg(configuration->redo_text())
                                            : QObject::tr("&Redo"));
  };
  QObject::connect(configuration, &ConfigurationModel::changed, undo, name_steps);
  name_steps();
}

void show_about(QWidget* parent) {
  QMessageBox::about(
      parent, QObject::tr("About Stepcast"),
      QObject::tr("<b>Stepcast %1</b><p>Cluster simulator and capacity planner for distributed "
                  "training.</p><p>Source code under the Apache License 2.0. This program uses Qt Charts "
                  "and is, as a binary, a combined work under the GNU General Public License, version "
                  "3.</p>")
          .arg(qt(kVersion)));
}

}  // namespace

void MainMenu::build(MainWindow& window) {
  QMenuBar& bar = *window.menuBar();
  fill_file(*bar.addMenu(QObject::tr("&File")), &window);
  fill_edit(*bar.addMenu(QObject::tr("&Edit")), &window);
  fill_simulation(*bar.addMenu(QObject::tr("&Simulation")), &window);
  fill_view(*bar.addMenu(QObject::tr("&View")), &window);
  fill_help(*bar.addMenu(QObject::tr("&Help")), &window);
}

void MainMenu::fill_file(QMenu& file, MainWindow* w) {
  add(file, QObject::tr("&New"), QKeySequence::New, [=] {
    if (w->may_discard()) w->configuration_.start_new();
  });
  add(file, QObject::tr("&Open …"), QKeySequence::Open, [=] { w->choose_and_open(); });
  add_recent(file, w);
  add_examples(file, w);
  file.addSeparator();
  add(file, QObject::tr("&Save"), QKeySequence::Save, [=] { w->save(); });
  add(file, QObject::tr("Save &as …"), QKeySequence::SaveAs, [=] { w->save_as(); });
  file.addSeparator();
  add(file, QObject::tr("&Quit"), QKeySequence::Quit, [=] { w->close(); });
}

void MainMenu::add_recent(QMenu& file, MainWindow* w) {
  QMenu& recent = *file.addMenu(QObject::tr("Open &recent"));
  QObject::connect(&recent, &QMenu::aboutToShow, &recent, [=, menu = &recent] {
    menu->clear();
    for (const QString& name : recent_files())
      menu->addAction(QString(name).replace(QLatin1String("&"), QLatin1String("&&")), [=] {
        if (w->may_discard()) w->open(plain(name));
      });
    menu->setEnabled(true);
    if (menu->isEmpty()) menu->addAction(QObject::tr("none yet"))->setEnabled(false);
  });
}

void MainMenu::add_examples(QMenu& file, MainWindow* w) {
  QMenu& examples = *file.addMenu(QObject::tr("&Examples"));
  for (const QString& name : example_scenarios())
    examples.addAction(QString(name).section(QLatin1Char('/'), -1).section(QLatin1Char('.'), 0, 0), [=] {
      if (w->may_discard()) w->open_example(plain(name));
    });
}

void MainMenu::fill_edit(QMenu& edit, MainWindow* w) {
  ConfigurationModel* configuration = &w->configuration_;
  add_undo(edit, *configuration);
  edit.addSeparator();
  add_copies(edit, w);
  add(edit, QObject::tr("&Pin what is on screen"), QKeySequence(QStringLiteral("Ctrl+D")),
      [compare = w->compare_] { compare->pin(); });
  add(edit, QObject::tr("&Find a server"), QKeySequence::Find, [=] {
    w->tabs().open(QStringLiteral("servers"));
    if (auto* servers = w->findChild<ServerBrowser*>()) servers->focus_search();
  });
  add(edit, QObject::tr("Choose a &strategy for me"), QKeySequence(QStringLiteral("Ctrl+G")),
      [=] { configuration->choose_strategy(); });
}

void MainMenu::add_copies(QMenu& edit, MainWindow* w) {
  ConfigurationModel* configuration = &w->configuration_;
  add(edit, QObject::tr("Copy the &command line"), QKeySequence(QStringLiteral("Ctrl+Shift+C")), [=] {
    configuration->finish_edits();
    QGuiApplication::clipboard()->setText(w->command_line());
    w->statusBar()->showMessage(QObject::tr("The command line is on the clipboard"), kMessageMilliseconds);
  })->setToolTip(QObject::tr("The command of stepcast that prints what is on screen"));
  add(edit, QObject::tr("Copy the scenario as &JSON"), {}, [=] {
    configuration->finish_edits();
    QGuiApplication::clipboard()->setText(qt(configuration->text()));
    w->statusBar()->showMessage(QObject::tr("The scenario is on the clipboard"), kMessageMilliseconds);
  });
}

void MainMenu::fill_simulation(QMenu& run, MainWindow* w) {
  ConfigurationModel* configuration = &w->configuration_;
  ForecastModel* forecast = &w->forecast_;
  add(run, QObject::tr("&Simulate now"), QKeySequence(Qt::Key_F5), [=] {
    configuration->finish_edits();
    forecast->simulate();
  });
  add(run, QObject::tr("&Cancel"), QKeySequence(Qt::Key_Escape), [=] { forecast->cancel(); });
  QAction* automatic = add_switch(run, QObject::tr("Simulate after each change"), true);
  QObject::connect(automatic, &QAction::toggled, forecast, &ForecastModel::set_automatic);
}

void MainMenu::fill_view(QMenu& view, MainWindow* w) {
  if (auto* dock = w->findChild<QDockWidget*>()) view.addAction(dock->toggleViewAction());
  QAction* dark = add_switch(view, QObject::tr("&Dark colours"), current_theme() == Theme::dark);
  QObject::connect(dark, &QAction::toggled, w, [=](bool on) {
    apply_theme(*qApp, on ? Theme::dark : Theme::light);
    QSettings().setValue(QStringLiteral("theme"), on ? QStringLiteral("dark") : QStringLiteral("light"));
    w->refresh_theme();
  });
  QAction* decimal =
      add_switch(view, QObject::tr("Sizes in GB, not GiB"), NumberFormat::sizes() == NumberFormat::Sizes::decimal);
  QObject::connect(decimal, &QAction::toggled, w, [=](bool on) {
    NumberFormat::set_sizes(on ? NumberFormat::Sizes::decimal : NumberFormat::Sizes::binary);
    QSettings().setValue(QStringLiteral("decimal_sizes"), on);
    w->show_forecast();
  });
  view.addSeparator();
  add_tabs(view, w);
}

void MainMenu::add_tabs(QMenu& view, MainWindow* w) {
  int number = 0;
  for (const QString& name : w->tabs().names()) {
    const QString title = w->tabs().tabText(number++);
    QKeySequence keys = number <= 9 ? QKeySequence(QStringLiteral("Ctrl+%1").arg(number)) : QKeySequence();
    for (const auto& [tab, of_tab] : kTabKeys)
      if (name == QLatin1String(tab)) keys = QKeySequence(QLatin1String(of_tab));
    add(view, title, keys, [=] { w->tabs().open(name); });
  }
}

void MainMenu::fill_help(QMenu& help, MainWindow* w) {
  add(help, QObject::tr("&Help on this tab"), QKeySequence(Qt::Key_F1),
      [=] { show_help(w, w->tabs().current_name()); });
  help.addAction(QObject::tr("&About Stepcast"), [=] { show_about(w); });
}

}  // namespace stepcast
