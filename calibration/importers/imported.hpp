#pragma once

#include <string>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// What became of a file of another program.
struct Imported {
  Json document;                   ///< a catalogue entry, a fabric, a scenario, a step graph
  std::string summary;             ///< one line that says what it is
  std::string name;                ///< file that it takes below a directory given as output, as `nodes/my.json`
  std::vector<std::string> notes;  ///< what was assumed, and what the file could not tell
};

}  // namespace stepcast
