#pragma once

#include <set>
#include <string>

#include "calibration/importers/models/megatron_arguments.hpp"

namespace stepcast {

/// The model that Megatron-LM's arguments describe.
struct MegatronModel {
  Json shape = Json::object();  ///< as `transformer` of a model's description
  std::string family = "decoder";
  int layers = 0;       ///< as Megatron-LM counts them, of encoder and decoder together
  std::set<int> noops;  ///< of those, from 0, that do nothing and are none of the shape's
  int halves = 1;       ///< layers of the shape for each of those: two where attention and MLP are layers of their own
  int length = 0;       ///< tokens of a sequence
};

/// Reads shape, attention, experts and positions. Faults go to the arguments' diagnostics, assumptions to their notes.
MegatronModel read_megatron_model(MegatronArguments& arguments);

}  // namespace stepcast
