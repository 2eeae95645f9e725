#include "gui/views/field_editor.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QCompleter>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QStandardItemModel>
#include <QStyle>
#include <QVBoxLayout>
#include <functional>
#include <utility>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/listed_ids.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"

namespace stepcast {

namespace {

constexpr int kEditorHeight = 25;

/// A list that is told when it opens.
class OpeningCombo : public QComboBox {
 public:
  OpeningCombo(std::function<void()> opens, QWidget* parent) : QComboBox(parent), opens_(std::move(opens)) {}
  void showPopup() override {
    opens_();
    QComboBox::showPopup();
  }

 private:
  std::function<void()> opens_;
};

/// Keys that go through a list without opening it.
bool goes_through_list(const QKeyEvent& event) {
  const int key = event.key();
  return key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp || key == Qt::Key_PageDown;
}

/// As a person would type it: a string without quotes.
QString typed(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return qt(value.get<std::string>());
  if (value.is_object() && value.contains("id")) return QObject::tr("own model");
  if (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()) && value.get<double>() < 1e15)
    return value.get<double>() < 1e7 ? QString::number(value.get<long>())
                                     : QString::number(value.get<double>(), 'g', 12).remove(QLatin1Char('+'));
  if (value.is_number_float()) return number_to_type(qt(value.dump()));
  return qt(value.dump());
}

void mark(QWidget& widget, bool faulty) {
  if (widget.property("faulty").toBool() == faulty) return;
  widget.setProperty("faulty", faulty);
  widget.style()->unpolish(&widget);
  widget.style()->polish(&widget);
}

}  // namespace

FieldEditor::FieldEditor(const FormField& field, ConfigurationModel& configuration, QWidget* parent)
    : QWidget(parent), field_(field), configuration_(configuration) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(1);
  const bool optional = field.standard.is_null();
  if (field.kind == FieldKind::flag && !optional) {
    make_check();
  } else if (field.kind == FieldKind::choice || field.kind == FieldKind::flag) {
    make_combo(false);
  } else if (!field.refers_to.empty() || field.counted) {
    make_combo(true);
  } else {
    make_line();
  }
  QWidget* widget = editor();
  widget->setAccessibleName(field.label);
  widget->setAccessibleDescription(field.doc);
  widget->setToolTip(
      QStringLiteral("<p>%1</p><p><code>%2</code></p>").arg(field.doc.toHtmlEscaped(), qt(field.pointer)));
  widget->setObjectName(qt(field.pointer));
  widget->setMinimumHeight(kEditorHeight);
  widget->installEventFilter(this);
  layout->addWidget(widget);
  fault_ = new QLabel(this);
  fault_->setObjectName(QStringLiteral("fault"));
  fault_->setWordWrap(true);
  fault_->hide();
  layout->addWidget(fault_);
  connect(&configuration_, &ConfigurationModel::finishing, this, &FieldEditor::finish);
  refresh();
}

QWidget* FieldEditor::editor() const {
  if (combo_) return combo_;
  if (line_) return line_;
  return check_;
}

QString FieldEditor::fault() const { return fault_->isHidden() ? QString() : fault_->text(); }

void FieldEditor::make_check() {
  check_ = new QCheckBox(this);
  connect(check_, &QCheckBox::toggled, this, [this](bool on) {
    const bool standard = field_.standard.get<bool>();
    configuration_.set_value(field_.pointer, on == standard ? Json(nullptr) : Json(on));
  });
}

void FieldEditor::make_line() {
  line_ = new QLineEdit(this);
  connect(line_, &QLineEdit::textEdited, this, &FieldEditor::take_line_text);
  connect(line_, &QLineEdit::editingFinished, this, [this] { configuration_.end_typing(); });
}

void FieldEditor::make_combo(bool editable) {
  combo_ = new OpeningCombo([this] { offer_legal_values(); }, this);
  combo_->setEditable(editable);
  combo_->setFocusPolicy(Qt::StrongFocus);
  combo_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  combo_->setMinimumContentsLength(8);
  combo_->setMaxVisibleItems(18);
  combo_->setInsertPolicy(QComboBox::NoInsert);
  fill_choices();
  if (editable) {
    auto* completer = new QCompleter(combo_->model(), combo_);
    completer->setFilterMode(Qt::MatchContains);
    completer->setCaseSensitivity(Qt::CaseInsensitive);
    combo_->setCompleter(field_.counted ? nullptr : completer);
    connect(combo_->lineEdit(), &QLineEdit::editingFinished, this,
            [this] { take_combo_text(combo_->lineEdit()->text()); });
    connect(combo_, &QComboBox::textActivated, this, &FieldEditor::take_combo_text);
    combo_->lineEdit()->setAccessibleName(field_.label);
  } else {
    connect(combo_, &QComboBox::activated, this, [this](int index) {
      const QVariant chosen = combo_->itemData(index);
      Json value;
      if (chosen.isValid())
        value = field_.kind == FieldKind::flag ? Json(chosen.toBool()) : Json(plain(chosen.toString()));
      configuration_.set_value(field_.pointer, value == field_.standard ? Json(nullptr) : value);
    });
  }
}

void FieldEditor::fill_choices() {
  combo_->clear();
  const bool optional = field_.standard.is_null();
  if (!combo_->isEditable() && optional) combo_->addItem(default_words());
  if (field_.kind == FieldKind::flag) {
    combo_->addItem(tr("yes"), true);
    combo_->addItem(tr("no"), false);
  }
  for (const QString& choice : field_.choices) combo_->addItem(choice, choice);
  if (!field_.refers_to.empty())
    for (const QString& id : listed_ids(field_, configuration_.catalog())) combo_->addItem(id, id);
}

