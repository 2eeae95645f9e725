#pragma once

#include <cstdlib>
#include <sstream>
#include <string>

namespace stepcast::stand_in {

/// The value of a word of STEPCAST_STAND_IN ("devices=4,slow=2,wrong_data"); `otherwise` where it is not there, 1 for a
/// word without a value.
inline int setting(const std::string& name, int otherwise) {
  const char* text = std::getenv("STEPCAST_STAND_IN");
  std::istringstream words(text ? text : "");
  for (std::string word; std::getline(words, word, ',');) {
    if (word == name) return 1;
    if (word.compare(0, name.size() + 1, name + "=") == 0) return std::atoi(word.c_str() + name.size() + 1);
  }
  return otherwise;
}

}  // namespace stepcast::stand_in
