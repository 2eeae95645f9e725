#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/importers/models/argument_list.hpp"
#include "calibration/importers/models/imported_scenario.hpp"
#include "calibration/importers/models/megatron_names.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// Ranks of each parallel dimension, as far as Megatron-LM is told them.
struct MegatronDegrees {
  int tp = 1, pp = 1, cp = 1, ep = 1;
};

/// Megatron-LM's arguments while they are read, and what is to be said about them.
struct MegatronArguments {
  /// Reads the list and the degrees in it.
  MegatronArguments(std::string_view text, const ImportTarget& target, Diagnostics& faults);

  /// A whole number of at least 1; a fault, and 0, where the option is missing.
  int required(const std::string& option);
  /// The first of several names of one option that is there; a fault where two say different numbers.
  std::optional<int> first_of(std::initializer_list<const char*> options, int least = 1);
  /// The text of an option that takes one of a few words, whatever the case of its letters; empty without the option or
  /// where nothing says its value. Another word is a fault: what stands in for it would be somebody else's choice.
  std::string choice(const std::string& option, std::initializer_list<const char*> words);
  /// Sets a key to an option's whole number, or leaves it out as the arguments do.
  void copy(Json& to, const char* key, const std::string& option, int least = 1);
  /// Sets a key where the option is given.
  void copy_flag(Json& to, const char* key, const std::string& option);

  const ImportTarget& target;
  ArgumentList list;
  const MegatronProgram* program;  ///< that the script runs; null: none that is known
  Diagnostics& diagnostics;
  std::vector<std::string> notes;  ///< for the user, about what was assumed or is not used
  MegatronDegrees degrees;
};

}  // namespace stepcast
