// Opening, saving, dropping and leaving: what the window does with files.
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QMessageBox>
#include <QMimeData>
#include <QRegularExpression>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/recent_files.hpp"
#include "gui/view-models/unsaved_work.hpp"
#include "gui/views/layout_memory.hpp"
#include "gui/views/main_window.hpp"

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

bool MainWindow::open(const std::filesystem::path& file) {
  try {
    configuration_.open(file);
    remember_file(file);
    return true;
  } catch (const InputError& error) {
    complain(tr("Cannot open the scenario"), QString::fromUtf8(error.what()));
    return false;
  }
}

void MainWindow::choose_and_open() {
  if (!may_discard()) return;
  const QString file = QFileDialog::getOpenFileName(this, tr("Open a scenario"), {}, kFilter);
  if (!file.isEmpty()) open(plain(file));
}

bool MainWindow::save() {
  if (configuration_.file().empty()) return save_as();
  try {
    configuration_.save(configuration_.file());
    show_forecast();
    return true;
  } catch (const InputError& error) {
    complain(tr("Cannot save the scenario"), QString::fromUtf8(error.what()));
    return false;
  }
}

bool MainWindow::save_as() {
  const QString file =
      QFileDialog::getSaveFileName(this, tr("Save the scenario"), suggested_name(configuration_), kFilter);
  if (file.isEmpty()) return false;
  try {
    configuration_.save(plain(file));
    remember_file(plain(file));
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
