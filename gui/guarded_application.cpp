#include "gui/guarded_application.hpp"

namespace stepcast {

bool GuardedApplication::notify(QObject* receiver, QEvent* event) {
  try {
    return QApplication::notify(receiver, event);
  } catch (const std::exception& error) {
    if (!rescue_) throw;
    rescue_(error);
    return false;
  }
}

}  // namespace stepcast
