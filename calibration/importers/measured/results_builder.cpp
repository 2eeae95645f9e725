#include "calibration/importers/measured/results_builder.hpp"

#include "calibration/importers/measured/moment.hpp"
#include "calibration/results/probe_results.hpp"
#include "version.hpp"

namespace stepcast {

void ResultsBuilder::date(double seconds) {
  const std::string text = stamp_of(seconds);
  if (date_.empty() || text < date_) date_ = text;
}

Json ResultsBuilder::document(const std::vector<std::string>& files) const {
  std::vector<std::string> warnings = warnings_;
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
          {"results", rows_}};
}

}  // namespace stepcast
