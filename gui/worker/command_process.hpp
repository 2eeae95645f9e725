#pragma once

#include <QObject>
#include <QString>
#include <QStringList>

class QProcess;

namespace stepcast {

/// A command of `stepcast` at work beside the window: nothing here waits.
class CommandProcess : public QObject {
  Q_OBJECT
 public:
  explicit CommandProcess(QObject* parent = nullptr);
  ~CommandProcess() override;

  /// Starts `stepcast` with these arguments; what ran before is cancelled. `finished` comes later, also where it cannot
  /// be started.
  void start(const QStringList& arguments);
  /// Kills it. Returns at once; no signal follows.
  void cancel();
  [[nodiscard]] bool is_running() const { return process_ != nullptr || fails_; }
  [[nodiscard]] qint64 process_id() const;

 Q_SIGNALS:
  /// It has ended. `code` is below zero when it did not start or was killed; `errors` says why then.
  void finished(int code, const QByteArray& output, const QString& errors);

 private:
  void end_with(int code, const QByteArray& output, const QString& errors);
  void fail_later(const QString& why);

  QProcess* process_ = nullptr;
  bool fails_ = false;  ///< it does not start, and nobody has been told yet
  long starts_ = 0;
};

}  // namespace stepcast
