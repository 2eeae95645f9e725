#include "gui/worker/abandon.hpp"

#include <QCoreApplication>
#include <QProcess>

namespace stepcast {

void abandon(QProcess* process) {
  if (process->state() == QProcess::NotRunning) return process->deleteLater();
  process->setParent(QCoreApplication::instance());
  QObject::connect(process, &QProcess::finished, process, &QObject::deleteLater);
  process->kill();
}

}  // namespace stepcast
