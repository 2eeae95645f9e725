#include "calibration/results/probe_results.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "calibration/results/schema_check.hpp"
#include "fields/data_directory.hpp"
#include "fields/format_version.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

constexpr long kProbeResultsVersion = 1;

}  // namespace

Json probe_results_schema() {
  const std::filesystem::path file = data_directory("calibration/probes") / "probe-results.schema.json";
  Diagnostics diagnostics(file.string());
  Json schema = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  return schema;
}

ProbeResults read_probe_results(const std::filesystem::path& file) {
  static const Json kSchema = probe_results_schema();
  Diagnostics diagnostics(file.string());
  ProbeResults out{file.string(), read_json(file, diagnostics)};
  diagnostics.throw_if_faulty();
  refuse_newer(out.document, kProbeResultsVersion, "results", diagnostics);
  refuse_control_characters(out.document, diagnostics);
  check_schema(out.document, kSchema, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

void check_probe_results(const Json& document) {
  Diagnostics diagnostics("results");
  check_schema(document, probe_results_schema(), diagnostics);
  if (!diagnostics.ok()) throw std::logic_error("an import broke the format: " + diagnostics.faults().front().text());
}

}  // namespace stepcast
