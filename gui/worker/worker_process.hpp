#pragma once

#include <QObject>
#include <QString>

#include "sim/protocol/messages.hpp"

class QProcess;

namespace stepcast {

/// A stepcast-worker at work on requests, beside the window: nothing here waits. Its death is a signal, not an error of
/// ours.
class WorkerProcess : public QObject {
  Q_OBJECT
 public:
  explicit WorkerProcess(QObject* parent = nullptr);
  ~WorkerProcess() override;

  /// Starts a worker that answers the requests, up to `jobs` at a time; what ran before is cancelled.
  void start(const std::vector<Request>& requests, int jobs = 1);
  /// Kills the worker and forgets what it was asked. Returns at once.
  void cancel();
  [[nodiscard]] bool is_running() const { return process_ != nullptr; }
  /// Of the worker, for tests; 0 when none runs.
  [[nodiscard]] qint64 process_id() const;

 Q_SIGNALS:
  void replied(const stepcast::Reply& reply);
  /// Everything has been answered.
  void finished();
  /// The worker could not start, or died with requests unanswered.
  void failed(const QString& why);

 private:
  void read();
  void end_with(const QString& why);
  void let_go();

  QProcess* process_ = nullptr;
  std::size_t unanswered_ = 0;
};

}  // namespace stepcast
