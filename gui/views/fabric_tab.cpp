#include "gui/views/fabric_tab.hpp"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSlider>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/timeline_data.hpp"
#include "gui/view-models/timeline_model.hpp"
#include "gui/views/fabric_canvas.hpp"
#include "gui/views/figure_view.hpp"

namespace stepcast {

namespace {
constexpr int kSliderSteps = 1000;
/// Pixels in which both columns of the table are read.
constexpr int kLeastTableWidth = 250;
}  // namespace

FabricTab::FabricTab(ConfigurationModel& configuration, TimelineModel& timeline, QWidget* parent)
    : QWidget(parent), configuration_(configuration), timeline_(timeline) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 8, 12, 8);
  summary_ = new QLabel(this);
  summary_->setObjectName(QStringLiteral("muted"));
  summary_->setWordWrap(true);
  column->addWidget(summary_);
  auto* split = new QSplitter(Qt::Horizontal, this);
  split->setObjectName(QStringLiteral("fabric"));
  split->setChildrenCollapsible(false);
  canvas_ = new FabricCanvas(split);
  table_ = new FigureTable(this);
  auto* figures = new FigureView(*table_, tr("Figures of the selected place"), split);
  figures->setMinimumWidth(kLeastTableWidth);
  split->setSizes({760, 260});
  split->setStretchFactor(0, 1);
  column->addWidget(split, 1);
  auto* row = new QHBoxLayout;
  mean_ = new QCheckBox(tr("Mean over the step"), this);
  mean_->setChecked(true);
  slider_ = new QSlider(Qt::Horizontal, this);
  slider_->setRange(0, kSliderSteps);
  slider_->setValue(kSliderSteps / 2);
  slider_->setAccessibleName(tr("Time in the step"));
  time_ = new QLabel(this);
  time_->setMinimumWidth(80);
  row->addWidget(mean_);
  row->addWidget(slider_, 1);
  row->addWidget(time_);
  column->addLayout(row);
  connect(canvas_, &FabricCanvas::selected, this, &FabricTab::select);
  connect(mean_, &QCheckBox::toggled, this, &FabricTab::refresh);
  connect(slider_, &QSlider::valueChanged, this, [this] {
    if (mean_->isChecked()) {
      mean_->setChecked(false);
    } else {
      refresh();
    }
  });
  connect(&timeline_, &TimelineModel::changed, this, &FabricTab::refresh);
}

double FabricTab::share() const { return static_cast<double>(slider_->value()) / kSliderSteps; }

void FabricTab::refresh() {
  const Scenario* scenario = configuration_.scenario();
  data_ = timeline_.data();
  canvas_->show_drawing(nullptr, {});
  drawing_ = {};
  if (scenario == nullptr) {
    summary_->setText(tr("Nothing to show while the scenario is not complete."));
    table_->set({});
    return;
  }
  drawing_ = fabric_drawing(*scenario, data_.get());
  summary_->setText(data_ ? drawing_.summary : drawing_.summary + QStringLiteral(". ") + timeline_.reason());
  std::vector<double> utilisation;
  for (const FabricBox& box : drawing_.boxes) {
    const bool known = data_ && box.capacity > 0 && (box.up != nullptr || box.down != nullptr);
    const double rate = !known               ? 0
                        : mean_->isChecked() ? FabricDrawing::mean_rate(box, data_->end)
                                             : FabricDrawing::rate_at(box, share(), data_->end);
    utilisation.push_back(known ? rate / box.capacity : -1);
  }
  time_->setText(data_ && !mean_->isChecked() ? shown(Seconds(share() * static_cast<double>(data_->end) / 1e9))
                                              : QString());
  canvas_->show_drawing(&drawing_, std::move(utilisation));
  select(selected_);
}

void FabricTab::select(int box) {
  selected_ = box >= 0 && box < static_cast<int>(drawing_.boxes.size()) ? box : 0;
  canvas_->select(selected_);
  show_selected();
}

void FabricTab::show_selected() {
  if (drawing_.boxes.empty()) return table_->set({});
  const FabricBox& box = drawing_.boxes[static_cast<std::size_t>(selected_)];
  table_->set(fabric_box_figures(drawing_, box, data_.get(), share()));
}

}  // namespace stepcast
