#pragma once

#include <array>
#include <initializer_list>

#include "calibration/validation/model_shapes.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// What columns do not say: gated with rotary positions and RMS norms as Llama, or as GPT, and whether the output layer
/// has the embedding's table.
struct ModelStyle {
  bool llama_like, tied;
};
inline constexpr ModelStyle kLlama{true, false}, kTiedLlama{true, true}, kGpt{false, true}, kUntiedGpt{false, false};

/// Gives a shape a style.
void set_style(Json& shape, ModelStyle style);

/// What every shape needs.
inline constexpr std::array kNeededSizes{"layers", "hidden", "ffn_hidden", "heads", "vocab"};

/// Whether sizes are all that a shape needs.
bool complete_sizes(const Json& sizes);

/// Whether a described shape is more likely a row's than the reading of its sizes alone: it comes nearer to the stated
/// parameters, or, where none are stated, to other ones than the sizes, which then leave something out.
bool is_likelier(const Json& described, const Json& reading, double billions);

/// The first of the styles, or one that comes nearer to the stated parameters by more than their rounding.
void take_style(Json& shape, std::initializer_list<ModelStyle> styles, double billions);

/// A model of an unknown name by its sizes. Where they come to other parameters than the row states, sizes that columns
/// do not have are read so that they meet them: the size of heads, and the width of experts where the row's is that of
/// the dense layers. Refused where no reading comes within a tenth.
KnownShape shape_by_sizes(const StatedModel& stated);

}  // namespace stepcast
