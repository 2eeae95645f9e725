#pragma once

#include <string>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// A file that belongs to an imported one.
struct ImportedFile {
  std::string name;  ///< below the directory of the first, as `nodes/my.json`
  std::string text;
};

/// What became of a file of another program.
struct Imported {
  Json document;                     ///< a catalogue entry, a fabric, a scenario, a step graph
  std::string text;                  ///< instead of the document, where it has a layout of its own
  std::string summary;               ///< one line that says what it is
  std::string name;                  ///< file that it takes below a directory given as output, as `nodes/my.json`
  std::vector<ImportedFile> beside;  ///< what the document needs and names
  std::vector<std::string> notes;    ///< what was assumed, and what the file could not tell
};

}  // namespace stepcast
