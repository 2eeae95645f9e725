#include "gui/views/configure_panel.hpp"

#include <QCheckBox>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QStyle>
#include <QVBoxLayout>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/form_fields.hpp"
#include "gui/views/field_editor.hpp"

namespace stepcast {

namespace {
constexpr int kLabelWidth = 128;
}

ConfigurePanel::ConfigurePanel(ConfigurationModel& configuration, QWidget* parent)
    : QScrollArea(parent), configuration_(configuration) {
  setObjectName(QStringLiteral("surface"));
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  build();
  connect(&configuration_, &ConfigurationModel::changed, this, &ConfigurePanel::refresh);
  connect(&configuration_, &ConfigurationModel::refused, this, &ConfigurePanel::refresh);
}

void ConfigurePanel::build() {
  editors_.clear();
  more_.clear();
  auto* form = new QWidget;
  form->setObjectName(QStringLiteral("surface"));
  auto* layout = new QVBoxLayout(form);
  layout->setContentsMargins(12, 6, 12, 12);
  layout->setSpacing(4);
  for (const FormSection& section : form_sections()) layout->addWidget(section_widget(section));
  layout->addStretch(1);
  setWidget(form);
  // It does not scroll sideways: what it needs, it gets.
  form->ensurePolished();
  setMinimumWidth(form->minimumSizeHint().width() + style()->pixelMetric(QStyle::PM_ScrollBarExtent));
}

void ConfigurePanel::rebuild() { build(); }

QWidget* ConfigurePanel::section_widget(const FormSection& section) {
  auto* out = new QWidget;
  auto* layout = new QVBoxLayout(out);
  layout->setContentsMargins(0, 8, 0, 0);
  layout->setSpacing(4);
  auto* title = new QLabel(section.title, out);
  title->setObjectName(QStringLiteral("section"));
  layout->addWidget(title);
  if (section.title == QLatin1String("Strategy")) add_strategy_choice(*layout, out);
  const auto new_grid = [](QWidget* parent) {
    auto* grid = new QGridLayout(parent);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(4);
    grid->setColumnMinimumWidth(0, kLabelWidth);
    grid->setColumnStretch(1, 1);
    return grid;
  };
  auto* main = new QWidget(out);
  QGridLayout* main_grid = new_grid(main);
  auto* body = new QWidget(out);
  QGridLayout* more_grid = new_grid(body);
  int hidden = 0;
  for (const FormField& field : section.fields) {
    if (!field.main) ++hidden;
    add_field(field.main ? *main_grid : *more_grid, field, field.main ? main : body);
  }
  layout->addWidget(main);
  body->hide();
  auto* button = new QPushButton(tr("More (%1)").arg(hidden), out);
  button->setCheckable(true);
  button->setFlat(true);
  button->setAccessibleName(tr("More fields of %1").arg(section.title));
  connect(button, &QPushButton::toggled, body, [button, body, hidden](bool open) {
    body->setVisible(open);
    button->setText(open ? tr("Less") : tr("More (%1)").arg(hidden));
  });
  if (hidden > 0) {
    layout->addWidget(body);
    layout->addWidget(button, 0, Qt::AlignRight);
  } else {
    button->hide();
  }
  more_.push_back({button, body});
  return out;
}

void ConfigurePanel::add_strategy_choice(QVBoxLayout& layout, QWidget* parent) {
  follows_ = new QCheckBox(tr("Choose for me when servers or model change"), parent);
  follows_->setToolTip(tr("Takes the fastest strategy that leaves room in memory, or a plainer one that is as fast"));
  follows_->setChecked(configuration_.strategy_follows());
  connect(follows_, &QCheckBox::toggled, this, [this](bool on) { configuration_.set_strategy_follows(on); });
  layout.addWidget(follows_);
}

void ConfigurePanel::add_field(QGridLayout& grid, const FormField& field, QWidget* parent) {
  const int row = grid.rowCount();
  auto* editor = new FieldEditor(field, configuration_, parent);
  editors_.push_back(editor);
  auto* label =
      new QLabel(field.unit.isEmpty() ? field.label : QStringLiteral("%1, %2").arg(field.label, field.unit), parent);
  label->setBuddy(editor->editor());
  label->setToolTip(editor->editor()->toolTip());
  label->setWordWrap(true);
  // All of the column is for it: a label that keeps to the left is cut where its words would need a second line.
  grid.addWidget(label, row, 0, Qt::AlignTop);
  label->setContentsMargins(0, 4, 0, 0);
  const bool server = field.pointer == "/cluster/node", model = field.pointer == "/workload/model";
  if (!server && !model) {
    grid.addWidget(editor, row, 1, 1, 2);
    return;
  }
  grid.addWidget(editor, row, 1);
  auto* browse = new QPushButton(server ? tr("Browse") : tr("Own …"), parent);
  browse->setToolTip(server ? tr("Search the catalogue and see specifications")
                            : tr("Describe a model, or read a Hugging Face config.json"));
  grid.addWidget(browse, row, 2, Qt::AlignTop);
  connect(browse, &QPushButton::clicked, this, [this, server] {
    if (server) {
      Q_EMIT wants_servers();
    } else {
      Q_EMIT wants_own_model();
    }
  });
}

FieldEditor* ConfigurePanel::editor(const std::string& pointer) {
  for (FieldEditor* editor : editors_) {
    if (editor->field().pointer != pointer) continue;
    for (const More& more : more_)
      if (more.body->isAncestorOf(editor)) more.button->setChecked(true);
    return editor;
  }
  return nullptr;
}

void ConfigurePanel::focus(const std::string& pointer) {
  FieldEditor* found = editor(pointer);
  if (found == nullptr) return;
  ensureWidgetVisible(found);
  found->editor()->setFocus();
}

void ConfigurePanel::refresh() {
  for (FieldEditor* editor : editors_) editor->refresh();
  if (follows_) {
    const QSignalBlocker quiet(follows_);
    follows_->setChecked(configuration_.strategy_follows());
  }
  // A field that is at fault is never out of sight.
  for (FieldEditor* field : editors_)
    if (!field->fault().isEmpty()) editor(field->field().pointer);
}

}  // namespace stepcast
