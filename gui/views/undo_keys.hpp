#pragma once

#include <QObject>

namespace stepcast {

/// Text fields take the keys of undo and redo for themselves, even with nothing to undo. This filter of the application
/// leaves them to the window then.
class UndoKeys : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
};

}  // namespace stepcast
