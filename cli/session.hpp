#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "sim/protocol/environment_error.hpp"

namespace stepcast {

/// What every subcommand shares: global options, the catalogue (opened on first use) and the way to standard output.
class Session {
 public:
  std::vector<std::filesystem::path> catalog_directories;  ///< --catalog, in order
  bool json = false;                                       ///< --json

  const Catalog& catalog();
  /// Writes text to standard output; throws EnvironmentError when it cannot be written.
  void print(const std::string& text);
  /// Writes a document and a newline.
  void print(const Json& document);
  int exit_code = 0;  ///< 1 when a check failed, 2 when it was of bad input

 private:
  std::unique_ptr<Catalog> catalog_;
};

}  // namespace stepcast
