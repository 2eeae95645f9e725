#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// Elements of a document that are handed over one by one as they are read and not kept, so that the size of the file
/// is no bound on memory.
struct JsonElements {
  /// Where they are: keys from the root on, `*` for any element of an array.
  std::vector<std::string> path;
  /// `pointer`: of the element. `indices`: what stood for each `*`. False ends the reading.
  std::function<bool(const Json& element, const std::string& pointer, const std::vector<std::size_t>& indices)> take;
};

/// Largest file that is read element by element.
inline constexpr std::size_t kMostStreamedBytes = std::size_t{4} << 30;

/// Reads a file as read_json does (comments allowed, keys given twice and numbers that are not finite refused), but
/// gives the elements of `elements` to it; what is returned has empty arrays in their place. Faults go to the
/// diagnostics; null when the text is no JSON.
Json read_json_elements(const std::filesystem::path& file, const JsonElements& elements, Diagnostics& diagnostics);

}  // namespace stepcast
