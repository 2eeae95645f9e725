#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// Host of a file whose import did not tell it.
inline constexpr std::string_view kUnknownHost = "unknown";

/// A file of a probe or an import (docs/formats/probe-results.md), checked against its schema.
struct ProbeResults {
  std::string file;
  Json document;

  [[nodiscard]] const Json& rows() const { return document.at("results"); }
  [[nodiscard]] std::string probe() const { return document.at("probe").get<std::string>(); }
  [[nodiscard]] std::string host() const { return document.at("host").get<std::string>(); }
  /// YYYY-MM-DD.
  [[nodiscard]] std::string day() const { return document.at("date").get<std::string>().substr(0, 10); }
  /// Whether a test library stood in for the hardware.
  [[nodiscard]] bool stand_in() const { return document.at("environment").value("stand_in", false); }
};

/// The shipped schema of result files.
Json probe_results_schema();

/// Reads and checks a file. Throws InputError with every fault; one of a later format is refused as a whole.
ProbeResults read_probe_results(const std::filesystem::path& file);

/// A document that an importer made, before it is written. Throws std::logic_error when it breaks the format.
void check_probe_results(const Json& document);

}  // namespace stepcast
