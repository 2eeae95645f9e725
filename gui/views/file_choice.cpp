#include "gui/views/file_choice.hpp"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>

namespace stepcast {

namespace {

QString dialog_folder;

QString chosen(const QString& file) {
  if (!file.isEmpty()) start_file_dialogs_beside(file);
  return file;
}

}  // namespace

void start_file_dialogs_beside(const QString& file) { dialog_folder = QFileInfo(file).absolutePath(); }

QString file_to_open(QWidget* parent, const QString& title, const QString& filter) {
  return chosen(QFileDialog::getOpenFileName(parent, title, dialog_folder, filter));
}

QStringList files_to_open(QWidget* parent, const QString& title, const QString& filter) {
  QStringList files = QFileDialog::getOpenFileNames(parent, title, dialog_folder, filter);
  chosen(files.value(0));
  return files;
}

QString file_to_save(QWidget* parent, const QString& title, const QString& name, const QString& filter) {
  return chosen(QFileDialog::getSaveFileName(
      parent, title, dialog_folder.isEmpty() ? name : QDir(dialog_folder).filePath(name), filter));
}

}  // namespace stepcast
