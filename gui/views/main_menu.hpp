#pragma once

namespace stepcast {

class MainWindow;

/// The menus of the window and what they do.
class MainMenu {
 public:
  static void build(MainWindow& window);
};

}  // namespace stepcast
