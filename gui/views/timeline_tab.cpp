#include "gui/views/timeline_tab.hpp"

#include <QCheckBox>
#include <QFile>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPainter>
#include <QPushButton>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/view-models/number_format.hpp"
#include "gui/view-models/timeline_data.hpp"
#include "gui/view-models/timeline_model.hpp"
#include "gui/views/elided_label.hpp"
#include "gui/views/file_choice.hpp"
#include "gui/views/timeline_canvas.hpp"

namespace stepcast {

namespace {

/// What the colours of the slices mean.
class Legend : public QWidget {
 public:
  explicit Legend(QWidget* parent) : QWidget(parent) {
    setFixedHeight(16);
    setMinimumWidth(380);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    QFont small = font();
    small.setPointSizeF(8);
    painter.setFont(small);
    int x = 0;
    for (const char* category : {"forward", "backward", "tensor", "data", "pipeline", "wait"}) {
      const QString name = QLatin1String(category);
      painter.fillRect(x, 4, 9, 9, TimelinePainter::color_of_category(name));
      painter.drawText(x + 13, 12, name);
      x += 13 + painter.fontMetrics().horizontalAdvance(name) + 12;
    }
  }
};

}  // namespace

TimelineTab::TimelineTab(TimelineModel& model, QWidget* parent) : QWidget(parent), model_(model) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(10, 8, 10, 8);
  column->setSpacing(6);
  auto* tools = new QHBoxLayout;
  canvas_ = new TimelineCanvas(this);
  build_tools(*tools);
  column->addLayout(tools);
  pages_ = new QStackedWidget(this);
  reason_ = new QLabel(this);
  reason_->setAlignment(Qt::AlignCenter);
  reason_->setWordWrap(true);
  reason_->setObjectName(QStringLiteral("muted"));
  pages_->addWidget(reason_);
  pages_->addWidget(canvas_);
  column->addWidget(pages_, 1);
  auto* foot = new QHBoxLayout;
  facts_ = new ElidedLabel(this);
  facts_->setObjectName(QStringLiteral("caption"));
  foot->addWidget(facts_, 1);
  foot->addWidget(new Legend(this));
  column->addLayout(foot);
  connect(&model_, &TimelineModel::changed, this, &TimelineTab::refresh);
  refresh();
}

void TimelineTab::build_tools(QHBoxLayout& row) {
  search_ = new QLineEdit(this);
  search_->setPlaceholderText(tr("Find operators: attention, all_reduce …"));
  search_->setAccessibleName(tr("Find operators"));
  search_->setClearButtonEnabled(true);
  search_->setMaximumWidth(280);
  connect(search_, &QLineEdit::textChanged, canvas_, &TimelineCanvas::set_words);
  connect(search_, &QLineEdit::textChanged, this, &TimelineTab::show_facts);
  connect(search_, &QLineEdit::returnPressed, this, &TimelineTab::search_on);
  auto* critical = new QCheckBox(tr("Critical path"), this);
  critical->setToolTip(tr("Only what the length of the step follows from is in full colour"));
  connect(critical, &QCheckBox::toggled, canvas_, &TimelineCanvas::set_critical);
  row.addWidget(search_, 2);
  row.addWidget(critical);
  row.addStretch(1);
  const auto button = [&](const QString& text, const QString& tip, auto what) {
    auto* out = new QToolButton(this);
    out->setText(text);
    out->setToolTip(tip);
    out->setAccessibleName(tip);
    connect(out, &QToolButton::clicked, this, what);
    row.addWidget(out);
  };
  button(QStringLiteral("−"), tr("Zoom out (−)"), [this] { canvas_->zoom(1 / 1.6, canvas_->width() / 2.0); });
  button(QStringLiteral("+"), tr("Zoom in (+)"), [this] { canvas_->zoom(1.6, canvas_->width() / 2.0); });
  button(tr("All"), tr("Show the whole step (Home)"), [this] { canvas_->show_all(); });
  button(tr("Perfetto …"), tr("Save the trace for ui.perfetto.dev"), [this] { save_trace(); });
  button(tr("PNG …"), tr("Save the picture"), [this] { save_picture(); });
}

void TimelineTab::refresh() {
  const auto timeline = model_.data();
  pages_->setCurrentIndex(timeline ? 1 : 0);
  reason_->setText(model_.reason());
  if (!timeline) {
    canvas_->show_data(nullptr);
    return facts_->clear();
  }
  canvas_->show_data(timeline);
  show_facts();
}

void TimelineTab::show_facts() {
  const auto timeline = model_.data();
  if (!timeline) return facts_->clear();
  facts_->setText(tr("%1 slices on %2 streams · Ctrl and wheel zooms, dragging moves%3")
                      .arg(shown_whole(static_cast<long>(timeline->events)),
                           shown_whole(static_cast<long>(timeline->tracks.size())),
                           timeline->cut_short ? tr(" · the trace has more slices than are shown") : QString()));
}

void TimelineTab::search_on() {
  if (!canvas_->next_match()) facts_->setText(tr("Nothing is called \"%1\"").arg(search_->text()));
}

void TimelineTab::save_picture() {
  const QString file = file_to_save(this, tr("Save the picture"), QStringLiteral("timeline.png"), tr("PNG (*.png)"));
  if (!file.isEmpty() && !canvas_->picture().save(file))
    QMessageBox::warning(this, tr("Save the picture"), tr("%1 cannot be written").arg(file));
}

void TimelineTab::save_trace() {
  if (!model_.data()) return;
  const QString file = file_to_save(this, tr("Save the trace"), QStringLiteral("step.json"), tr("Trace (*.json)"));
  if (file.isEmpty()) return;
  QFile::remove(file);
  if (!QFile::copy(model_.file(), file))
    QMessageBox::warning(this, tr("Save the trace"), tr("%1 cannot be written").arg(file));
}

}  // namespace stepcast
