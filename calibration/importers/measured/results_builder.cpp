#include "calibration/importers/measured/results_builder.hpp"

#include <fmt/format.h>

#include <tuple>

#include "calibration/importers/measured/moment.hpp"
#include "calibration/results/probe_results.hpp"
#include "version.hpp"

namespace stepcast {

void ResultsBuilder::date(double seconds) {
  const std::string text = stamp_of(seconds);
  if (date_.empty() || text < date_) date_ = text;
}

namespace {

/// Which collective a row is of, and where.
std::tuple<std::string, int, int> call_of(const Json& row) {
  return {row.value("op", ""), row.value("ranks", 0), row.value("nodes", 0)};
}

}  // namespace

Json ResultsBuilder::document(const std::vector<std::string>& files) const {
  std::vector<std::string> warnings = warnings_;
  Json rows = rows_;
  std::set<std::tuple<std::string, int, int>> usual;
  for (const Json& row : rows_) usual.insert(call_of(row));
  std::set<std::string> taken, left_out;
  for (const Json& row : non_blocking_) {
    const bool known = usual.contains(call_of(row));
    (known ? left_out : taken).insert(row.value("op", ""));
    if (!known) rows.push_back(row);
  }
  for (const std::string& op : taken)
    warnings.push_back(fmt::format("{}: non-blocking calls, for which libraries may choose other algorithms", op));
  for (const std::string& op : left_out)
    warnings.push_back(fmt::format("{}: non-blocking calls are left out, for blocking ones were measured", op));
  if (date_.empty()) warnings.emplace_back("the file tells no date");
  Json environment = Json::object();
  if (!hosts_.empty()) environment["hosts"] = hosts_;
  if (!accelerator_.empty()) environment["accelerator"] = accelerator_;
  if (!variables_.empty()) environment["variables"] = variables_;
  std::vector<std::string> command{"stepcast", "import", tool_};
  command.insert(command.end(), files.begin(), files.end());
  return {{"format_version", 1},
          {"probe", "import-" + tool_},
          {"tool_version", kVersion},
          {"host", hosts_.empty() ? std::string(kUnknownHost) : hosts_.front()},
          {"date", date_.empty() ? std::string("1970-01-01T00:00:00Z") : date_},
          {"command", command},
          {"versions", Json(versions_)},
          {"clocks", Json::object()},
          {"environment", std::move(environment)},
          {"warnings", warnings},
          {"results", std::move(rows)}};
}

}  // namespace stepcast
