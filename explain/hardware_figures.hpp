#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/changed_scenario.hpp"

namespace stepcast {

/// A figure of the hardware (or of the host's software) that a step may depend on.
struct HardwareFigure {
  const char* name;   ///< key in JSON: `flop_rate`
  const char* words;  ///< "FLOP rate of the devices"
  bool rate;          ///< more is better; else it is a time, and less is
  /// Its value in words; nothing where the scenario's hardware has no such figure.
  std::optional<std::string> (*value)(const Scenario&);
  /// Multiplies it.
  void (*scale)(ChangedScenario&, double factor);
};

/// All figures, in the order of the data's way: device, node, network, storage, host.
const std::vector<HardwareFigure>& hardware_figures();

}  // namespace stepcast
