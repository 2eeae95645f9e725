#include "gui/views/undo_keys.hpp"

#include <QComboBox>
#include <QKeyEvent>
#include <QLineEdit>

namespace stepcast {

bool UndoKeys::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::ShortcutOverride) return false;
  const auto* combo = qobject_cast<QComboBox*>(watched);
  const QLineEdit* line = combo != nullptr ? combo->lineEdit() : qobject_cast<QLineEdit*>(watched);
  if (line == nullptr) return false;
  const auto& key = *static_cast<QKeyEvent*>(event);
  const bool left = (key.matches(QKeySequence::Undo) && !line->isUndoAvailable()) ||
                    (key.matches(QKeySequence::Redo) && !line->isRedoAvailable());
  if (left) event->ignore();
  return left;
}

}  // namespace stepcast
