#include "gui/views/fault_banner.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <algorithm>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/form_fields.hpp"
#include "gui/view-models/qt_text.hpp"

namespace stepcast {

namespace {
constexpr std::size_t kMostShown = 4;
}

FaultBanner::FaultBanner(ConfigurationModel& configuration, QWidget* parent)
    : QFrame(parent), configuration_(configuration) {
  setObjectName(QStringLiteral("banner"));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 6, 12, 6);
  text_ = new QLabel(this);
  text_->setWordWrap(true);
  text_->setTextFormat(Qt::RichText);
  text_->setTextInteractionFlags(Qt::TextBrowserInteraction);
  text_->setAccessibleName(tr("What is wrong with the scenario"));
  connect(text_, &QLabel::linkActivated, this, [this](const QString& link) { Q_EMIT wants_field(plain(link)); });
  auto* choose = new QPushButton(tr("Choose a strategy for me"), this);
  choose->setToolTip(
      tr("The fastest strategy that leaves room in memory, or a plainer one that is as fast, for this model and these "
         "servers"));
  connect(choose, &QPushButton::clicked, this, [this] { configuration_.choose_strategy(); });
  choose_ = choose;
  row->addWidget(text_, 1);
  row->addWidget(choose_, 0, Qt::AlignVCenter);
  connect(&configuration_, &ConfigurationModel::changed, this, &FaultBanner::refresh);
  connect(&configuration_, &ConfigurationModel::refused, this, &FaultBanner::refresh);
  refresh();
}

namespace {

/// One line for each fault, as far as there is room.
QStringList lines_of(const std::vector<Fault>& faults) {
  QStringList lines;
  for (std::size_t i = 0; i < std::min(faults.size(), kMostShown); ++i) {
    const Fault& fault = faults[i];
    const FormField* field = field_of_fault(fault.pointer);
    const QString where =
        field ? QStringLiteral("<a href=\"%1\">%2</a>").arg(qt(field->pointer), field->label.toHtmlEscaped())
              : qt(fault.pointer).toHtmlEscaped();
    const std::string words = fault.suggestion.empty() ? fault.message : fault.message + "; " + fault.suggestion;
    lines << (where.isEmpty() ? qt(words).toHtmlEscaped()
                              : QStringLiteral("%1: %2").arg(where, qt(words).toHtmlEscaped()));
  }
  if (faults.size() > kMostShown) lines << QObject::tr("… and %1 more").arg(faults.size() - kMostShown);
  return lines;
}

}  // namespace

QString FaultBanner::words() const {
  QStringList lines;
  if (!configuration_.faults().empty())
    lines << QStringLiteral("<b>%1</b>").arg(tr("This cannot run yet.")) << lines_of(configuration_.faults());
  if (!configuration_.refusal().empty())
    lines << QStringLiteral("<b>%1</b>").arg(tr("The simulator refuses this: figures are those of the closed form."))
          << lines_of(configuration_.refusal());
  if (!configuration_.remark().isEmpty()) lines << configuration_.remark().toHtmlEscaped();
  return lines.join(QStringLiteral("<br>"));
}

void FaultBanner::refresh() {
  const QString text = words();
  setVisible(!text.isEmpty());
  text_->setText(text);
  const std::vector<Fault>& faults = configuration_.faults();
  choose_->setVisible(std::any_of(faults.begin(), faults.end(), [](const Fault& fault) {
    return fault.pointer.starts_with("/strategy") || fault.pointer == "/workload/global_batch" ||
           fault.pointer == "/workload";
  }));
}

}  // namespace stepcast
