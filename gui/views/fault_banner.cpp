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
      tr("The strategy with the least communication that fits memory, for this model and these servers"));
  connect(choose, &QPushButton::clicked, this, [this] { configuration_.choose_strategy(); });
  choose_ = choose;
  row->addWidget(text_, 1);
  row->addWidget(choose_, 0, Qt::AlignVCenter);
  connect(&configuration_, &ConfigurationModel::changed, this, &FaultBanner::refresh);
  refresh();
}

void FaultBanner::refresh() {
  const std::vector<Fault>& faults = configuration_.faults();
  setVisible(!faults.empty());
  if (faults.empty()) return;
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
  if (faults.size() > kMostShown) lines << tr("… and %1 more").arg(faults.size() - kMostShown);
  text_->setText(QStringLiteral("<b>%1</b><br>%2").arg(tr("This cannot run yet."), lines.join(QStringLiteral("<br>"))));
  choose_->setVisible(std::any_of(faults.begin(), faults.end(), [](const Fault& fault) {
    return fault.pointer.starts_with("/strategy") || fault.pointer == "/workload/global_batch" ||
           fault.pointer == "/workload";
  }));
}

}  // namespace stepcast
