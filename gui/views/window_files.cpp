// Opening, saving, dropping and leaving: what the window does with files.
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QRegularExpression>
#include <optional>
#include <utility>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/file_text.hpp"
#include "gui/view-models/plan_form.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/recent_files.hpp"
#include "gui/view-models/unsaved_work.hpp"
#include "gui/views/file_choice.hpp"
#include "gui/views/layout_memory.hpp"
#include "gui/views/main_window.hpp"
#include "gui/views/plan_tab.hpp"
#include "gui/views/result_tabs.hpp"

namespace stepcast {

namespace {
const QString kFilter = QObject::tr("Scenarios (*.json *.jsonc *.stepcast);;All files (*)");

/// A name whose ending says to a desktop what the file is (packaging/stepcast-mime.xml).
QString suggested_name(const ConfigurationModel& configuration) {
  static const QRegularExpression kOther(QStringLiteral("[^\\w.-]+"));
  const Json name = configuration.value("/name");
  QString words =
      name.is_string() ? qt(name.get<std::string>()).toLower().replace(kOther, QStringLiteral("-")) : QString();
  if (words.isEmpty()) words = QStringLiteral("scenario");
  return words + QStringLiteral(".stepcast.json");
}

}  // namespace

void MainWindow::complain(const QString& what, const QString& why) {
  if (asks_) {
    QMessageBox::warning(this, what, why);
  } else {
    qWarning("%s: %s", qUtf8Printable(what), qUtf8Printable(why));
  }
}

void MainWindow::note_file(const std::filesystem::path& file) {
  if (remembers_) remember_file(file);
  start_file_dialogs_beside(qt(file.string()));
}

/// Its training is a scenario of no file, so that saving overwrites nothing.
void MainWindow::open_question(Json question, const std::filesystem::path& file) {
  configuration_.start_new();
  configuration_.set_document(training_of_question(question), tr("plan question"));
  configuration_.choose_strategy();
  plan_tab_->take_question(std::move(question), qt(file.filename().string()));
  tabs_->open(QStringLiteral("plan"));
}

bool MainWindow::open(const std::filesystem::path& file) {
  try {
    if (std::optional<Json> question = question_in(file, configuration_.catalog())) {
      open_question(std::move(*question), file);
    } else {
      configuration_.open(file);
    }
    note_file(file);
    return true;
  } catch (const InputError& error) {
    complain(tr("Cannot open the scenario"), QString::fromUtf8(error.what()));
    return false;
  }
}

bool MainWindow::open_example(const std::filesystem::path& file) {
  try {
    configuration_.open_copy_of(file);
    return true;
  } catch (const InputError& error) {
    complain(tr("Cannot open the example"), QString::fromUtf8(error.what()));
    return false;
  }
}

void MainWindow::choose_and_open() {
  if (!may_discard()) return;
  const QString file = file_to_open(this, tr("Open a scenario"), kFilter);
  if (!file.isEmpty()) open(plain(file));
}

bool MainWindow::save() {
  configuration_.finish_edits();
  const std::filesystem::path file = configuration_.file();
  if (file.empty()) return save_as();
  if (asks_ && configuration_.is_changed_on_disk()) return save_over_others();
  // Writing it again would only lose how it was written.
  if (!configuration_.is_modified() && std::filesystem::exists(file)) return true;
  if (asks_ && has_comments(file)) {
    QMessageBox question(QMessageBox::Warning, tr("Comments are lost"),
                         tr("%1 has comments, and saving writes it without them.").arg(qt(file.filename().string())),
                         QMessageBox::Save | QMessageBox::Cancel, this);
    const QPushButton* elsewhere = question.addButton(tr("Save &as …"), QMessageBox::ActionRole);
    const int answer = question.exec();
    if (question.clickedButton() == elsewhere) return save_as();
    if (answer != QMessageBox::Save) return false;
  }
  return save_to(file);
}

/// The file is no longer what was opened: nothing of it is overwritten unasked.
bool MainWindow::save_over_others() {
  const std::filesystem::path file = configuration_.file();
  QMessageBox question(
      QMessageBox::Warning, tr("The file has changed"),
      tr("%1 was changed by another program since it was opened here.").arg(qt(file.filename().string())),
      QMessageBox::Cancel, this);
  const QPushButton* overwrite = question.addButton(tr("&Overwrite"), QMessageBox::DestructiveRole);
  const QPushButton* reload = question.addButton(tr("&Reload it"), QMessageBox::ActionRole);
  const QPushButton* elsewhere = question.addButton(tr("Save &as …"), QMessageBox::ActionRole);
  question.exec();
  if (question.clickedButton() == overwrite) return save_to(file);
  if (question.clickedButton() == elsewhere) return save_as();
  if (question.clickedButton() == reload) {
    try {
      configuration_.reload();
    } catch (const InputError& error) {
      complain(tr("Cannot open the scenario"), QString::fromUtf8(error.what()));
    }
  }
  return false;
}

bool MainWindow::save_as() {
  configuration_.finish_edits();
  const QString file = file_to_save(this, tr("Save the scenario"), suggested_name(configuration_), kFilter);
  return !file.isEmpty() && save_to(plain(file));
}

bool MainWindow::save_to(const std::filesystem::path& file) {
  try {
    configuration_.save(file);
    note_file(file);
    show_forecast();
    return true;
  } catch (const InputError& error) {
    complain(tr("Cannot save the scenario"), QString::fromUtf8(error.what()));
    return false;
  }
}

bool MainWindow::may_discard() {
  configuration_.finish_edits();
  if (!asks_ || !configuration_.is_modified()) return true;
  const auto answer = QMessageBox::question(this, tr("Unsaved changes"), tr("Save the changes to this scenario first?"),
                                            QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel);
  if (answer == QMessageBox::Save) return save();
  return answer == QMessageBox::Discard;
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!may_discard()) return event->ignore();
  layout_->keep();
  UnsavedCopy::remove();
  QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.size() == 1 && urls.front().isLocalFile()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.isEmpty() || !may_discard()) return;
  event->acceptProposedAction();
  open(plain(urls.front().toLocalFile()));
}

}  // namespace stepcast
