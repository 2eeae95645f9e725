#include "gui/views/main_window.hpp"

#include <QApplication>
#include <QDockWidget>
#include <QHBoxLayout>
#include <QLabel>
#include <QStatusBar>
#include <QVBoxLayout>

#include "gui/theme/theme.hpp"
#include "gui/view-models/compare_model.hpp"
#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/forecast_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/prediction_exhibits.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/run_exhibits.hpp"
#include "gui/view-models/studies.hpp"
#include "gui/view-models/timeline_data.hpp"
#include "gui/view-models/timeline_model.hpp"
#include "gui/view-models/trace_exhibits.hpp"
#include "gui/view-models/workspace.hpp"
#include "gui/views/compare_tab.hpp"
#include "gui/views/configure_panel.hpp"
#include "gui/views/elided_label.hpp"
#include "gui/views/exhibit_view.hpp"
#include "gui/views/fabric_tab.hpp"
#include "gui/views/fault_banner.hpp"
#include "gui/views/headline_view.hpp"
#include "gui/views/layout_memory.hpp"
#include "gui/views/main_menu.hpp"
#include "gui/views/result_tabs.hpp"
#include "gui/views/server_browser.hpp"
#include "gui/views/status_line.hpp"
#include "gui/views/timeline_tab.hpp"
#include "gui/views/undo_keys.hpp"

