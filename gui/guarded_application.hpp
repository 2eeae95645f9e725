#pragma once

#include <QApplication>
#include <exception>
#include <functional>

namespace stepcast {

/// The application that outlives faults of its own: what the handler of an event throws ends that event, not the
/// program.
class GuardedApplication : public QApplication {
  Q_OBJECT
 public:
  using QApplication::QApplication;
  /// Who is told what was thrown; without anybody, it goes on to where the event loop was started.
  void set_rescue(std::function<void(const std::exception& error)> rescue) { rescue_ = std::move(rescue); }
  bool notify(QObject* receiver, QEvent* event) override;

 private:
  std::function<void(const std::exception&)> rescue_;
};

}  // namespace stepcast
