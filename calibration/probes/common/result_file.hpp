#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stepcast::probes {

using Json = nlohmann::ordered_json;

/// The result file of a probe (docs/formats/probe-results.md): what is known of the host is filled in on construction.
class ResultFile {
 public:
  /// `probe` names it in the file; the words of the command line are kept.
  ResultFile(std::string probe, int argc, const char* const* argv);

  Json& versions() { return document_["versions"]; }
  Json& clocks() { return document_["clocks"]; }
  Json& environment() { return document_["environment"]; }
  [[nodiscard]] const Json& results() const { return document_["results"]; }

  /// Adds a row; its shape is the caller's promise, checked by tests against the schema.
  void add(Json row) { document_["results"].push_back(std::move(row)); }
  /// Says what could not be measured, in the file and, once, on standard error.
  void warn(const std::string& what);

  /// Writes the file whole or not at all; `-` is standard output. Throws Fault when it cannot be written.
  void write(const std::string& path) const;

 private:
  Json document_;
};

/// Throws Fault (bad input) at once when no file can be written at a path, before anything is measured.
void require_writable(const std::string& path);

/// Samples in µs as the file keeps them: to the nanosecond.
Json samples_json(const std::vector<double>& samples_us);

/// The version that files name.
std::string tool_version();

}  // namespace stepcast::probes
