#include "gui/view-models/file_text.hpp"

#include <fstream>
#include <iterator>

#include "fields/json_text.hpp"

namespace stepcast {

std::string text_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool has_comments(const std::filesystem::path& file) {
  const std::string text = text_of_file(file);
  constexpr bool kWithComments = true;
  return !Json::accept(text) && Json::accept(text, kWithComments);
}

}  // namespace stepcast
