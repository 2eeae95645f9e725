#pragma once

#include <string>

#include "calibration/importers/models/megatron_arguments.hpp"

namespace stepcast {

/// The model that Megatron-LM's arguments describe.
struct MegatronModel {
  Json shape = Json::object();  ///< as `transformer` of a model's description
  std::string family = "decoder";
  int layers = 0;  ///< of encoder and decoder together
  int length = 0;  ///< tokens of a sequence
};

/// Reads shape, attention, experts and positions. Faults go to the arguments' diagnostics, assumptions to their notes.
MegatronModel read_megatron_model(MegatronArguments& arguments);

}  // namespace stepcast
