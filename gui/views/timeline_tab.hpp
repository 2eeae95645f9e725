#pragma once

#include <QWidget>

class QHBoxLayout;
class QLabel;
class QLineEdit;
class QStackedWidget;

namespace stepcast {

class TimelineCanvas;
class TimelineModel;

/// The timeline with its tools: search, critical path, zoom, export.
class TimelineTab : public QWidget {
  Q_OBJECT
 public:
  explicit TimelineTab(TimelineModel& model, QWidget* parent = nullptr);
  void refresh();

 private:
  void build_tools(QHBoxLayout& row);
  void show_facts();
  void search_on();
  void save_picture();
  void save_trace();

  TimelineModel& model_;
  TimelineCanvas* canvas_;
  QStackedWidget* pages_;
  QLabel *reason_, *facts_;
  QLineEdit* search_;
};

}  // namespace stepcast
