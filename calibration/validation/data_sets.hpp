#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace stepcast {

/// Names of the shipped sets of measured runs, in order of reports.
const std::vector<std::string>& run_set_names();
/// Names of the shipped sets of single operators.
const std::vector<std::string>& operator_set_names();
/// Names of the shipped sets of measured collectives.
const std::vector<std::string>& collective_set_names();
/// File of a shipped set of either. Throws InputError for a name that is none.
std::filesystem::path run_set_file(const std::string& name);

}  // namespace stepcast
