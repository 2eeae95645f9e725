#pragma once

#include <QString>
#include <QStringList>

class QWidget;

namespace stepcast {

/// File dialogs of the whole window start in one folder: that of the file that was opened, saved or chosen last; before
/// there is one, the working directory.
void start_file_dialogs_beside(const QString& file);

/// What the user chooses; empty: nothing.
QString file_to_open(QWidget* parent, const QString& title, const QString& filter);
QStringList files_to_open(QWidget* parent, const QString& title, const QString& filter);
/// `name`: what is suggested, without a folder.
QString file_to_save(QWidget* parent, const QString& title, const QString& name, const QString& filter);

}  // namespace stepcast
