#include "gui/view-models/file_comments.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include "fields/json_text.hpp"

namespace stepcast {

bool has_comments(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  constexpr bool kWithComments = true;
  return !Json::accept(text) && Json::accept(text, kWithComments);
}

}  // namespace stepcast
