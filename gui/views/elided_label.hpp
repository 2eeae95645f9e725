#pragma once

#include <QLabel>

namespace stepcast {

/// Words in one line of which the end gives way to "…" where there is no room; hovering then says all of them. A long
/// text widens nothing.
class ElidedLabel : public QLabel {
 public:
  explicit ElidedLabel(QWidget* parent = nullptr);
  [[nodiscard]] QSize minimumSizeHint() const override;
  /// What is drawn of the text.
  [[nodiscard]] QString shown() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
};

}  // namespace stepcast
