#include "gui/worker/abandon.hpp"

#include <QCoreApplication>
#include <QProcess>
#include <QThread>

namespace stepcast {

void abandon(QProcess* process) {
  if (process->state() == QProcess::NotRunning) return process->deleteLater();
  process->setParent(QCoreApplication::instance());
  QObject::connect(process, &QProcess::finished, process, &QObject::deleteLater);
  process->kill();
  // Where no event loop is left to hear of its end, as when the program closes, it is waited for.
  constexpr int kEndMilliseconds = 1000;
  if (process->thread()->loopLevel() == 0) process->waitForFinished(kEndMilliseconds);
}

}  // namespace stepcast