/// What of a list would be illegal is greyed out and says why; counts are listed if they are legal.
void FieldEditor::offer_legal_values() {
  const bool chosen_from = field_.kind == FieldKind::choice || field_.refers_to == "frameworks";
  if (field_.counted) return offer_legal_counts();
  if (!chosen_from) return;
  auto* items = qobject_cast<QStandardItemModel*>(combo_->model());
  for (const auto& value : configuration_.legal_values(field_)) {
    const int index = combo_->findText(value.text);
    if (items == nullptr || index < 0) continue;
    items->item(index)->setEnabled(value.why_not.isEmpty());
    items->item(index)->setToolTip(value.why_not);
  }
}

/// What is being typed stays as it is.
void FieldEditor::offer_legal_counts() {
  const QSignalBlocker quiet(combo_);
  QLineEdit& line = *combo_->lineEdit();
  const QString text = line.text();
  const bool typed = line.isModified();
  combo_->clear();
  for (const auto& value : configuration_.legal_values(field_)) combo_->addItem(value.text);
  combo_->setCurrentIndex(combo_->findText(text));
  combo_->setEditText(text);
  line.setModified(typed);
}

bool FieldEditor::eventFilter(QObject* watched, QEvent* event) {
  // Scrolling over the form must not change it.
  if (event->type() == QEvent::Wheel && !static_cast<QWidget*>(watched)->hasFocus()) {
    event->ignore();
    return true;
  }
  // What is typed into a list to choose from finds its values; what is typed into the others is no choice yet.
  if (combo_ != nullptr && event->type() == QEvent::KeyPress &&
      (!combo_->isEditable() || goes_through_list(*static_cast<QKeyEvent*>(event))))
    offer_legal_values();
  return QWidget::eventFilter(watched, event);
}

QString FieldEditor::default_words() const {
  const Json effective = configuration_.effective(field_.pointer);
  if (!effective.is_null() && !effective.is_array()) return tr("default: %1").arg(typed(effective));
  if (!field_.standard.is_null() && field_.standard.is_primitive())
    return tr("default: %1").arg(typed(field_.standard));
  return tr("default");
}

void FieldEditor::refresh() {
  if (check_) {
    const QSignalBlocker quiet(check_);
    const Json value = configuration_.value(field_.pointer);
    check_->setChecked(value.is_boolean() ? value.get<bool>() : field_.standard.get<bool>());
  }
  if (combo_) show_combo_value();
  if (line_) show_line_value();
  const QString fault = configuration_.fault_text(field_.pointer);
  fault_->setText(fault);
  fault_->setVisible(!fault.isEmpty());
  mark(*editor(), !fault.isEmpty());
}

void FieldEditor::show_combo_value() {
  const QSignalBlocker quiet(combo_);
  const Json value = configuration_.value(field_.pointer);
  if (combo_->isEditable()) {
    combo_->lineEdit()->setPlaceholderText(default_words());
    if (combo_->lineEdit()->hasFocus() && combo_->lineEdit()->isModified()) return;
    combo_->setCurrentIndex(combo_->findText(typed(value)));
    combo_->setEditText(typed(value));
    // Where there is no room for all of a name, its beginning is seen.
    if (!combo_->lineEdit()->hasFocus()) combo_->lineEdit()->setCursorPosition(0);
    return;
  }
  if (field_.standard.is_null()) combo_->setItemText(0, default_words());
  const Json shown = value.is_null() ? field_.standard : value;
  if (shown.is_null()) return combo_->setCurrentIndex(0);
  const int index = shown.is_boolean() ? combo_->findData(shown.get<bool>()) : combo_->findData(typed(shown));
  combo_->setCurrentIndex(index);
  if (index < 0) combo_->setPlaceholderText(typed(shown));
}

void FieldEditor::show_line_value() {
  line_->setPlaceholderText(default_words());
  const Json value = configuration_.value(field_.pointer);
  if (line_->hasFocus() && parsed(line_->text()) == value) return;
  line_->setText(typed(value));
}

/// What was typed, as JSON: a number where it is one, else the words, about which the scenario's own parser will
/// complain as it does in a file.
Json FieldEditor::parsed(const QString& text) const {
  const QString trimmed = text.trimmed();
  if (trimmed.isEmpty()) return nullptr;
  if (field_.kind == FieldKind::text && !field_.counted) return plain(trimmed);
  const bool number = field_.kind == FieldKind::integer || field_.kind == FieldKind::number;
  Json value = Json::parse(plain(number ? typed_number(trimmed) : trimmed), nullptr, false);
  if (value.is_discarded()) return plain(trimmed);
  return value;
}

void FieldEditor::take_line_text(const QString& text) { configuration_.type_value(field_.pointer, parsed(text)); }

void FieldEditor::finish() {
  if (line_) configuration_.end_typing();
  if (combo_ && combo_->isEditable() && combo_->lineEdit()->isModified()) take_combo_text(combo_->lineEdit()->text());
}

void FieldEditor::take_combo_text(const QString& text) {
  combo_->lineEdit()->setModified(false);
  const Json value = parsed(text);
  if (value.is_string() && configuration_.value(field_.pointer).is_object() && text == tr("own model")) return;
  configuration_.set_value(field_.pointer, value == field_.standard ? Json(nullptr) : value);
}

}  // namespace stepcast
