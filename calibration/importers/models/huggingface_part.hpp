#pragma once

#include <string>
#include <vector>

#include "calibration/importers/models/huggingface_types.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// What of a config.json describes a language model: the file itself, or the section for it in a file of a model that
/// sees or hears.
struct HuggingFacePart {
  Json config;
  std::string pointer;  ///< of the section within the file
  const HuggingFaceType* type = nullptr;
  std::string note;         ///< what its type was taken for; empty where it is known
  bool has_others = false;  ///< the file describes a part that sees beside it
  [[nodiscard]] bool is_part() const { return has_others || !pointer.empty(); }
};

/// A file of a type that is not known here, whose sizes are called as Llama's and whose class is a decoder's, or a
/// section of such sizes, is taken for Llama's kin with a note. Another is a fault that says what its model has beyond
/// the description, where that is known, or the nearest type.
HuggingFacePart language_model_of(const Json& config, Diagnostics& diagnostics);

/// What is said of keys that nothing reads. In a file whose type is only taken for another, those with a number or a
/// structure may add to the work, which a number of parameters does not show.
std::vector<std::string> unread_key_notes(const Json& config, std::vector<std::string> keys, bool is_guess);

}  // namespace stepcast
