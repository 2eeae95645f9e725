#include "gui/worker/worker_process.hpp"

#include <QProcess>

#include "gui/view-models/qt_text.hpp"
#include "gui/worker/abandon.hpp"
#include "sim/protocol/worker_client.hpp"

namespace stepcast {

WorkerProcess::WorkerProcess(QObject* parent) : QObject(parent) {}

WorkerProcess::~WorkerProcess() { cancel(); }

void WorkerProcess::start(const std::vector<Request>& requests, int jobs) {
  cancel();
  QString program;
  try {
    program = qt(find_worker().string());
  } catch (const EnvironmentError& error) {
    return end_with(qt(error.what()));
  }
  process_ = new QProcess(this);
  unanswered_ = requests.size();
  connect(process_, &QProcess::readyReadStandardOutput, this, &WorkerProcess::read);
  connect(process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    read();
    if (process_ == nullptr) return;
    if (unanswered_ == 0) {
      let_go();
      Q_EMIT finished();
      return;
    }
    const QString said = QString::fromUtf8(process_->readAllStandardError()).trimmed();
    const QString how = status == QProcess::CrashExit ? tr("The simulator crashed")
                                                      : tr("The simulator ended with status %1").arg(code);
    end_with(said.isEmpty() ? how : how + QStringLiteral(": ") + said);
  });
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart && process_ != nullptr)
      end_with(tr("The simulator does not start: %1").arg(process_->errorString()));
  });
  process_->start(program, {QStringLiteral("--jobs"), QString::number(jobs)});
  for (const Request& request : requests) process_->write(QByteArray::fromStdString(line_of(to_json(request))));
  process_->closeWriteChannel();
}

void WorkerProcess::read() {
  while (process_ != nullptr && process_->canReadLine()) {
    const std::string line = process_->readLine().toStdString();
    const Json message = Json::parse(line, nullptr, false);
    if (message.is_discarded()) return end_with(tr("The simulator said something that is no reply"));
    if (unanswered_ > 0) --unanswered_;
    try {
      Q_EMIT replied(reply_from_json(message));
    } catch (const std::exception& error) {
      return end_with(qt(error.what()));
    }
  }
}

void WorkerProcess::cancel() {
  unanswered_ = 0;
  let_go();
}

void WorkerProcess::let_go() {
  if (process_ == nullptr) return;
  QProcess* process = process_;
  process_ = nullptr;
  process->disconnect(this);
  abandon(process);
}

void WorkerProcess::end_with(const QString& why) {
  let_go();
  unanswered_ = 0;
  Q_EMIT failed(why);
}

qint64 WorkerProcess::process_id() const { return process_ ? process_->processId() : 0; }

}  // namespace stepcast