namespace stepcast {

namespace {
/// Pixels that servers and devices have beside a long name.
constexpr int kLeastSummaryWidth = 180;
}  // namespace

MainWindow::MainWindow(Workspace& workspace, QWidget* parent)
    : QMainWindow(parent),
      workspace_(workspace),
      configuration_(workspace.configuration()),
      forecast_(workspace.forecast()) {
  setObjectName(QStringLiteral("main"));
  setAcceptDrops(true);
  resize(1480, 920);
  auto* center = new QWidget(this);
  auto* column = new QVBoxLayout(center);
  column->setContentsMargins(8, 8, 8, 4);
  column->setSpacing(6);
  column->addWidget(build_title(center));
  headline_ = new HeadlineView(center);
  column->addWidget(headline_);
  banner_ = new FaultBanner(configuration_, center);
  column->addWidget(banner_);
  tabs_ = new ResultTabs(center);
  timeline_ = new TimelineModel(forecast_, this);
  column->addWidget(tabs_, 1);
  setCentralWidget(center);
  build_configure();
  build_status_bar();
  add_tabs();
  MainMenu::build(*this);
  qApp->installEventFilter(new UndoKeys(this));
  layout_ = new LayoutMemory(*this);
  connect(banner_, &FaultBanner::wants_field, this, [this](const std::string& pointer) { configure_->focus(pointer); });
  connect(&forecast_, &ForecastModel::changed, this, &MainWindow::show_forecast);
  connect(&forecast_, &ForecastModel::state_changed, this, &MainWindow::show_state);
  connect(tabs_, &ResultTabs::opened, this, [this] { forecast_.want_trace(tabs_->needs_trace()); });
  show_forecast();
  show_state();
}

MainWindow::~MainWindow() = default;

void MainWindow::build_configure() {
  auto* dock = new QDockWidget(tr("Configure"), this);
  dock->setObjectName(QStringLiteral("configure"));
  dock->setFeatures(QDockWidget::DockWidgetMovable | QDockWidget::DockWidgetClosable);
  configure_ = new ConfigurePanel(configuration_, dock);
  dock->setWidget(configure_);
  addDockWidget(Qt::LeftDockWidgetArea, dock);
  resizeDocks({dock}, {390}, Qt::Horizontal);
  connect(configure_, &ConfigurePanel::wants_servers, this, [this] { tabs_->open(QStringLiteral("servers")); });
  connect(configure_, &ConfigurePanel::wants_own_model, this, &MainWindow::describe_own_model);
}

QWidget* MainWindow::build_title(QWidget* parent) {
  auto* out = new QWidget(parent);
  auto* row = new QHBoxLayout(out);
  row->setContentsMargins(2, 0, 2, 0);
  name_ = new ElidedLabel(out);
  name_->setObjectName(QStringLiteral("title"));
  summary_ = new ElidedLabel(out);
  summary_->setObjectName(QStringLiteral("muted"));
  summary_->setMinimumWidth(kLeastSummaryWidth);
  badge_ = new QLabel(out);
  badge_->setObjectName(QStringLiteral("caption"));
  row->addWidget(name_);
  row->addWidget(summary_, 1);
  row->addWidget(badge_);
  return out;
}

void MainWindow::build_status_bar() {
  status_ = new StatusLine(forecast_, this);
  statusBar()->addWidget(status_, 1);
}

void MainWindow::add_exhibits(const QString& name, const QString& title, std::function<std::vector<Exhibit>()> make,
                              bool from_trace) {
  auto* page = new QWidget(tabs_);
  page->setObjectName(QStringLiteral("surface"));
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addStretch(1);
  tabs_->add(
      name, title, page,
      [this, page, column, title, make = std::move(make)] {
        auto views = page->findChildren<ExhibitView*>(QString(), Qt::FindDirectChildrenOnly);
        const auto at = [&](std::size_t i) {
          if (static_cast<qsizetype>(i) == views.size()) {
            views << new ExhibitView(page);
            // Exhibits take the room that they can use; what is left stays below them.
            column->insertWidget(column->count() - 1, views.back(), 1000);
            views.back()->show();
          }
          return views[static_cast<qsizetype>(i)];
        };
        std::vector<Exhibit> exhibits;
        if (forecast_.shown() == nullptr) {
          at(0)->show_reason(title, tr("Nothing to show while the scenario is not complete."));
        } else {
          exhibits = make();
        }
        for (std::size_t i = 0; i < exhibits.size(); ++i) {
          at(i)->show_exhibit(std::move(exhibits[i]));
          column->setStretchFactor(at(i), at(i)->wanted_height());
        }
        // Those of an earlier forecast that had more are hidden; what stays is not laid out twice.
        for (qsizetype i = 0; i < views.size(); ++i)
          views[i]->setVisible(i < std::max<qsizetype>(1, static_cast<qsizetype>(exhibits.size())));
      },
      from_trace);
}

void MainWindow::add_tabs() {
  using Exhibits = std::vector<Exhibit>;
  add_command_studies();
  add_exhibits(QStringLiteral("step"), tr("Step"), [this] {
    return Exhibits{step_exhibit(*forecast_.shown()), communication_by_dimension(*forecast_.shown()),
                    assumptions_exhibit(*forecast_.shown())};
  });
  add_exhibits(QStringLiteral("memory"), tr("Memory"),
               [this] { return Exhibits{memory_exhibit(forecast_.shown()->memory)}; });
  add_exhibits(QStringLiteral("scaling"), tr("Scaling"), [this] {
    const int nodes = configuration_.effective("/cluster/nodes").get<int>();
    const auto scaling = [nodes](CommandStudy& study, ScalingMode mode) {
      const Json& answer = study.answer();
      return scaling_exhibit(answer, study.status(), mode, nodes);
    };
    return Exhibits{scaling(*strong_, ScalingMode::strong), scaling(*weak_, ScalingMode::weak)};
  });
  const auto from_timeline = [this](const QString& title, auto make) {
    if (const auto timeline = timeline_->data()) return make(*timeline);
    Exhibit none;
    none.title = title;
    none.remark = timeline_->reason();
    return none;
  };
  add_exhibits(
      QStringLiteral("communication"), tr("Communication"),
      [this, from_timeline] {
        const Prediction& shown = *forecast_.shown();
        return Exhibits{communication_by_kind(shown), communication_by_dimension(shown),
                        from_timeline(tr("Traffic by link"), links_exhibit)};
      },
      true);
  add_exhibits(
      QStringLiteral("power"), tr("Power"),
      [this] {
        return Exhibits{
            power_exhibit(configuration_, *forecast_.shown(), timeline_->data().get(), timeline_->reason())};
      },
      true);
  add_exhibits(QStringLiteral("cost"), tr("Cost"),
               [this] { return Exhibits{cost_exhibit(configuration_, *forecast_.shown())}; });
  add_exhibits(QStringLiteral("run"), tr("Run"), [this] { return run_exhibits(*forecast_.shown()); });
  add_exhibits(QStringLiteral("sensitivity"), tr("Sensitivity"), [this] {
    const Json& answer = explanation_->answer();
    return Exhibits{hardware_effects(answer, explanation_->status()), setting_effects(answer, explanation_->status())};
  });
  auto* timeline = new TimelineTab(*timeline_, tabs_);
  tabs_->add(
      QStringLiteral("timeline"), tr("Timeline"), timeline, [timeline] { timeline->refresh(); }, true);
  auto* fabric = new FabricTab(configuration_, *timeline_, tabs_);
  tabs_->add(
      QStringLiteral("fabric"), tr("Fabric"), fabric, [fabric] { fabric->refresh(); }, true);
  compare_ = new CompareModel(configuration_, forecast_, this);
  auto* compare = new CompareTab(*compare_, tabs_);
  tabs_->add(QStringLiteral("compare"), tr("Compare"), compare, [compare] { compare->refresh(); });
  add_studies();
  auto* servers = new ServerBrowser(configuration_, tabs_);
  tabs_->add(QStringLiteral("servers"), tr("Servers"), servers, [servers] { servers->show_current(); });
  connect(servers, &ServerBrowser::wants_own_server, this, &MainWindow::describe_own_server);
  connect(servers, &ServerBrowser::wants_to_edit, this, &MainWindow::edit_own_server);
  connect(servers, &ServerBrowser::wants_to_remove, this, &MainWindow::remove_own_server);
  connect(timeline_, &TimelineModel::changed, this, [this] {
    if (tabs_->needs_trace()) tabs_->refresh_all();
  });
  settled_.emplace_back([this] { return !timeline_->is_reading(); });
}

void MainWindow::show_forecast() {
  const Prediction* shown = forecast_.shown();
  headline_->show_figures(shown ? headline_figures(*shown) : blank_headline());
  const Json name = configuration_.value("/name");
  name_->setText(name.is_string() && !name.get<std::string>().empty() ? qt(name.get<std::string>())
                                                                      : tr("New scenario"));
  summary_->setText(shown ? tr("%1 · %2 · %3")
                                .arg(counted(shown->nodes, tr("server"), tr("servers")),
                                     counted(shown->devices, tr("device"), tr("devices")),
                                     degrees_in_words(shown->degrees))
                          : QString());
  const QString file = configuration_.file().empty() ? tr("unsaved") : qt(configuration_.file().filename().string());
  setWindowTitle(QStringLiteral("%1[*] – Stepcast").arg(file));
  setWindowModified(configuration_.is_modified());
  tabs_->refresh_all();
}

void MainWindow::show_state() {
  const bool valid = configuration_.is_valid();
  badge_->setText(!valid ? QString() : forecast_.is_simulated() ? tr("● simulated") : tr("○ closed form"));
  badge_->setToolTip(forecast_.is_simulated()
                         ? tr("Figures are those of the simulation")
                         : tr("Figures are those of the closed form; the simulation replaces them"));
}

bool MainWindow::is_settled() const {
  if (forecast_.is_busy()) return false;
  for (const auto& settled : settled_)
    if (!settled()) return false;
  return true;
}

void MainWindow::refresh_theme() {
  for (ExhibitView* view : findChildren<ExhibitView*>()) view->repaint_chart();
  show_forecast();
}

}  // namespace stepcast
