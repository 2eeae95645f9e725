#include "calibration/results/probe_results.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "calibration/results/schema_check.hpp"
#include "fields/data_directory.hpp"
#include "fields/format_version.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

constexpr long kProbeResultsVersion = 1;

/// By which the clocks of a cluster may be ahead.
constexpr std::chrono::hours kAhead{48};

void check_date(const Json& document, Diagnostics& diagnostics) {
  int year = 0;
  unsigned month = 0, day = 0;
  const std::string date = document.at("date").get<std::string>();
  std::sscanf(date.c_str(), "%4d-%2u-%2u", &year, &month, &day);
  const std::chrono::year_month_day found{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!found.ok()) return diagnostics.error("/date", fmt::format("found \"{}\", which is no day", date));
  if (std::chrono::sys_days(found) > std::chrono::system_clock::now() + kAhead)
    diagnostics.error("/date", fmt::format("found \"{}\", which lies ahead", date));
}

/// Places of ranks that cannot be: more than the nodes hold, fewer than there are nodes, more nodes than a probe's
/// hosts.
void check_places(const ProbeResults& results, Diagnostics& diagnostics) {
  const Json& environment = results.document.at("environment");
  const bool listed = environment.contains("hosts") && !results.probe().starts_with("import-");
  for (std::size_t i = 0; i < results.rows().size(); ++i) {
    const Json& row = results.rows()[i];
    if (row["kind"] != "collective") continue;
    const auto ranks = row["ranks"].get<double>(), nodes = row["nodes"].get<double>(),
               per_node = row["ranks_per_node"].get<double>();
    if (nodes * per_node < ranks || nodes > ranks)
      diagnostics.error(fmt::format("/results/{}/nodes", i), fmt::format("{} ranks are not on {} node{} of {}", ranks,
                                                                         nodes, nodes == 1 ? "" : "s", per_node));
    else if (listed && nodes > static_cast<double>(environment["hosts"].size()))
      diagnostics.error(fmt::format("/results/{}/nodes", i),
                        fmt::format("found {}, but /environment/hosts lists {}", nodes, environment["hosts"].size()));
  }
}

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
  check_date(out.document, diagnostics);
  check_places(out, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

void check_probe_results(const Json& document) {
  Diagnostics diagnostics("results");
  check_schema(document, probe_results_schema(), diagnostics);
  if (!diagnostics.ok()) throw std::logic_error("an import broke the format: " + diagnostics.faults().front().text());
}

}  // namespace stepcast
