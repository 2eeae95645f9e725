#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace stepcast {

/// Of an option that names a file: an empty name would be taken for an option that was not given.
inline CLI::Validator named_file() {
  return {[](const std::string& name) { return name.empty() ? "expected the name of a file" : std::string(); }, ""};
}

}  // namespace stepcast
