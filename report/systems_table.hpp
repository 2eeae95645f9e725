#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/prediction.hpp"

namespace stepcast {

/// One shipped way of training on the common cluster, and its framework on one device with nobody to exchange with.
struct SystemRow {
  std::string scenario;   ///< its file's name without the extension
  std::string name;       ///< for people
  std::string framework;  ///< profile
  std::string node;       ///< that it ran on
  int nodes = 1;
  std::optional<Prediction> one, all;  ///< null: it does not run there, and `faults` says why
  std::vector<Fault> faults;
};

/// Rate on all devices over that many times the rate of one.
std::optional<double> scaling_efficiency(const SystemRow& row);
/// Exposed communication and waiting for others, as a share of the step on all nodes.
std::optional<double> communication_share(const SystemRow& row);

/// `intro` says what the common cluster and model are.
std::string systems_text(const std::vector<SystemRow>& rows, const std::string& intro);
std::string systems_markdown(const std::vector<SystemRow>& rows, const std::string& intro);
Json systems_json(const std::vector<SystemRow>& rows);

}  // namespace stepcast
