#pragma once

#include <QString>
#include <vector>

#include "gui/view-models/figure_table.hpp"

namespace stepcast {

struct Scenario;
struct TimelineCounter;
struct TimelineData;

/// A place of the drawn network: a server, or the switches of one group of them.
struct FabricBox {
  int row = 0;               ///< 0: servers; above them leaves, pods …
  int first = 0, count = 1;  ///< servers below it
  int parent = -1;           ///< index of the box that its links lead to; −1: the top
  double capacity = 0;       ///< GB/s of its links up, per direction
  int links = 1;             ///< equal ones that the capacity is spread over
  QString name;
  QString kind;                         ///< as traces name the place
  const TimelineCounter* up = nullptr;  ///< its rate upwards over the step, where the simulation knows it
  const TimelineCounter* down = nullptr;
};

/// The network as a tree from servers to the top, with what the simulation knows of each link. Boxes that would be too
/// many to see stand for several.
struct FabricDrawing {
  std::vector<FabricBox> boxes;
  int rows = 0;
  QString summary;
  QString without_traffic;      ///< in words, where no simulation has told it
  QString why_without_traffic;  ///< why none ever will, if so

  /// Rate of a box's links at a share of the step (0–1), upwards or downwards, whichever is more, in GB/s.
  [[nodiscard]] static double rate_at(const FabricBox& box, double share, long end);
  [[nodiscard]] static double mean_rate(const FabricBox& box, long end);
};

/// `timeline` may be null: the network is drawn without traffic. It must outlive the drawing.
FabricDrawing fabric_drawing(const Scenario& scenario, const TimelineData* timeline);

/// The figures of one of its boxes.
Figures2D fabric_box_figures(const FabricDrawing& drawing, const FabricBox& box, const TimelineData* timeline,
                             double share);

}  // namespace stepcast
