#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// Where a folder of the shipped data lies, as `models/frameworks/profiles` (paths as in the source tree): below
/// `$STEPCAST_SHARE` if that is set, else below `../share/stepcast` of the running executable (an installed tree, and a
/// build tree, which looks like one). Throws InputError that names the places looked at when neither has it.
std::filesystem::path data_directory(std::string_view relative);

/// Ids in a data folder: the names of its JSON files without the ending, sorted. A folder is listed once a process.
/// Throws InputError as data_directory.
std::vector<std::string> data_ids(std::string_view relative);

}  // namespace stepcast
