#include "gui/worker/command_process.hpp"

#include <QProcess>

#include "gui/view-models/qt_text.hpp"
#include "gui/worker/abandon.hpp"
#include "sim/protocol/worker_client.hpp"

namespace stepcast {

CommandProcess::CommandProcess(QObject* parent) : QObject(parent) {}

CommandProcess::~CommandProcess() { cancel(); }

void CommandProcess::start(const QStringList& arguments) {
  cancel();
  QString program;
  try {
    // The programs are installed together.
    program = qt((find_worker().parent_path() / "stepcast").string());
  } catch (const EnvironmentError& error) {
    return fail_later(qt(error.what()));
  }
  process_ = new QProcess(this);
  connect(process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    const QString errors = QString::fromUtf8(process_->readAllStandardError()).trimmed();
    const bool crashed = status == QProcess::CrashExit;
    end_with(crashed ? -1 : code, process_->readAllStandardOutput(),
             crashed && errors.isEmpty() ? tr("stepcast crashed") : errors);
  });
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) fail_later(tr("stepcast does not start: %1").arg(process_->errorString()));
  });
  process_->start(program, arguments);
  process_->closeWriteChannel();
}

void CommandProcess::fail_later(const QString& why) {
  fails_ = true;
  QMetaObject::invokeMethod(
      this,
      [this, why, start = starts_] {
        if (start == starts_) end_with(-1, {}, why);
      },
      Qt::QueuedConnection);
}

void CommandProcess::cancel() {
  ++starts_;
  fails_ = false;
  if (process_ == nullptr) return;
  QProcess* process = process_;
  process_ = nullptr;
  process->disconnect(this);
  abandon(process);
}

void CommandProcess::end_with(int code, const QByteArray& output, const QString& errors) {
  if (process_ != nullptr) process_->deleteLater();
  process_ = nullptr;
  fails_ = false;
  Q_EMIT finished(code, output, errors);
}

qint64 CommandProcess::process_id() const { return process_ ? process_->processId() : 0; }

}  // namespace stepcast
