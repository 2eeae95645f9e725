#include "fields/dotted_path.hpp"

#include <fmt/format.h>

namespace stepcast {

std::string dotted_path(const std::string& path, const std::string& key) {
  return path.empty() ? key : fmt::format("{}.{}", path, key);
}

}  // namespace stepcast
