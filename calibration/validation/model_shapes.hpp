#pragma once

#include <string>

#include "fields/json_text.hpp"

namespace stepcast {

/// A model as the row of a run states it.
struct StatedModel {
  std::string name;
  Json sizes;             ///< keys of TransformerShape that the row has
  double parameters = 0;  ///< in 10⁹; 0: not stated
};

/// What is known of a model beyond the sizes that rows of runs repeat.
struct KnownShape {
  Json transformer;      ///< keys of TransformerShape; null when there is none
  std::string refusal;   ///< why a model of this name has no description
  bool by_size = false;  ///< no source gives all of its shape: that of a GPT of so many parameters or so wide stands in
};

/// The shape of a model: the row's sizes over those of calibration/data/llm-models.csv; what that table only tells in
/// words (latent attention, windows) comes from the preset of the same name. A name that the table lacks is taken by
/// the row's sizes, or as a GPT by its parameter count.
KnownShape known_shape(const StatedModel& stated);

}  // namespace stepcast
