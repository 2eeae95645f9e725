#pragma once

#include <string>
#include <utility>

#include "calibration/results/probe_results.hpp"

namespace stepcast::test {

/// A probe's result file with these rows, as read; the host is called by the name's first letter.
inline ProbeResults probe_file(Json rows, const std::string& name = "made.json", Json environment = Json::object(),
                               const std::string& probe = "mpi") {
  return {name,
          {{"format_version", 1},
           {"probe", probe},
           {"tool_version", "0.1.0"},
           {"host", name.substr(0, 1)},
           {"date", "2026-11-20T10:00:00Z"},
           {"command", Json::array({"x"})},
           {"versions", Json::object()},
           {"clocks", Json::object()},
           {"environment", std::move(environment)},
           {"results", std::move(rows)}}};
}

}  // namespace stepcast::test
